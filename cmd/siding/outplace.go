package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// isStdout tells whether a name of an output means standard output. Where that is a file, replacing it as another would
// take it away from what the shell has opened.
func isStdout(name string) bool {
	return name == "-" || slices.Contains([]string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, filepath.Clean(name))
}

// isFile tells whether two names lead to one file, also where it does not exist yet.
func isFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	return place(a) == place(b)
}

// place gives the one path of a file, whether it exists or not: absolute, and without links.
func place(name string) string {
	path, err := filepath.Abs(followLinks(name))
	if err != nil {
		return name
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// followLinks gives what a path leads to in the end, also when that does not exist.
func followLinks(path string) string {
	const most = 40 // links in a row: as many as the system follows
	for next, n := path, 0; n < most; n++ {
		target, err := os.Readlink(next)
		if err != nil {
			return next
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(next), target)
		}
		next = target
	}
	return path
}

// openPipe opens a named pipe that somebody reads. It would wait for ever for one that nobody does, after the work.
func (f *outFile) openPipe(info fs.FileInfo) (err error) {
	if info.Mode().Type() != fs.ModeNamedPipe {
		return nil
	}
	f.pipe, err = os.OpenFile(f.path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return usagef("--out %s is a named pipe that nobody reads; start its reader first", f.path)
	}
	return asUsage(err)
}

func (f *outFile) writePlain(fill func(io.Writer) error) error {
	out := f.pipe
	if out == nil {
		var err error
		if out, err = os.OpenFile(f.path, os.O_WRONLY, 0); err != nil {
			return err
		}
	}
	return errors.Join(buffered(out, fill), out.Close())
}
