package memory

import (
	"context"
	"slices"

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
			out[i].Decision = x.end(m, one)
			x.put(m)
			for _, j := range one.Judged {
				x.judge(m.number, j)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// end applies [siding.Route] to a leased message, records the delivery, and gives the message the body that superseded it
// meanwhile.
func (x *tx) end(m *message, s siding.Settlement) siding.Decision {
	d := siding.Route(m.Message, s.Failure, s.Policy, x.now, s.Rand)
	d.AvailableAt = roundUp(d.AvailableAt)

	failed := s.Failure.Stored()
	if failed != nil {
		failed.Outcome = d.Outcome
	}
	x.record(m, d.Outcome, failed, s.Digest)

	m.State, m.AvailableAt = d.State, d.AvailableAt
	m.Attempt, m.Gray, m.Waits, m.Interruptions = d.Attempt, d.Gray, d.Waits, d.Interruptions
	// An interruption says nothing of the message: it leaves the last error, and a suspicion, as they were.
	if d.Outcome != siding.OutcomeInterrupted {
		m.Suspect = false
	}
	m.Suspect = m.Suspect || d.Suspect
	if failed != nil && (d.Outcome != siding.OutcomeInterrupted || d.State == siding.StateDead) {
		m.LastError = failed
	}
	switch d.State {
	case siding.StateDone:
		m.result, m.Digest = copied(s.Result), siding.Scrub(s.Digest, siding.MaxHeader)
	case siding.StateDead:
		m.DeadAt, m.Reason = x.now, d.Reason
	}
	x.advance(m)
	return d
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

// redrive returns a dead message to its queue.
func (x *tx) redrive(m *message) {
	note := "was set aside"
	if m.LastError != nil {
		note = string(m.Reason) + ", " + string(m.LastError.Cause)
	}
	m.revise(siding.Revision{At: x.now, Kind: siding.RevisionRedriven, Note: note})
	m.Message = siding.Redrive(m.Message, x.now)
	x.put(m)
}
