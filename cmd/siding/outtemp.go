package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tempPattern names the temporary files of this process for [os.CreateTemp]: the process ID is in it, so that what a
// killed one left is known for rubbish.
func (f *outFile) tempPattern() string {
	return fmt.Sprintf("%s%d-*.tmp", f.tempPrefix(), os.Getpid())
}

func (f *outFile) tempPrefix() string { return "." + filepath.Base(f.path) + ".siding-" }

// sweep removes temporary files of processes that are gone. What cannot be removed is left: it does no harm.
func (f *outFile) sweep() {
	dir := filepath.Dir(f.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), f.tempPrefix())
		if !ok || !strings.HasSuffix(rest, ".tmp") {
			continue
		}
		pid, _, _ := strings.Cut(rest, "-")
		n, err := strconv.Atoi(pid)
		if err == nil && n > 1 && syscall.Kill(n, 0) == syscall.ESRCH {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// newFileMode is what a new file gets: what the process's umask allows.
var newFileMode = func() fs.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return 0o666 &^ fs.FileMode(mask)
}()
