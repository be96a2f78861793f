package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/siding-dev/siding"
)

// Check looks for rows that break a rule; see [siding.Operator].
func (s *Store) Check(ctx context.Context) iter.Seq2[siding.Violation, error] {
	return func(yield func(siding.Violation, error) bool) {
		var found []siding.Violation
		err := s.read(ctx, func(x *tx) error {
			x.each("", func(m *message) { found = append(found, x.check(m)...) })
			return nil
		})
		if err != nil {
			yield(siding.Violation{}, err)
			return
		}
		for _, v := range found {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// check gives every rule that a message breaks.
func (x *tx) check(m *message) []siding.Violation {
	var out []siding.Violation
	rule := func(kept bool, name, text string) {
		if !kept {
			out = append(out, siding.Violation{Rule: name, Queue: m.Queue, ID: m.ID, Text: text})
		}
	}
	leased, dead, done := m.State == siding.StateLeased, m.State == siding.StateDead, m.State == siding.StateDone

	rule(slices.Contains(siding.States(), m.State), "state-unknown", "its state is none that a message can be in")
	rule(x.numbers[key{m.Queue, m.ID}] == m.number, "id-lost", "it cannot be found by its event ID")
	rule(leased == (m.lease.nonce != 0), "lease-mismatch", "a message has a lease exactly while it is leased")
	rule((m.State == siding.StateReady) == !m.AvailableAt.IsZero(), "ready-unavailable",
		"a message has a time from which it may be leased exactly while it is ready")
	rule(dead == (m.Reason != "") && dead == !m.DeadAt.IsZero() && (!dead || m.LastError != nil), "dead-incomplete",
		"a message has a reason and a time of being set aside exactly while it is dead, and then a last error too")
	rule(done || m.result == nil && m.Digest == "", "result-without-answer", "only a done message has a result")
	rule(leased || m.next == nil, "superseding-body-waits", "only a leased message has another body waiting")

	rule(min(m.Attempt, m.Gray, m.Waits, m.Interruptions, m.Redrives) >= 0 && m.Gray <= m.Attempt &&
		m.Attempt+m.Interruptions <= m.Deliveries, "counters", "its counters do not fit its deliveries")

	waits := m.State == siding.StateReady && m.WaitsFor != ""
	rule(waits == m.AvailableAt.Equal(siding.Never), "waiting-mismatch",
		"it waits for the result of another queue exactly while it may never be leased")
	rule(m.WaitsFor == "" || x.follows(m), "waiting-for-nothing",
		"it waits for the result of another queue, and its copy there is not worked; or it was set aside because of its copy, and that was not")
	for _, n := range x.copies[m.number] {
		c := x.messages[n]
		rule(c != nil && c.ID == m.ID && c.Queue != m.Queue && slices.Contains(x.originsOf[n], m.number), "copy-of-nothing",
			"a copy is of a message that does not exist, or has another event ID, or is in its own queue")
	}

	rule(!m.NoBody || m.Body == nil && (dead || done || m.State == siding.StateDiscarded), "body-needed",
		"it is to be worked, and its body has been dropped; or it has one, and that was dropped")
	rule(!dead || m.LastError == nil || x.groups[siding.GroupKey{Queue: m.Queue, Fingerprint: m.LastError.Fingerprint}].Arrived > 0, "group-mismatch",
		"it is dead, and arrived in no group")

	ended := m.Deliveries
	if leased {
		ended--
	}
	rule(len(m.history) <= 2*siding.HistoryEnds && len(m.history)+m.forgotten == ended, "history",
		"its history does not have each delivery once")

	rule((m.SoloCrashes == 0 || m.Suspect) && m.SoloCrashes >= 0 && (m.SoloCrashes < siding.MaxSoloCrashes || dead || m.State == siding.StateDiscarded) &&
		(m.Reason != siding.ReasonCrash || m.SoloCrashes >= siding.MaxSoloCrashes) && (!done || !m.Suspect && !m.Alone) && (!dead || !m.Alone),
		"suspect-impossible", "what it says of the processes that died around it, or of its last trial, cannot be")
	if e := m.LastError; e != nil && e.Outcome == siding.OutcomeHeld {
		rule(!m.HeldAt.IsZero(), "held-never", "it was held, and says that it never was")
	}
	for _, h := range m.history {
		rule(h.Error == nil || h.Error.Outcome == h.Outcome, "relabelled-half", "a delivery and its error have different outcomes")
	}

	for _, c := range x.callsFor(m.number) {
		rule((c.Fate == siding.FateStarted) == c.EndedAt.IsZero(), "call-end", "a call has an end exactly when it is not under way")
		rule(c.Fate == siding.FateAnswered || c.answer == nil && c.Verdict == siding.VerdictNone, "verdict-without-answer",
			"only an answered call has an answer and a verdict")
	}
	return out
}
