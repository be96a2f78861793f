package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/siding-dev/siding"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrBusy: another program has kept the store's write lock for longer than this one waits. Nothing has changed.
var ErrBusy = errors.New("the store is locked by another program")

// ErrPlace: the path that was given cannot hold a store, or holds something else. Another path is needed.
var ErrPlace = errors.New("no place for a store")

// placeError is an ErrPlace that says so in its own words.
type placeError struct{ error }

func (e placeError) Unwrap() error      { return e.error }
func (placeError) Is(target error) bool { return target == ErrPlace }

func misplaced(format string, args ...any) error { return placeError{fmt.Errorf(format, args...)} }

// explain gives an error of the driver in the words of this module, with the store's path and what to do. Others stay.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	var e *sqlitedriver.Error
	if !errors.As(err, &e) {
		return explainOS(path, err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%s: %w; make room, and ask again: %w", path, siding.ErrDiskFull, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%s: %w; it needs write permission for the file and its directory: %w", path, siding.ErrReadOnly, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s: %w; end what holds it, and ask again: %w", path, ErrBusy, err)
	case sqlite3.SQLITE_NOTADB:
		return misplaced("%s is not a store: it is no SQLite database; give another path with --store: %w", path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s is damaged; keep a copy of it, and of the -wal file beside it, before anything else: %w", path, err)
	case sqlite3.SQLITE_IOERR:
		// A write that fails for another reason than ENOSPC (a quota, a limit on the size of files, a file system that has
		// its own name for full) is only called an I/O error. Reading and syncing have codes of their own.
		if e.Code() == sqlite3.SQLITE_IOERR_WRITE || noRoom(path) {
			return fmt.Errorf("%s: %w; make room, and ask again: %w", path, siding.ErrDiskFull, err)
		}
		return fmt.Errorf("%s: the disk does not do what it should: %w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func explainOS(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errQuota), errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%s: %w; make room, and ask again: %w", path, siding.ErrDiskFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w; it needs write permission for the file and its directory: %w", path, siding.ErrReadOnly, err)
	}
	return err
}

// errDiscarded ends a delivery whose message was discarded meanwhile.
var errDiscarded = errors.New("the message was discarded during the delivery")

// isGuard tells an answer to one item of a batch from what stops the batch.
func isGuard(err error) bool {
	return errors.Is(err, siding.ErrWrongState) || errors.Is(err, siding.ErrNotFound) ||
		errors.Is(err, siding.ErrConflict) || errors.Is(err, siding.ErrNoBody)
}

// isFault tells an error of the connection or the disk, after which the whole transaction is in doubt, from an answer
// to one operation.
func isFault(err error) bool {
	var e *sqlitedriver.Error
	return errors.As(err, &e)
}

func errAnotherBody(id string) error {
	return fmt.Errorf("the message %q has another body: %w", id, siding.ErrConflict)
}
