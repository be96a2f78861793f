package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// CheckInvariants looks through a queue, or every queue when the name is empty, for what must hold at any moment,
// whatever has happened to the store, and joins all that does not into one error. Call it when nobody writes. All
// messages must have been worked under the policy.
//
// It reads by the interface only, so that it can be wrong in no store's own way; what only a store can see of itself is
// for [siding.Operator.Check].
func CheckInvariants(ctx context.Context, store siding.Store, queue string, p siding.Policy) error {
	c := checker{policy: p, queues: map[string]*siding.QueueStats{}, dead: map[siding.GroupKey]int64{}}
	seen := map[[2]string]bool{}
	for l, err := range store.List(ctx, siding.Selection{Queue: queue}) {
		if err != nil {
			c.broken("", "", "a row cannot be listed: %v", err)
			continue
		}
		name := [2]string{l.Queue, l.ID}
		if seen[name] {
			c.broken(l.Queue, l.ID, "is listed twice")
		}
		seen[name] = true
		r, err := store.Get(ctx, l.Queue, l.ID)
		if err != nil {
			c.broken(l.Queue, l.ID, "is listed and cannot be read: %v", err)
			continue
		}
		c.record(r)
		c.count(r)
		c.waits(ctx, store, r)
	}
	c.stats(ctx, store, queue)
	c.groups(ctx, store, queue)
	c.gates(ctx, store)
	c.campaigns(ctx, store, queue)
	return errors.Join(c.found...)
}

type checker struct {
	policy siding.Policy
	queues map[string]*siding.QueueStats // as counted from the messages
	dead   map[siding.GroupKey]int64
	found  []error
}

func (c *checker) broken(queue, id, format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("message %q of queue %q: %s", id, queue, fmt.Sprintf(format, args...)))
}

// record checks one message by itself.
func (c *checker) record(r *siding.Record) {
	rule := func(holds bool, format string, args ...any) {
		if !holds {
			c.broken(r.Queue, r.ID, format, args...)
		}
	}
	c.state(r, rule)
	c.budgets(r, rule)
	c.apart(r, rule)
	c.history(r, rule)
	c.calls(r, rule)
	c.texts(r, rule)
}

type ruler func(holds bool, format string, args ...any)

// state: a message is in exactly one state, and has what belongs to it and to no other.
func (c *checker) state(r *siding.Record, rule ruler) {
	dead, leased, done := r.State == siding.StateDead, r.State == siding.StateLeased, r.State == siding.StateDone
	rule(slices.Contains(siding.States(), r.State), "is in no known state: %q", r.State)
	rule(siding.CheckID(r.ID) == nil, "has an ID that cannot be used")
	rule(!r.ReceivedAt.IsZero(), "was never received")
	rule(r.State != siding.StateReady || !r.AvailableAt.IsZero(), "is ready at no time")
	rule(leased == !r.LeasedUntil.IsZero(), "is %s, and leased until %v", r.State, r.LeasedUntil)
	rule(dead == !r.DeadAt.IsZero(), "is %s, and was set aside at %v", r.State, r.DeadAt)
	rule(dead == (r.Reason != ""), "is %s, and was set aside as %q", r.State, r.Reason)
	rule(!dead || r.LastError != nil && r.LastError.Cause != "" && r.LastError.Fingerprint != "", "is dead for no cause")
	rule(!dead || slices.Contains(siding.Reasons(), r.Reason), "is dead for an unknown reason: %q", r.Reason)
	rule(done || r.Result == nil && r.Digest == "", "is %s, and has a result or a digest of one", r.State)
	rule((r.State == siding.StateDiscarded) == (r.DiscardReason != ""), "is %s, discarded as %q", r.State, r.DiscardReason)
}

// budgets: nothing goes on past its limits, and nothing is set aside before them.
func (c *checker) budgets(r *siding.Record, rule ruler) {
	p := c.policy
	rule(min(r.Attempt, r.Gray, r.Waits, r.Interruptions, r.Redrives, r.Deliveries) >= 0, "has a counter below 0")
	rule(r.Gray <= r.Attempt, "has more gray failures (%d) than failures (%d)", r.Gray, r.Attempt)
	if r.State == siding.StateReady || r.State == siding.StateLeased {
		rule(r.Attempt < p.MaxAttempts(), "goes on after attempt %d of %d", r.Attempt, p.MaxAttempts())
		rule(r.Gray <= p.GrayRetries, "goes on after gray failure %d", r.Gray)
		rule(r.Waits <= p.MaxWaits, "goes on after wait %d", r.Waits)
		rule(r.Interruptions < p.MaxInterruptions || r.Interruptions == 0, "goes on after interruption %d", r.Interruptions)
	}
	switch r.Reason {
	case siding.ReasonAttemptsExhausted:
		rule(r.Attempt >= p.MaxAttempts(), "was set aside after attempt %d of %d", r.Attempt, p.MaxAttempts())
	case siding.ReasonGrayExhausted:
		rule(r.Gray > p.GrayRetries || r.Attempt >= p.MaxAttempts(), "was set aside after gray failure %d", r.Gray)
	case siding.ReasonWaitsExhausted:
		rule(r.Waits > p.MaxWaits, "was set aside after wait %d", r.Waits)
	case siding.ReasonInterruptionsExhausted:
		rule(r.Interruptions >= p.MaxInterruptions, "was set aside after interruption %d", r.Interruptions)
	}
}

// apart: what has to be alone has a reason for it, and is out of its trials when they are over.
func (c *checker) apart(r *siding.Record, rule ruler) {
	undone := r.State == siding.StateReady || r.State == siding.StateLeased
	rule(r.SoloCrashes >= 0 && (r.SoloCrashes == 0 || r.Suspect), "has %d solo crashes, and is no suspect", r.SoloCrashes)
	rule(!undone || r.SoloCrashes < siding.MaxSoloCrashes, "goes on after solo crash %d", r.SoloCrashes)
	rule(r.Reason != siding.ReasonCrash || r.SoloCrashes >= siding.MaxSoloCrashes, "was set aside after solo crash %d", r.SoloCrashes)
	rule(r.State != siding.StateDone || !r.Suspect && !r.Alone, "is done, and to be alone")
	rule(r.State != siding.StateDead || !r.Alone, "is dead, and has a trial to come")
	rule(!r.Alone || r.Waits == c.policy.MaxWaits, "has its last trial after wait %d of %d", r.Waits, c.policy.MaxWaits)
	for _, h := range r.History {
		rule(h.Outcome != siding.OutcomeHeld || !r.HeldAt.IsZero() || h.StartedAt.Before(resetAt(r)), "was held in delivery %d, and never", h.Number)
	}
	rule(r.LastError == nil || r.LastError.Outcome != siding.OutcomeHeld || !r.HeldAt.IsZero(), "was last held, and never")
}

// history: every delivery that has ended is recorded once or counted as forgotten, and the counters say what the history
// says.
func (c *checker) history(r *siding.Record, rule ruler) {
	ended := r.Deliveries
	if r.State == siding.StateLeased {
		ended--
	}
	rule(len(r.History)+r.Forgotten == ended, "had %d deliveries that ended, and records of %d and %d forgotten",
		ended, len(r.History), r.Forgotten)
	rule(len(r.History) <= 2*siding.HistoryEnds, "has a history of %d", len(r.History))
	rule(r.Forgotten == 0 || len(r.History) == 2*siding.HistoryEnds, "has forgotten deliveries for which there was room")
	for i, h := range r.History {
		number := i + 1
		if i >= siding.HistoryEnds {
			number += r.Forgotten
		}
		rule(h.Number == number, "has delivery %d in the place of %d", h.Number, number)
		rule(!h.StartedAt.IsZero() && !h.EndedAt.Before(h.StartedAt), "delivery %d ended before it began", h.Number)
		rule(slices.Contains(siding.Outcomes(), h.Outcome), "delivery %d has the outcome %q", h.Number, h.Outcome)
		rule((h.Error == nil) == (h.Outcome == siding.OutcomeDone), "delivery %d is %s with error %v", h.Number, h.Outcome, h.Error)
		rule(h.Error == nil || h.Error.Outcome == h.Outcome, "delivery %d is %s, and its error %v", h.Number, h.Outcome, h.Error)
	}
	if r.Forgotten > 0 {
		return // what the counters should be cannot be told any more
	}
	attempt, gray := counted(r.History, resetAt(r))
	rule(r.Attempt == attempt, "has attempt %d, and its history %d deliveries that failed through it", r.Attempt, attempt)
	rule(r.Gray == gray, "has %d gray failures, and its history %d", r.Gray, gray)
}

// resetAt is when the counters were last set to 0.
func resetAt(r *siding.Record) time.Time {
	var at time.Time
	for _, v := range r.Revisions {
		switch v.Kind {
		case siding.RevisionRedriven, siding.RevisionSuperseded, siding.RevisionReasked, siding.RevisionReturned:
			at = v.At
		}
	}
	return at
}

// counted gives how many deliveries failed through the message since then, and how many of those were gray.
func counted(history []siding.DeliveryRecord, since time.Time) (attempt, gray int) {
	for _, h := range history {
		if h.StartedAt.Before(since) {
			continue
		}
		switch h.Outcome {
		case siding.OutcomeGray:
			gray++
			attempt++
		case siding.OutcomeTransient, siding.OutcomePermanent:
			attempt++
		}
	}
	return attempt, gray
}

// calls: a request that has an accepted answer is not sent again, and every answer has one verdict at most.
func (c *checker) calls(r *siding.Record, rule ruler) {
	for i, one := range r.Calls {
		rule(one.Queue == r.Queue && one.EventID == r.ID, "has the call %d of another message", one.ID)
		rule(slices.Contains(siding.Fates(), one.Fate), "call %d has the fate %q", one.ID, one.Fate)
		rule((one.Fate == siding.FateStarted) == one.EndedAt.IsZero(), "call %d is %s, and ended at %v", one.ID, one.Fate, one.EndedAt)
		rule(one.Fate == siding.FateAnswered || one.Verdict == siding.VerdictNone, "call %d is %s, and was judged", one.ID, one.Fate)
		rule(one.Fate == siding.FateAnswered || one.Cost == 0, "call %d is %s, and cost %v", one.ID, one.Fate, one.Cost)
		rule(one.Delivery >= 1 && one.Delivery <= r.Deliveries, "call %d is of delivery %d of %d", one.ID, one.Delivery, r.Deliveries)
		if one.Verdict != siding.VerdictAccepted {
			continue
		}
		for _, later := range r.Calls[i+1:] {
			rule(later.RequestHash != one.RequestHash || later.Digest != one.JudgedUnder || later.StartedAt.Before(one.EndedAt),
				"call %d sent the request again that call %d has an accepted answer to", later.ID, one.ID)
		}
	}
}

// texts: whatever came from outside is safe to show.
func (c *checker) texts(r *siding.Record, rule ruler) {
	safe := func(what, text string, limit int) {
		rule(text == siding.Scrub(text, limit), "has an unsafe %s", what)
	}
	errs := []*siding.LastError{r.LastError}
	for _, h := range r.History {
		errs = append(errs, h.Error)
		safe("worker's name", h.Worker, siding.MaxHeader)
	}
	for _, one := range r.Calls {
		errs = append(errs, one.Error)
		safe("lane", one.Lane, siding.MaxHeader)
		safe("request ID", one.RequestID, siding.MaxHeader)
	}
	for _, e := range errs {
		if e != nil {
			safe("error text", e.Text, siding.MaxErrorText)
			safe("request ID", e.RequestID, siding.MaxHeader)
		}
	}
	for name, value := range r.Headers {
		safe("header", name, siding.MaxHeader)
		safe("header", value, siding.MaxHeader)
	}
	safe("reason", r.DiscardReason, siding.MaxHeader)
}

// count adds a message to what its queue's statistics should be.
func (c *checker) count(r *siding.Record) {
	q := c.queues[r.Queue]
	if q == nil {
		q = &siding.QueueStats{Queue: r.Queue}
		c.queues[r.Queue] = q
	}
	switch r.State {
	case siding.StateReady:
		q.Ready++
		if r.Attempt > 0 {
			q.Retrying++
		}
		if r.WaitsFor != "" {
			countWaiting(q, r.WaitsFor)
		}
	case siding.StateLeased:
		q.Leased++
	case siding.StateDone:
		q.Done++
	case siding.StateDead:
		q.Dead++
		if r.LastError != nil {
			c.dead[siding.GroupKey{Queue: r.Queue, Fingerprint: r.LastError.Fingerprint}]++
		}
	case siding.StateDiscarded:
		q.Discarded++
	}
	for _, one := range r.Calls {
		q.Calls++
		switch {
		case one.Maybe():
			q.UnknownCalls++
			if one.Priced {
				q.UnknownMax = q.UnknownMax.Add(one.WorstCost)
			}
		case one.Fate == siding.FateAnswered && !one.Priced:
			q.UnpricedCalls++
		default:
			q.Cost = q.Cost.Add(one.Cost)
		}
	}
}

// stats: what a queue is said to hold is what its messages and their calls add up to.
func (c *checker) stats(ctx context.Context, store siding.Store, queue string) {
	all, err := store.Stats(ctx, queue)
	if err != nil {
		c.broken("", "", "the statistics cannot be read: %v", err)
		return
	}
	for _, got := range all {
		want := siding.QueueStats{Queue: got.Queue}
		if q := c.queues[got.Queue]; q != nil {
			want = *q
		}
		var grouped int64
		for _, g := range got.Causes {
			grouped += g.Count
		}
		if grouped != got.Dead {
			c.broken(got.Queue, "", "%d dead letters are grouped by cause, of %d", grouped, got.Dead)
		}
		// These depend on the time, or cannot be told from the messages.
		got.Delayed, got.OldestReady, got.StaleSettles, got.Causes = 0, time.Time{}, 0, nil
		if !reflect.DeepEqual(got, want) { // not by their texts, in which money is rounded
			c.broken(got.Queue, "", "the statistics are %#v, and the messages add up to %#v", got, want)
		}
		delete(c.queues, got.Queue)
	}
	for name, q := range c.queues {
		c.broken(name, "", "has %+v and no statistics", *q)
	}
}
