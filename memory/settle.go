package memory

import (
	"context"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// Settle ends deliveries; see [siding.Queue].
func (s *Store) Settle(ctx context.Context, list ...siding.Settlement) ([]siding.Settled, error) {
	out := make([]siding.Settled, len(list))
	err := s.write(ctx, "Settle", func(x *tx) error {
		for i, one := range list {
			m, err := x.held(one.Token)
			if err != nil {
				out[i].Err = err
				if m := x.messages[one.Token.Message]; m != nil {
					set(x, x.stale, m.Queue, x.stale[m.Queue]+1)
				}
				continue
			}
			gates, err := x.watched(one.Gates)
			if err != nil {
				return err
			}
			failure, effects := gates.Observe(m.observed(one), x.now, one.Rand)
			one.Failure = x.forward(m, failure)
			out[i] = siding.Settled{Decision: x.end(m, one), Failure: one.Failure}
			x.put(m)
			for _, j := range one.Judged {
				x.judge(m.number, j)
			}
			x.apply(effects, one.Policy, one.Rand)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// observed gives a delivery as gates see it.
func (m *message) observed(s siding.Settlement) siding.Observed {
	return siding.Observed{
		Token: s.Token, Delivery: m.Deliveries, Started: m.lease.started, Attempt: m.Attempt, Redrives: m.Redrives,
		HeldAt: m.HeldAt, Failure: s.Failure, NoCall: s.NoCall, OtherLane: s.OtherLane,
	}
}

// end applies [siding.Route] to a leased message, records the delivery, and gives the message the body that superseded it
// meanwhile.
func (x *tx) end(m *message, s siding.Settlement) siding.Decision {
	d := siding.Route(m.Message, s.Failure, s.Policy, x.now, s.Rand)
	failed := s.Failure.Stored()
	if failed != nil {
		failed.Outcome = d.Outcome
	}
	if d.WaitsFor != "" && m.next != nil { // the body that takes its place was not forwarded
		d.WaitsFor, d.AvailableAt = "", x.now
	}
	x.record(m, d.Outcome, failed, s.Digest)
	m.route(d, x.now)
	d.AvailableAt = m.AvailableAt
	// An interruption says nothing of the message: it leaves the last error as it was.
	if failed != nil && (d.Outcome != siding.OutcomeInterrupted || d.State == siding.StateDead) {
		m.LastError = failed
	}
	if d.State == siding.StateDone {
		m.result, m.Digest = copied(s.Result), siding.Scrub(s.Digest, siding.MaxHeader)
	}
	x.ended(m)
	if m.next != nil {
		x.advance(m)
	} else {
		x.tellOrigins(m, s.Then)
	}
	return d
}

// route writes where a message goes.
func (m *message) route(d siding.Decision, now time.Time) {
	m.State, m.AvailableAt = d.State, roundUp(d.AvailableAt)
	m.Attempt, m.Gray, m.Waits, m.Interruptions = d.Attempt, d.Gray, d.Waits, d.Interruptions
	m.Suspect, m.SoloCrashes, m.Alone = d.Suspect, d.SoloCrashes, d.Alone
	m.WaitsFor = d.WaitsFor
	if d.Outcome == siding.OutcomeHeld {
		m.HeldAt = now
	}
	if d.State == siding.StateDead {
		m.DeadAt, m.Reason = now, d.Reason
	}
}

// advance gives a message whose lease has just ended the body that superseded it meanwhile.
func (x *tx) advance(m *message) {
	if n := m.next; n != nil {
		m.next = nil
		x.supersede(m, *n)
	}
}

// record ends the lease and writes the delivery into the history, which keeps its first and its last entries.
func (x *tx) record(m *message, o siding.Outcome, failed *siding.LastError, digest string) {
	m.history = append(slices.Clip(m.history), siding.DeliveryRecord{
		Number: m.Deliveries, StartedAt: m.lease.started, EndedAt: x.now, Worker: m.lease.worker, Outcome: o,
		Digest: siding.Scrub(digest, siding.MaxHeader), Error: failed,
	})
	if len(m.history) > 2*siding.HistoryEnds {
		m.history = slices.Delete(m.history, siding.HistoryEnds, siding.HistoryEnds+1)
		m.forgotten++
	}
	m.lease = lease{}
}
