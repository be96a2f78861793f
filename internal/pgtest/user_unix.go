//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

const (
	signalImmediate = syscall.SIGQUIT
	signalFast      = syscall.SIGINT
)

// account is a user who may run the server, which refuses root.
type account struct{ uid, gid uint32 }

// unprivileged gives the account by which the server runs; nil: whoever runs the tests, who is not root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &account{uint32(uid), uint32(gid)}, nil
	}
	return nil, fmt.Errorf("the PostgreSQL server refuses to be run by root, and there is no other user: %w", os.ErrPermission)
}

// own hands a folder over.
func (a *account) own(dir string) error {
	if a == nil {
		return nil
	}
	return os.Chown(dir, int(a.uid), int(a.gid))
}
