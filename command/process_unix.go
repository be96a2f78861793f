//go:build unix

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/siding-dev/siding"
)

// group gives the program a process group of its own, to which a cancel sends SIGTERM.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := unix.Kill(-cmd.Process.Pid, unix.SIGTERM); !errors.Is(err, unix.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
}

// killGroup ends what is left of the group. The number cannot be another group's while one of this is alive.
func killGroup(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

func signalName(s *os.ProcessState) string {
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return "a signal"
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = fmt.Sprintf("signal %d", status.Signal())
	}
	if status.CoreDump() {
		name += " (core dumped)"
	}
	return name
}

// notStarted says what it means that the program could not be started: that this machine is short of something for the
// moment, or else that it is not there as it was named.
func notStarted(err error) (verdict, string) {
	for _, short := range []error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ETXTBSY} {
		if errors.Is(err, short) {
			return verdict{outcome: siding.OutcomeHeld, cause: siding.CauseOverloaded, scope: siding.ScopeLane}, "the program could not be started now: " + err.Error()
		}
	}
	v := verdict{outcome: siding.OutcomeHeld, cause: siding.CauseConfiguration, scope: siding.ScopeRecipe}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return v, "the program (or its interpreter, or the working directory) was not found: " + err.Error()
	case errors.Is(err, fs.ErrPermission):
		return v, "the program may not be run; is it marked as executable? " + err.Error()
	}
	return v, "the program cannot be started: " + err.Error()
}
