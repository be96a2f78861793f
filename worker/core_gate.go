package worker

import (
	"time"

	"github.com/siding-dev/siding"
)

// gating is the core's state about gates, which are the store's: what it last said of them, and how long the worker has
// waited at each.
type gating struct {
	nudging bool // under way
	nudged  bool
	nudgeAt time.Duration // not before, after an error of the store
	fault   fault

	blocked bool // by the latest answer
	// late says that a rest has begun since the request under way was sent: what it brings is not handed over any more.
	late bool
	rest *siding.Failure // a rest has begun, and no answer has said since that it is over
	seen []waitedFor
	told struct { // to the observer
		blocked bool
		holds   []waitedFor
		rest    time.Time
	}
}

// waitedFor is a hold in the worker's way.
type waitedFor struct {
	key   siding.GateKey
	since time.Time
	at    time.Duration // first seen
}

const (
	blockedPoll = time.Second            // most of the time between two questions at a closed gate
	wakeSpread  = 500 * time.Millisecond // so far apart do workers wake that have waited for the same time
)

// nudgeStep lets one probe through the holds in the way, once and before anything is leased: the fault may be mended.
func (c *core) nudgeStep() {
	if c.nudgeDue() <= c.now {
		c.gate.nudging = true
		c.do(cmdNudge{c.cfg.Gates})
	}
}

func (c *core) nudgeDue() time.Duration {
	g := &c.gate
	if g.nudging || g.nudged || c.stop.asked {
		return forever
	}
	return g.nudgeAt
}

func (c *core) onNudged(n newsNudged) {
	g := &c.gate
	g.nudging = false
	if n.err != nil {
		g.nudgeAt = c.failed(&g.fault, "nudge", n.err)
		return
	}
	g.nudged = true
}

// learn takes in what the end of a call says about the service: its limits, its willingness, its rests.
func (c *core) learn(j *job, k *call, r siding.Result, f *siding.Failure) {
	c.pace.answered(c.now, j.startedAt, k.number, r.Limits)
	switch {
	case f != nil && f.Outcome == siding.OutcomeHeld:
		if alone(f) {
			return
		}
		if c.cfg.watches(f.Scope) {
			c.gate.late, c.gate.rest = true, f
		} else if !throttled(f) {
			c.hold(&HeldError{Holds: []siding.Gate{gateOf(f)}, Failure: f})
			return
		}
		if throttled(f) {
			if f.Cause == siding.CauseOverloaded || !c.pace.refused(c.now, j.startedAt) {
				c.window.refused(k.number, c.inFlight(c.window.since))
			}
			if c.cfg.watches(f.Scope) {
				c.window.rest(c.pace.begun)
			}
		}
	case !r.NoCall && !k.served && served(f):
		k.served = true
		c.window.served(k.number)
	}
}

// alone tells whether a held outcome reaches no further than its message, which waits while the others go on.
func alone(f *siding.Failure) bool {
	return f.Outcome == siding.OutcomeHeld && f.Scope == "" && f.RetryAfter > 0
}

// throttled tells a fault that passes by itself from one that somebody has to mend.
func throttled(f *siding.Failure) bool {
	return f.Cause == siding.CauseRateLimited || f.Cause == siding.CauseOverloaded || f.RetryAfter > 0 && f.Until.IsZero()
}

// served tells whether the service has worked for a message, also where the answer was not what the message hoped for.
func served(f *siding.Failure) bool {
	return f == nil || !f.NoCall && (f.Outcome == siding.OutcomePermanent || f.Outcome == siding.OutcomeGray)
}

// watches tells whether a gate of the scope is watched.
func (c *Config) watches(s siding.Scope) bool {
	switch s {
	case siding.ScopeAccount:
		return c.Gates.Account.Name != ""
	case siding.ScopeRecipe:
		return c.Gates.Recipe.Name != ""
	}
	return c.Gates.Lane.Name != ""
}

// inFlight counts the calls that run and have a number above the given one.
func (c *core) inFlight(above int64) (n int) {
	for _, k := range c.calls {
		if k.number > above {
			n++
		}
	}
	return n
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
	if c.cfg.Wait == nil || c.stop.asked {
		return
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
		*t = struct {
			blocked bool
			holds   []waitedFor
			rest    time.Time
		}{}
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
	if c.stop.held {
		return
	}
	c.stop.held = true
	if !c.cfg.anyWatched() {
		c.tell(Held{err})
	}
	c.beginStop(err)
}

func (c *Config) anyWatched() bool { return len(c.Gates.All()) > 0 }
