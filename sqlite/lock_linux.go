package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The lock file <store>-lock has three kinds of bytes, locked with open-file-description locks: they belong to the open
// file, so that two stores in one process exclude each other too, and end with the process, however it ends.
const (
	turnNextByte = 0 // held by who is next to write
	turnNowByte  = 1 // held by who writes
	setupByte    = 2 // held by who creates the file or migrates it
	firstProcess = 1 << 20
)

// canProve tells that a free lock proves the death of its process on this system.
const canProve = true

// lockFile is the file whose byte locks tell which processes live, and whose turn it is to write.
type lockFile struct {
	f  *os.File
	id string // device and inode
}

func openLockFile(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lockFile{f: f, id: fmt.Sprintf("%d:%d", st.Dev, st.Ino)}, nil
}

func (l *lockFile) close() error { return l.f.Close() }

func (l *lockFile) fcntl(cmd int, kind int16, at int64) (unix.Flock_t, error) {
	for {
		lk := unix.Flock_t{Type: kind, Start: at, Len: 1}
		err := unix.FcntlFlock(l.f.Fd(), cmd, &lk)
		if !errors.Is(err, unix.EINTR) {
			return lk, err
		}
	}
}

func (l *lockFile) wait(at int64) error {
	_, err := l.fcntl(unix.F_OFD_SETLKW, unix.F_WRLCK, at)
	return err
}

func (l *lockFile) free(at int64) error {
	_, err := l.fcntl(unix.F_OFD_SETLK, unix.F_UNLCK, at)
	return err
}

// register locks a byte of this process's own and gives its place.
func (l *lockFile) register() (int64, error) {
	for range 100 {
		at := firstProcess + rand.Int64N(1<<48)
		_, err := l.fcntl(unix.F_OFD_SETLK, unix.F_WRLCK, at)
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return 0, fmt.Errorf("lock %s: %w", l.f.Name(), err)
		}
	}
	return 0, fmt.Errorf("lock %s: no free place found", l.f.Name())
}

// held tells whether another open file holds the byte; an error tells that it cannot be known.
func (l *lockFile) held(at int64) (bool, error) {
	lk, err := l.fcntl(unix.F_OFD_GETLK, unix.F_WRLCK, at)
	return lk.Type != unix.F_UNLCK, err
}

// turn waits until this store may write, and gives the function that ends its turn. Of several processes that want to
// write all the time each gets its turn: who is next holds a lock of its own, for which one that has just written has
// to queue again. (SQLite's own waiting is a sleep, which one that does not sleep always wins against.)
func (l *lockFile) turn() (func(), error) {
	if err := l.wait(turnNextByte); err != nil {
		return nil, err
	}
	err := l.wait(turnNowByte)
	_ = l.free(turnNextByte)
	if err != nil {
		return nil, err
	}
	return func() { _ = l.free(turnNowByte) }, nil
}

// setup waits until nobody else creates or migrates the store.
func (l *lockFile) setup() (func(), error) {
	if err := l.wait(setupByte); err != nil {
		return nil, err
	}
	return func() { _ = l.free(setupByte) }, nil
}

// bootID names the time since the machine was last started.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
