//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// access tells whether this process may write the file, without opening it.
func access(path string) error { return unix.Access(path, unix.W_OK) }

// hardLinks tells how many names a file has.
func hardLinks(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its width differs between machines
	}
	return 1
}
