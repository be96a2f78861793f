//go:build unix

package sqlite

import "golang.org/x/sys/unix"

// access tells whether this process may write the file, without opening it.
func access(path string) error { return unix.Access(path, unix.W_OK) }
