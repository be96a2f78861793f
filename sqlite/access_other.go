//go:build !unix

package sqlite

import (
	"os"
	"syscall"
)

// access tells whether this process may write the file, without opening it.
func access(path string) error {
	st, err := os.Stat(path)
	if err == nil && st.Mode().Perm()&0o200 == 0 {
		return syscall.EACCES
	}
	return err
}

// hardLinks tells how many names a file has, where that can be told.
func hardLinks(os.FileInfo) uint64 { return 1 }
