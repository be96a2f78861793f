package postgres

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// bootID names the time since the machine was last started.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// pidSpace names the processes among which this one's number counts: those of a container have numbers of their own.
func pidSpace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// pidStart tells when a process began, in the ticks of its machine; empty when that is not to be had.
func pidStart(pid int64) string {
	b, err := os.ReadFile("/proc/" + strconv.FormatInt(pid, 10) + "/stat")
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; what follows its last one is 20 fields before the start.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}

// diedHere tells whether this machine's process table proves that the process is dead.
func (p registered) diedHere() bool {
	if p.pidStart == "" || p.pidSpace == "" || p.bootID == "" || p.pidSpace != pidSpace() || p.bootID != bootID() {
		return false
	}
	// The process table of a machine may be hidden; a signal is refused then, and not lost.
	if errors.Is(syscall.Kill(int(p.pid), 0), syscall.ESRCH) {
		return true
	}
	start := pidStart(p.pid)
	return start != "" && start != p.pidStart
}
