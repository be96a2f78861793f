package worker

import "github.com/siding-dev/siding"

// start hands deliveries over to the handler, as the call's next.
func (c *core) start(k *call, jobs []*job) {
	k.jobs, k.number = jobs, c.pace.start(c.now)
	k.served = false
	c.calls[k.id] = k
	deliveries := make([]*siding.Delivery, len(jobs))
	for i, j := range jobs {
		j.call, j.startedAt = k, c.now
		deliveries[i] = j.delivery
		c.tell(Started{j.delivery})
	}
	c.do(cmdStart{k.id, deliveries})
}

// onEnded takes in what a call came to.
func (c *core) onEnded(n newsEnded) {
	k := c.calls[n.call]
	if k == nil {
		return // abandoned meanwhile
	}
	jobs, cancelled := k.jobs, k.cancelled
	k.jobs, k.cancelled = nil, nil
	var left []*job
	var results []siding.Result
	for i, j := range jobs {
		j.call = nil
		if cancelled == nil {
			c.learn(j, k, n.items[i].result, n.items[i].says(n.failure))
		}
		if item := n.items[i]; item.settled {
			c.end(j, cancelled, item.result, item.failure)
		} else {
			left = append(left, j)
			results = append(results, item.result)
		}
	}
	// An error that leaves several messages is the fault of one of them, perhaps: each is tried alone. One that is nobody's
	// fault, or ours, holds for all.
	if n.failure != nil && len(left) > 1 && cancelled == nil && n.failure.Outcome != siding.OutcomeHeld {
		k.rest = left
	} else {
		for i, j := range left {
			c.end(j, cancelled, results[i], n.failure)
		}
	}
	c.next(k)
}

// next hands over the next message of a batch that is tried alone, or ends the call.
func (c *core) next(k *call) {
	for len(k.rest) > 0 {
		j := k.rest[0]
		k.rest = k.rest[1:]
		switch {
		case j.lost:
			c.settleWith(j, siding.Result{}, interrupted(siding.ErrLeaseLost))
		case c.stop.asked || c.gate.rest != nil || c.gate.blocked:
			c.giveBack(j)
		default:
			c.start(k, []*job{j})
			return
		}
	}
	delete(c.calls, k.id)
}

// end settles a message with what its handler came to, unless that is only the echo of our own cancelling.
func (c *core) end(j *job, cancelled error, r siding.Result, f *siding.Failure) {
	if j.lost {
		cancelled = siding.ErrLeaseLost
	}
	switch {
	case f == nil:
	case cancelled != nil && !ownVerdict(r, f):
		f = interrupted(cancelled)
	case f.Outcome == siding.OutcomeInterrupted && uncounted(f.Cause):
		// Nothing has interrupted it. What nobody counts is for the worker to say, or it could go on for ever: it counts as
		// one of the message's interruptions.
		g := *f
		g.Cause = siding.CauseUnknown
		f = &g
	}
	c.settleWith(j, r, f)
}

// ownVerdict tells whether a failure after a cancel is certainly the message's own: the service has answered, and the
// answer condemns the message. Everything else may come from the cancelling, and charges nobody.
func ownVerdict(r siding.Result, f *siding.Failure) bool {
	answered := len(r.Judged) > 0 || f.Status != 0
	return answered && (f.Outcome == siding.OutcomePermanent || f.Outcome == siding.OutcomeGray)
}

func uncounted(cause siding.Cause) bool {
	return cause == siding.CauseShutdown || cause == siding.CauseHostRestart || cause == siding.CauseWorkerCrash
}
