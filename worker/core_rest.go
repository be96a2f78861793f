package worker

import (
	"time"

	"github.com/siding-dev/siding"
)

// resting is the core's state about faults that are not the messages'.
//
// Throttling lets the whole worker rest, and then wakes it with one message whose success wakes the others. Any other
// held outcome stops the worker. Neither costs a message anything.
type resting struct {
	probing bool          // one message at a time, until one goes well
	until   time.Duration // no message before
	since   time.Duration // when the latest rest began
	step    int           // rests in a row
	probes  int           // in flight
	why     *siding.Failure
}

// The rests of a service that does not say how long: 1 s, doubling to 15 s.
const (
	restBase = time.Second
	restCap  = 15 * time.Second
)

// limit bounds the number of messages that may be leased.
func (r *resting) limit(n int) int {
	if r.probing {
		return min(n, 1-r.probes)
	}
	return n
}

// restSees looks at what a delivery came to.
func (c *core) restSees(j *job, f *siding.Failure) {
	switch {
	case f != nil && f.Outcome == siding.OutcomeHeld && f.Scope == "" && f.RetryAfter > 0:
		// It reaches no further than this message, which waits alone.
	case f != nil && f.Outcome == siding.OutcomeHeld && throttled(f):
		c.throttle(j, f)
	case f != nil && f.Outcome == siding.OutcomeHeld:
		c.hold(f)
	case c.rest.probing && j.probe && served(f):
		c.rest = resting{probes: c.rest.probes}
		c.tell(Resumed{})
		c.leaseSoon()
	}
}

// throttled tells a fault that passes by itself from one that somebody has to mend.
func throttled(f *siding.Failure) bool {
	return f.RetryAfter > 0 || f.Cause == siding.CauseRateLimited || f.Cause == siding.CauseOverloaded
}

// served tells whether the service has worked for a message, also where the answer was not what the message hoped for.
func served(f *siding.Failure) bool {
	return f == nil || !f.NoCall && (f.Outcome == siding.OutcomePermanent || f.Outcome == siding.OutcomeGray)
}

func (c *core) throttle(j *job, f *siding.Failure) {
	r := &c.rest
	// A call that began before the rest did says nothing new, unless it names a time.
	old := r.probing && j.startedAt <= r.since
	if old && f.RetryAfter <= 0 {
		return
	}
	n := 0
	if !old {
		n = r.step
		r.step++
		r.since = c.now
	}
	r.probing = true
	b := siding.Backoff{Base: restBase, Factor: 2, Cap: restCap, Jitter: c.cfg.Policy.Backoff.Jitter}
	d := b.Delay(n, f.RetryAfter, c.rng.Float64())
	if until := after(c.now, d); until > r.until {
		r.until, r.why = until, f
		c.tell(Throttled{For: d, Failure: f})
	}
}

// hold stops the worker: what is in flight may end, however long it takes, and Run returns the first such fault.
func (c *core) hold(f *siding.Failure) {
	if c.stop.held {
		return
	}
	c.stop.held = true
	c.rest.why = f
	err := &HeldError{Failure: f}
	c.tell(Held{err})
	c.beginStop(err)
}
