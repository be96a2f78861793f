package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/siding-dev/siding"
)

// storePath gives the absolute path of a store from what a user wrote: a path, or a URL of the form sqlite:PATH or
// sqlite:///PATH.
func storePath(s string) (string, error) {
	if rest, ok := strings.CutPrefix(s, "sqlite:"); ok {
		s = rest
		if after, ok := strings.CutPrefix(s, "//"); ok {
			s = after
			if s != "" && s[0] != '/' {
				return "", misplaced("the store %q names a machine; after sqlite: a path has one slash or three", siding.Scrub("sqlite://"+s, 256))
			}
		}
		p, err := url.PathUnescape(s)
		if err != nil {
			return "", misplaced("the store %q is not a URL: %w", siding.Scrub("sqlite:"+s, 256), err)
		}
		s = p
	}
	switch {
	case s == "":
		return "", misplaced("the path of the store is empty")
	case s == ":memory:":
		return "", misplaced("a store in memory keeps nothing; give the path of a file")
	case strings.ContainsRune(s, 0):
		return "", misplaced("the path of the store contains a NUL byte")
	}
	p, err := filepath.Abs(s)
	if err != nil {
		return "", err
	}
	return followLinks(p)
}

// maxLinks is how many symbolic links in a row are followed.
const maxLinks = 40

// followLinks gives the file that a path names in the end, whether it exists or not. The lock file beside a store tells
// who lives: two processes that had one each, under two names, would take each other for dead.
func followLinks(path string) (string, error) {
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or not there: what is wrong with it shows when it is looked at
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", misplaced("%s is a symbolic link that leads round in a circle; give another path for the store", path)
}

// checkPath says what is wrong with the place of a store before SQLite sees it, and whether the file exists.
func checkPath(path string, o Options) (exists bool, err error) {
	dir := filepath.Dir(path)
	switch st, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return false, misplaced("the directory %s does not exist; make it, or give another path: %w", dir, fs.ErrNotExist)
	case err != nil:
		return false, explainOS(path, err)
	case !st.IsDir():
		return false, misplaced("%s is not a directory; give another path for the store: %w", dir, fs.ErrNotExist)
	}
	if name := networkFS(dir); name != "" {
		return false, misplaced("%s lies on a network file system (%s), where SQLite's locks do not work; "+
			"put the store on a local disk", path, name)
	}
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) && o.MustExist:
		return false, fmt.Errorf("there is no store at %s; give another path, or create it by running or sending something: %w",
			path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, explainOS(path, err)
	case st.IsDir():
		return false, misplaced("%s is a directory; give the path of a file for the store: %w", path, syscall.EISDIR)
	case !st.Mode().IsRegular():
		return false, misplaced("%s is not a file; give another path for the store", path)
	case hardLinks(st) > 1:
		return false, misplaced("%s has %d names (hard links), and what SQLite keeps beside one of them is not seen by the others; "+
			"leave it one name, or work on a copy", path, hardLinks(st))
	}
	return true, nil
}

// createMutex keeps this process from having a descriptor of a database file open beside SQLite's own: closing it would
// end SQLite's locks on the file (POSIX locks belong to the process).
var createMutex sync.Mutex

// create makes the empty file with the mode that SQLite then gives the files beside it too.
func create(path string) error {
	createMutex.Lock()
	defer createMutex.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // by another process, since we looked
	}
	if err != nil {
		return explainOS(path, err)
	}
	return f.Close()
}

// dsn gives the driver's name for the file, with parameters.
func dsn(path string, params ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: strings.Join(params, "&")}
	return u.String()
}

// noRoom tells whether the disk under the store is full for practical purposes.
func noRoom(path string) bool {
	n, err := freeBytes(filepath.Dir(path))
	return err == nil && n < 64<<10
}
