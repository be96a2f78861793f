package claude

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/siding-dev/siding"
)

// machineRest is how long calls rest when the machine cannot make them.
const machineRest = 5 * time.Second

// lacksResources tells an error of the machine that makes the call: it has no descriptor, port or memory left. That is
// neither the message's fault nor the service's, and ends when something else on the machine does.
func lacksResources(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// machineFault rests the lane until the machine has something to give again.
func machineFault(cause siding.Cause, err error) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: cause, Scope: siding.ScopeLane, RetryAfter: machineRest, NoCall: true,
		Err: fmt.Errorf("this machine has no more to give (files, ports or memory); raise its limit, or lower the concurrency: %w", err),
	}
}
