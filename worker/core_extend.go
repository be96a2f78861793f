package worker

import (
	"errors"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// extending is the core's state about leases that are prolonged.
type extending struct {
	at     time.Duration // when to look next; not later than anything is due
	sent   []*job        // under way
	sentAt time.Duration
}

func (c *core) extendDue() time.Duration {
	if len(c.jobs) == 0 || c.stop.closed {
		return forever
	}
	return c.extend.at
}

// extendStep prolongs the leases of which a third has passed, of everything that is not settled yet, and gives those up
// that have run out under a running handler.
func (c *core) extendStep() {
	e := &c.extend
	if len(c.jobs) == 0 {
		e.at = forever
		return
	}
	if c.now < e.at || c.stop.closed {
		return
	}
	e.at = forever
	held := slices.DeleteFunc(ordered(c.jobs), func(j *job) bool {
		if j.outcome == nil && c.now >= j.leasedUntil {
			c.lose(j)
		}
		return j.lost
	})
	var due []*job
	if e.sent == nil && slices.ContainsFunc(held, func(j *job) bool { return j.extendAt <= c.now }) {
		slack := c.cfg.Lease / 20 // those that are due soon go along; less than the rest after a fault
		for _, j := range held {
			if j.extendAt <= c.now+slack {
				due = append(due, j)
			}
		}
	}
	for _, j := range held {
		if e.sent == nil && len(due) == 0 {
			e.at = min(e.at, j.extendAt) // or else when the answer has come
		}
		if j.outcome == nil {
			e.at = min(e.at, j.leasedUntil)
		}
	}
	if len(due) == 0 {
		return
	}
	e.sent, e.sentAt = due, c.now
	tokens := make([]siding.LeaseToken, len(due))
	for i, j := range due {
		tokens[i] = j.token
	}
	c.do(cmdExtend{c.cfg.Lease, tokens})
}

func (c *core) onExtended(n newsExtended) {
	e := &c.extend
	sent := e.sent
	e.sent, e.at = nil, c.now
	if n.err != nil {
		c.tell(StoreFault{Op: "extend", Err: n.err, Again: c.extendRetry()})
		if hopeless(n.err) {
			c.stopClosed(n.err)
		}
	}
	for i, j := range sent {
		err := n.err
		if err == nil && i < len(n.errs) {
			err = n.errs[i]
		} else if err == nil {
			err = errNoAnswer
		}
		switch {
		case err == nil:
			j.leasedUntil = after(e.sentAt, c.cfg.Lease)
			j.extendAt = after(e.sentAt, c.cfg.Lease/3)
		case n.err == nil && errors.Is(err, siding.ErrStaleLease):
			// What has ended meanwhile learns it from its settlement, which may just have made the token stale.
			if j.outcome == nil {
				c.lose(j)
			} else {
				j.extendAt = forever
			}
		default:
			j.extendAt = after(c.now, c.extendRetry())
		}
	}
}

// extendRetry is how long to wait after a failed extension: many tries before the lease runs out.
func (c *core) extendRetry() time.Duration { return min(c.cfg.Lease/15, faultCap) }

// lose gives a lease up. Its handler is told; what it still comes to is sent, and counts only if the store says so.
func (c *core) lose(j *job) {
	if j.lost || c.jobs[j.seq] != j {
		return
	}
	j.lost = true
	c.tell(Lost{Delivery: j.delivery})
	k := j.call
	if k == nil {
		return
	}
	for _, other := range k.jobs {
		if !other.lost {
			return
		}
	}
	c.cancel(k, siding.ErrLeaseLost)
}

func (c *core) cancel(k *call, cause error) {
	if k.cancelled == nil && len(k.jobs) > 0 {
		k.cancelled = cause
		c.do(cmdCancel{k.id, cause})
	}
}
