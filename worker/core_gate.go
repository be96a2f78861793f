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
	told toldBlocked
}

// toldBlocked is what the observer knows to be in the way.
type toldBlocked struct {
	blocked bool
	holds   []waitedFor
	rest    time.Time
}

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
			c.holdUnwatched(f)
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
	case !r.NoCall && !r.OtherLane && !k.served && served(f):
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
