package pgtest

import "syscall"

// attributes has a program run by the account, and end with this one.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: signalImmediate, Setpgid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}
