package worker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siding-dev/siding"
)

func asHeldError(err error) bool {
	_, ok := errors.AsType[*HeldError](err)
	return ok
}

// latency is how long a write takes to arrive, or its answer.
func (h *history) latency() time.Duration {
	if h.calm {
		return h.dice(time.Millisecond)
	}
	return h.dice(h.world.slow)
}

// write carries out one operation on the store for a process, nil for the operator, and lets the model look at what it
// has changed.
func (h *history) write(p *simProc, op string, do func() error) error {
	h.busy = p
	err := do()
	h.busy = nil
	if err == nil || !strings.Contains(err.Error(), "stale") {
		h.cover.count("write " + op)
	}
	h.ledger.look(p, op)
	if p != nil && p.dying {
		p.dying = false
		p.kill("in " + op)
	}
	return err
}

// hook is the seam of the store: a write that fails before, in or after it, and one that is the last of its process.
func (h *history) hook(point, op string) error {
	p := h.busy
	if p == nil || p.dead {
		return nil
	}
	name := fmt.Sprintf("%s %s", point, op)
	if h.disturb(h.world.kills/4, "kill "+name) {
		p.dying = true
		return errSim
	}
	if h.disturb(h.world.faults/4, "fault "+name) {
		if h.rng.IntN(3) == 0 {
			return fmt.Errorf("write: %w", siding.ErrDiskFull)
		}
		return errSim
	}
	return nil
}

// simCover counts what has happened in histories.
type simCover struct{ n map[string]int }

func newCover() simCover { return simCover{map[string]int{}} }

func (c *simCover) count(what string) { c.n[what]++ }

func (c *simCover) add(o simCover) {
	if c.n == nil {
		c.n = map[string]int{}
	}
	for k, n := range o.n {
		c.n[k] += n
	}
}

func (c *simCover) String() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(c.n)) {
		fmt.Fprintf(&b, "%8d  %s\n", c.n[k], k)
	}
	return b.String()
}

// demand fails the test when something that should have happened never has: a simulation in which nothing happens proves
// nothing.
func (c *simCover) demand(t *testing.T) {
	t.Helper()
	for _, op := range []string{"Lease", "Settle", "StartCall", "EndCall"} {
		for _, point := range []string{"before", "after", "before-commit", "after-commit"} {
			for _, kind := range []string{"fault", "kill"} {
				if what := kind + " " + point + " " + op; c.n[what] == 0 {
					t.Errorf("it never happened: %s", what)
				}
			}
		}
	}
	for _, what := range []string{"kill", "stop", "clock", "redrive", "discard", "resume", "more", "restart", "account", "Return", "campaign"} {
		if c.n[what] == 0 {
			t.Errorf("it never happened: %s", what)
		}
	}
}
