//go:build !linux

package sqlite

import (
	"os"
	"sync"
)

// Elsewhere than on Linux no lock tells for certain that a process has died: leases of dead processes run out by
// themselves, and turns to write are SQLite's own.
const canProve = false

type lockFile struct {
	f  *os.File
	id string
}

// setupMutex keeps two stores in one process from creating a file at once; SQLite's locks do it between processes.
var setupMutex sync.Mutex

func openLockFile(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &lockFile{f: f}, nil
}

func (l *lockFile) close() error             { return l.f.Close() }
func (l *lockFile) register() (int64, error) { return 0, nil }
func (l *lockFile) held(int64) (bool, error) { return true, nil }
func (l *lockFile) free(int64) error         { return nil }
func (l *lockFile) turn() (func(), error)    { return func() {}, nil }

func (l *lockFile) setup() (func(), error) {
	setupMutex.Lock()
	return setupMutex.Unlock, nil
}

func bootID() string { return "" }
