package worker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

const (
	// maxSettle bounds one write, so that results of many messages do not make one huge transaction.
	maxSettle = 512
	// maxRefusals is how often the store may refuse one outcome while it takes others, before the outcome itself is held to
	// be at fault.
	maxRefusals = 8
)

// settling is the core's state about outcomes to be written.
type settling struct {
	waiting []*job // have ended, in order
	sent    []*job // under way
	retryAt time.Duration
	fault   fault
}

// settleWith notes what a delivery came to. It is kept until the store has it.
func (c *core) settleWith(j *job, r siding.Result, f *siding.Failure) {
	j.call = nil
	j.outcome = &siding.Settlement{
		Token: j.token, Failure: f, Digest: c.cfg.Digest, Judged: r.Judged, Policy: c.cfg.Policy, Rand: c.rng.Float64(),
		Gates: c.cfg.Gates, NoCall: r.NoCall, OtherLane: r.OtherLane,
	}
	if f != nil && f.Outcome == siding.OutcomeHeld {
		j.outcome.NoCall = alone(f) // whatever reaches further than its message is for the gates
	}
	if f == nil {
		j.outcome.Result, j.outcome.Then = r.Body, c.cfg.Then
	}
	c.settle.waiting = append(c.settle.waiting, j)
}

func (c *core) settleDue() time.Duration {
	if len(c.settle.waiting) == 0 || c.settle.sent != nil {
		return forever
	}
	return c.settle.retryAt
}

// settleStep sends all that has ended by now in one write. Nothing waits for more to come.
func (c *core) settleStep() {
	s := &c.settle
	if c.stop.closed {
		for _, j := range s.waiting {
			c.stop.unsettled++
			c.dropJob(j)
		}
		s.waiting = nil
	}
	if c.settleDue() > c.now {
		return
	}
	n := min(len(s.waiting), maxSettle)
	s.sent = s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	settlements := make([]siding.Settlement, n)
	for i, j := range s.sent {
		settlements[i] = *j.outcome
	}
	c.do(cmdSettle{settlements})
}

func (c *core) onSettled(n newsSettled) {
	s := &c.settle
	sent := s.sent
	s.sent = nil
	if n.err != nil {
		for _, j := range sent {
			j.unsure = true
		}
		s.waiting = append(sent, s.waiting...)
		s.retryAt = c.failed(&s.fault, "settle", n.err)
		return
	}
	var again []*job
	var failure error
	taken := 0
	for i, j := range sent {
		err := errNoAnswer
		if i < len(n.settled) {
			err = n.settled[i].Err
		}
		switch {
		case err == nil:
			taken++
			c.tell(Settled{j.delivery, n.settled[i].Decision, n.settled[i].Failure})
			if n.settled[i].Decision.State == siding.StateReady || c.gate.blocked || j.delivery.Solo {
				c.leaseSoon() // to learn when it comes due, or whether it has opened a gate
			}
			c.dropJob(j)
		case errors.Is(err, siding.ErrStaleLease), errors.Is(err, siding.ErrNotFound), errors.Is(err, siding.ErrWrongState):
			taken++
			if !j.lost {
				c.tell(Lost{j.delivery, j.unsure})
			}
			c.dropJob(j)
		default:
			failure = err
			again = append(again, j)
		}
	}
	if len(again) == 0 {
		s.fault, s.retryAt = fault{}, 0
		return
	}
	if taken > 0 {
		s.fault = fault{} // the store works
	}
	again = slices.DeleteFunc(again, func(j *job) bool { return c.refused(j, failure) })
	s.waiting = append(again, s.waiting...)
	s.retryAt = c.failed(&s.fault, "settle", failure)
	if len(again) == 0 {
		s.fault = fault{}
	}
}

// refused counts refusals of one outcome that are not the store's condition. An outcome that is refused again and again
// must keep neither its message nor the worker for ever: at first the message is settled with that failure instead,
// without the result; and when the store refuses this too, the lease is left to run out, which the store counts and
// bounds. It tells whether the job is given up.
func (c *core) refused(j *job, err error) bool {
	if condition(err) {
		return false
	}
	j.refusals++
	switch j.refusals {
	case maxRefusals:
		j.outcome.Failure = &siding.Failure{
			Outcome: siding.OutcomeTransient, Cause: siding.CauseUnknown,
			Err: fmt.Errorf("the store refuses the outcome: %w", err),
		}
		j.outcome.Result, j.outcome.Then, j.outcome.Judged = nil, nil, nil
	case 2 * maxRefusals:
		c.tell(Lost{Delivery: j.delivery})
		c.dropJob(j)
		return true
	}
	return false
}

var errNoAnswer = errors.New("the store gave no answer for this message")

// condition tells whether an error is the state of the store, and says nothing of what was written.
func condition(err error) bool {
	return errors.Is(err, siding.ErrDiskFull) || errors.Is(err, siding.ErrReadOnly) || hopeless(err)
}

// hopeless tells whether it makes no sense to ask the store again.
func hopeless(err error) bool {
	return errors.Is(err, siding.ErrClosed) || errors.Is(err, siding.ErrNewerStore) || errors.Is(err, siding.ErrStoreMode)
}
