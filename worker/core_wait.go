package worker

import (
	"time"

	"github.com/siding-dev/siding"
)

const (
	blockedPoll = time.Second            // most of the time between two questions at a closed gate
	wakeSpread  = 500 * time.Millisecond // so far apart do workers wake that have waited for the same time
)

// waitedFor is a hold in the worker's way.
type waitedFor struct {
	key   siding.GateKey
	since time.Time
	at    time.Duration // first seen
}

// gatesSee takes in what an answer of the store says about the gates.
func (c *core) gatesSee(a siding.Leased) {
	g := &c.gate
	g.blocked = len(a.Blocked) > 0
	if g.blocked {
		c.window.rest(c.pace.begun) // before the probe of this answer begins
	} else if !g.late {
		g.rest = nil
	}
	c.waitFor(a.Blocked)
	c.tellBlocked(a)
}

// waitFor notes since when each hold has been in the way.
func (c *core) waitFor(blocked []siding.Gate) {
	var seen []waitedFor
	for _, b := range blocked {
		if b.Hold == nil {
			continue
		}
		w := waitedFor{key: b.Key, since: b.Hold.Since, at: c.now}
		for _, old := range c.gate.seen {
			if old.key == w.key && old.since.Equal(w.since) {
				w.at = old.at
			}
		}
		seen = append(seen, w)
	}
	c.gate.seen = seen
}

// giveUpWaiting ends the run when one of the holds in the way has been waited for long enough, or will not end in time:
// the others are no way around it.
func (c *core) giveUpWaiting(a siding.Leased) {
	if c.cfg.Wait == nil || c.stop.asked || a.NextAt.IsZero() || !a.NextAt.Before(siding.Never) {
		return // or there is nothing that it could keep from being done
	}
	var holds []siding.Gate
	over := false
	for _, b := range a.Blocked {
		if b.Hold != nil {
			over = over || c.waitedEnough(b, a.Now)
			holds = append(holds, b)
		}
	}
	if over {
		c.hold(&HeldError{Holds: holds, Failure: failureOfHold(holds[0])})
	}
}

func (c *core) waitedEnough(b siding.Gate, now time.Time) bool {
	h := b.Hold
	dated := h.Until.After(now)
	if b.Probe != nil || h.Kind != siding.HoldOutage && !h.NextProbe.IsZero() && !dated {
		return false // a message is about to find out
	}
	left := max(c.cfg.Wait(*h), 0)
	for _, w := range c.gate.seen {
		if w.key == b.Key {
			left -= c.now - w.at
		}
	}
	return left <= 0 || dated && h.NextProbe.IsZero() && h.Until.Sub(now) > left
}

// blockedWait is how long to wait before the store is asked again at a closed gate. Those who wait for the same time do
// not wake together.
func (c *core) blockedWait(a siding.Leased) time.Duration {
	poll := blockedPoll - time.Duration(c.rng.Float64()*float64(blockedPoll/2))
	if wait := a.RetryAt.Sub(a.Now); !a.RetryAt.IsZero() && wait > 0 && wait < poll {
		return wait + time.Duration(c.rng.Float64()*float64(wakeSpread))
	}
	return poll
}

// tellBlocked tells the observer what is in the way, whenever that changes.
func (c *core) tellBlocked(a siding.Leased) {
	t := &c.gate.told
	if len(a.Blocked) == 0 {
		if t.blocked {
			c.tell(Resumed{})
		}
		*t = toldBlocked{}
		return
	}
	var holds []siding.Gate
	var rest time.Time
	for _, b := range a.Blocked {
		if b.Hold != nil {
			holds = append(holds, b)
		}
		if b.Throttle.Until.After(rest) {
			rest = b.Throttle.Until
		}
	}
	switch {
	case len(holds) > 0 && !sameHolds(c.gate.seen, t.holds):
		c.tell(Held{&HeldError{Holds: holds, Failure: failureOfHold(holds[0])}})
	case len(holds) == 0 && rest.After(a.Now) && !rest.Equal(t.rest):
		c.tell(Throttled{For: rest.Sub(a.Now), Failure: c.gate.rest})
	}
	t.blocked = t.blocked || len(holds) > 0 || rest.After(a.Now)
	t.holds, t.rest = c.gate.seen, rest
}

func sameHolds(a, b []waitedFor) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].key != b[i].key || !a[i].since.Equal(b[i].since) {
			return false
		}
	}
	return true
}

// hold ends the run: what is in flight may end, however long it takes.
func (c *core) hold(err *HeldError) {
	c.stop.held = true
	c.beginStop(err)
}

// holdUnwatched ends the run for a fault of which no gate keeps the others away.
func (c *core) holdUnwatched(f *siding.Failure) {
	if c.stop.held {
		return
	}
	err := &HeldError{Holds: []siding.Gate{gateOf(f)}, Failure: f}
	c.tell(Held{err})
	c.hold(err)
}

func (c *Config) anyWatched() bool { return len(c.Gates.All()) > 0 }
