//go:build unix

package quarantine

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group gives the program a process group of its own, all of which a cancel kills.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
}

// killGroup ends what is left of the group. The number cannot be another group's while one of this is alive.
func killGroup(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
