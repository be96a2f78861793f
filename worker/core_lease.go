package worker

import (
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// leasing is the core's state about getting messages.
type leasing struct {
	busy     bool
	sentAt   time.Duration
	asked    int
	at       time.Duration // not before
	outdated bool          // something has happened since the request was sent that its answer does not know
	fault    fault
	retryAt  time.Duration // not before, after an error of the store
	untried  int           // deliveries since the last retry, for when fewer than four are in flight
}

// leaseSoon lets the next request go out as soon as there is room.
func (c *core) leaseSoon() {
	c.lease.at = c.now
	c.lease.outdated = true
}

func (c *core) slots() int { return c.cfg.Concurrency * c.cfg.BatchSize }

// room is how many messages may be leased now: no more than can be handed over at once.
func (c *core) room() int {
	if c.full() {
		return 0
	}
	free := c.window.room(c.cfg.Concurrency-len(c.calls), c.inFlight)
	return min(c.pace.room(c.now, free)*c.cfg.BatchSize, c.slots()-len(c.jobs))
}

// full tells whether something has to end before more may begin, however long that takes.
func (c *core) full() bool {
	return c.solo > 0 || len(c.jobs) >= c.slots() || c.window.room(c.cfg.Concurrency-len(c.calls), c.inFlight) <= 0
}

// leaseDue is when the next request is due; forever while something else has to happen first.
func (c *core) leaseDue() time.Duration {
	// While an outcome cannot be written, work that may have been paid for would only pile up.
	if c.lease.busy || c.stop.asked || c.settle.fault.n > 0 || !c.gate.nudged {
		return forever
	}
	// A rest that the store does not know yet would not keep it from giving more.
	if c.gate.rest != nil && (c.settle.sent != nil || len(c.settle.waiting) > 0) {
		return forever
	}
	if c.full() {
		return forever
	}
	return max(c.lease.at, c.lease.retryAt, c.pace.due(c.now))
}

func (c *core) leaseStep() {
	if c.leaseDue() > c.now {
		return
	}
	l := &c.lease
	l.busy, l.outdated, l.sentAt, l.asked = true, false, c.now, c.room()
	c.gate.late = false
	c.do(cmdLease{siding.LeaseRequest{
		Queue: c.cfg.Queue, Worker: c.cfg.Name, Max: l.asked, MaxRetries: c.maxRetries(l.asked), Duration: c.cfg.Lease,
		Input: c.cfg.Input, Policy: c.cfg.Policy, Rand: c.rng.Float64(),
		Gates: c.cfg.Gates,
	}})
}

// maxRetries is how many retries may be leased among so many messages while untried ones wait: of all that is in flight
// then, retries are at most a quarter, so that slow failures do not crowd out first deliveries. With fewer than four in
// flight, for instance after a rest, one delivery in four.
func (c *core) maxRetries(asked int) int {
	if n := min(c.slots(), len(c.jobs)+asked); n >= 4 {
		return max(0, n/4-c.retries)
	}
	if c.lease.untried >= 3 {
		return 1
	}
	return 0
}

func (c *core) onLeased(n newsLeased) {
	l := &c.lease
	l.busy = false
	if n.err != nil {
		l.retryAt = c.failed(&l.fault, "lease", n.err)
		return
	}
	l.fault = fault{}
	got := n.leased.Deliveries
	l.at = c.nextLease(n.leased)
	c.gatesSee(n.leased)
	var ready []*job
	for i, d := range got {
		j := c.addJob(d, l.sentAt)
		if j.retry {
			l.untried = 0
		} else {
			l.untried++
		}
		if c.stop.asked || c.gate.late || i >= l.asked {
			c.giveBack(j)
			continue
		}
		ready = append(ready, j)
	}
	for len(ready) > 0 {
		k := min(len(ready), c.cfg.BatchSize)
		c.lastID++
		c.start(&call{id: c.lastID}, ready[:k:k])
		ready = ready[k:]
	}
	c.look(n.leased)
}

// nextLease is when to ask again after an answer.
func (c *core) nextLease(a siding.Leased) time.Duration {
	got := len(a.Deliveries)
	wait := a.NextAt.Sub(a.Now)
	switch {
	case c.lease.outdated:
		return c.now
	case len(a.Blocked) > 0:
		return after(c.now, c.blockedWait(a))
	case got > 0 && got >= c.lease.asked, got > 0 && !a.NextAt.IsZero() && wait <= 0:
		return c.now
	case !a.NextAt.IsZero() && wait > 0:
		return after(c.now, min(wait, c.cfg.Poll))
	}
	return after(c.now, c.cfg.Poll)
}

// look sees whether there is anything left to do.
func (c *core) look(a siding.Leased) {
	if len(a.Deliveries) > 0 || len(c.jobs) > 0 {
		c.idle = false
		return
	}
	if c.cfg.Drain && !c.lease.outdated && a.NextAt.IsZero() && a.InFlight == 0 {
		c.drained = true
		return
	}
	if len(a.Blocked) > 0 && !c.lease.outdated {
		c.giveUpWaiting(a)
		return
	}
	if !c.idle && !c.stop.asked {
		c.idle = true
		e := Idle{}
		if !a.NextAt.IsZero() && a.NextAt.Before(siding.Never) {
			e.Next = max(a.NextAt.Sub(a.Now), 0)
		}
		c.tell(e)
	}
}

// giveBack returns a message that was leased and not handed over: at no cost, and a suspect stays one.
func (c *core) giveBack(j *job) {
	f := interrupted(siding.ErrShutdown)
	if why := c.gate.rest; why != nil && !c.stop.asked {
		f.Err = fmt.Errorf("not tried: %w", why)
	}
	c.settleWith(j, siding.Result{}, f)
}

// interrupted is the failure of a delivery that did not end by itself, for the cause with which it was cancelled.
func interrupted(cause error) *siding.Failure {
	f := &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseShutdown, Err: cause}
	if cause == siding.ErrLeaseLost { //nolint:errorlint // our own sentinel, never wrapped
		f.Cause = siding.CauseLeaseLost
	}
	return f
}
