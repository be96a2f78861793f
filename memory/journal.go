package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// StartCall asks to send a request; see [siding.Journal].
func (s *Store) StartCall(ctx context.Context, r siding.CallRequest) (siding.CallStart, error) {
	var out siding.CallStart
	err := s.write(ctx, "StartCall", func(x *tx) error {
		m, err := x.held(r.Token)
		if err != nil {
			return err
		}
		r.Digest = siding.Scrub(r.Digest, siding.MaxHeader)
		for _, id := range r.Rejected {
			x.judge(m.number, siding.Judgement{Call: id, Digest: r.Digest})
		}
		if c := x.answerFor(m, r); c != nil {
			shown := shownCall(c)
			out = siding.CallStart{Answer: &shown, Body: copied(c.answer)}
			return nil
		}
		if out.BusyUntil = x.busyUntil(m, r); !out.BusyUntil.IsZero() {
			return nil
		}
		out.Unknown = x.unknown(m, r)
		if out.Unknown > 0 && r.OnUnknown == siding.UnknownQuarantine {
			return nil
		}
		if out.Spent, out.Held = x.overBudget(m.Queue, r); out.Held {
			return nil
		}
		out.Call = x.start(m, r)
		return nil
	})
	if err != nil {
		return siding.CallStart{}, err
	}
	return out, nil
}

// callsFor gives the calls made for a message, oldest first.
func (x *tx) callsFor(number int64) []*call {
	var out []*call
	for _, id := range x.callsOf[number] {
		out = append(out, x.calls[id])
	}
	return out
}

// answerFor gives the best answer that the journal has for a request, or nil: an accepted one before an unjudged one
// before one judged under another digest; the same request before the same question; the latest first.
func (x *tx) answerFor(m *message, r siding.CallRequest) *call {
	var best *call
	bestRank := 0
	for _, c := range x.callsFor(m.number) {
		same := c.RequestHash == r.RequestHash
		if c.Fate != siding.FateAnswered || !same && (r.AskHash == siding.Hash{} || c.AskHash != r.AskHash) {
			continue
		}
		var rank int
		switch {
		case c.Verdict == siding.VerdictAccepted:
			rank = 6
		case c.Verdict == siding.VerdictNone:
			rank = 4
		case c.JudgedUnder != r.Digest:
			rank = 2
		default:
			continue
		}
		if same {
			rank++
		}
		if rank >= bestRank {
			best, bestRank = c, rank
		}
	}
	return best
}

// busyUntil gives the deadline until which the same request is under way in a process that lives.
func (x *tx) busyUntil(m *message, r siding.CallRequest) time.Time {
	var until time.Time
	for _, c := range x.callsFor(m.number) {
		if c.RequestHash == r.RequestHash && c.Fate == siding.FateStarted && x.fate(c.proc) == "" &&
			c.Deadline.After(x.now) && c.Deadline.After(until) {
			until = c.Deadline
		}
	}
	return until
}

// unknown counts the earlier calls of a request that may have been billed.
func (x *tx) unknown(m *message, r siding.CallRequest) (n int) {
	for _, c := range x.callsFor(m.number) {
		if c.RequestHash == r.RequestHash && c.Maybe() {
			n++
		}
	}
	return n
}

// overBudget tells whether a call could exceed its budget, and then what the queue's calls have cost at most.
func (x *tx) overBudget(queue string, r siding.CallRequest) (siding.Money, bool) {
	if r.Budget <= 0 {
		return 0, false
	}
	var sum bill
	x.each(queue, func(m *message) {
		for _, c := range x.callsFor(m.number) {
			sum.add(c)
		}
	})
	spent := sum.cost.Add(sum.unknownMax)
	next := spent
	if r.Priced {
		next = next.Add(r.WorstCost)
	}
	if next <= r.Budget {
		return 0, false
	}
	return spent, true
}

func (x *tx) start(m *message, r siding.CallRequest) siding.CallID {
	x.lastCall++
	c := &call{proc: x.proc}
	c.Call = siding.Call{
		ID: x.lastCall, Queue: m.Queue, EventID: m.ID, Delivery: m.Deliveries,
		RequestHash: r.RequestHash, AskHash: r.AskHash, Digest: r.Digest, Lane: siding.Scrub(r.Lane, siding.MaxHeader),
		StartedAt: x.now, Deadline: roundUp(x.now.Add(r.Deadline)), Fate: siding.FateStarted,
		OutputLimit: r.OutputLimit, WorstCost: r.WorstCost, Priced: r.Priced,
	}
	set(x, x.calls, c.ID, c)
	set(x, x.callsOf, m.number, append(slices.Clip(x.callsOf[m.number]), c.ID))
	return c.ID
}

// giveUp ends a call of which nobody will say how it ended.
func (x *tx) giveUp(c *call) {
	d := *c
	d.Fate, d.EndedAt = siding.FateUnknown, x.now
	set(x, x.calls, d.ID, &d)
}

// judge writes the verdict on an answer to a message.
func (x *tx) judge(number int64, j siding.Judgement) {
	c := x.calls[j.Call]
	if c == nil || c.Fate != siding.FateAnswered || !slices.Contains(x.callsOf[number], j.Call) {
		return
	}
	d := *c
	d.Verdict, d.JudgedUnder, d.JudgedCause = siding.VerdictRejected, siding.Scrub(j.Digest, siding.MaxHeader), j.Cause
	if j.Accepted {
		d.Verdict, d.JudgedCause = siding.VerdictAccepted, ""
	}
	set(x, x.calls, d.ID, &d)
}

// EndCall records how a call ended; see [siding.Journal].
func (s *Store) EndCall(ctx context.Context, e siding.CallEnd) error {
	if !slices.Contains(siding.Fates(), e.Fate) || e.Fate == siding.FateStarted {
		return fmt.Errorf("end of call %d: %q is no fate that a call can end with", e.Call, siding.Scrub(string(e.Fate), 64))
	}
	return s.write(ctx, "EndCall", func(x *tx) error {
		c := x.calls[e.Call]
		if c == nil {
			return fmt.Errorf("call %d: %w", e.Call, siding.ErrNotFound)
		}
		late := c.Fate == siding.FateUnknown && e.Fate == siding.FateAnswered
		if c.Fate != siding.FateStarted && !late {
			return nil
		}
		d := *c
		d.Fate, d.EndedAt, d.Status, d.RequestID = e.Fate, x.now, e.Status, siding.Scrub(e.RequestID, 256)
		d.Usage, d.Error = e.Usage, e.Failure.Stored()
		if e.Fate == siding.FateAnswered {
			d.answer, d.Cost, d.Priced = append([]byte{}, e.Answer...), e.Cost, e.Priced
		}
		set(x, x.calls, d.ID, &d)
		return nil
	})
}

// Calls lists the calls made for a message; see [siding.Journal].
func (s *Store) Calls(ctx context.Context, queue, id string) ([]siding.Call, error) {
	var out []siding.Call
	err := s.read(ctx, func(x *tx) error {
		out = x.shownCalls(x.numbers[key{queue, id}])
		return nil
	})
	return out, err
}

// Answer gives the raw bytes of a call's answer; see [siding.Journal].
func (s *Store) Answer(ctx context.Context, id siding.CallID) ([]byte, error) {
	var out []byte
	err := s.read(ctx, func(x *tx) error {
		c := x.calls[id]
		if c == nil || c.answer == nil {
			return fmt.Errorf("answer of call %d: %w", id, siding.ErrNotFound)
		}
		out = copied(c.answer)
		return nil
	})
	return out, err
}

func (x *tx) shownCalls(number int64) []siding.Call {
	var out []siding.Call
	for _, c := range x.callsFor(number) {
		out = append(out, shownCall(c))
	}
	return out
}

func shownCall(c *call) siding.Call {
	d := c.Call
	d.Error = shownError(c.Error)
	return d
}
