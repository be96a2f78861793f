package worker

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/storetest"
)

// The ledger is the model that histories are held against: what may happen to one message in one write, and what must be
// true of everything at the end. It knows nothing of how the engine does it.
type ledger struct {
	h      *history
	seen   map[string]siding.Message // as the last write left them
	solo   map[string]int            // how often a process died around each while it was leased alone
	byHand map[string]int            // how often an operator redrove each
	last   time.Time                 // the latest that the store's clock has said
}

func newLedger(h *history) ledger {
	return ledger{h: h, seen: map[string]siding.Message{}, solo: map[string]int{}, byHand: map[string]int{}}
}

// look compares every message with what it was before the write.
func (l *ledger) look(p *simProc, op string) {
	if l.h.over {
		return
	}
	now, err := l.h.db.Now(context.Background())
	if err != nil || !now.After(l.last) {
		l.h.breaks("after %s the store's clock says %v, and said %v before (rule 5): %v", op, now, l.last, err)
		return
	}
	l.last = now
	n := 0
	for m, err := range l.h.db.List(context.Background(), siding.Selection{}) {
		n++
		if err != nil {
			l.h.breaks("after %s, a message cannot be read: %v", op, err)
			return
		}
		was, known := l.seen[m.ID]
		if known {
			if why := l.forbids(was, m.Message, op); why != "" {
				l.h.breaks("%s of %s made %s what it must not be: %s\nwas %+v\nis  %+v", op, nameOf(p), m.ID, why, was, m.Message)
				return
			}
		}
		if known && m.Redrives > was.Redrives && (op == "redrive" || op == "Return") {
			l.byHand[m.ID]++
		}
		l.seen[m.ID] = m.Message
	}
	if n != len(l.seen) {
		l.h.breaks("after %s there are %d messages, and there were %d (rule 15)", op, n, len(l.seen))
	}
}

// dies notes around which message a process dies.
func (l *ledger) dies(p *simProc) {
	var mine []string
	for id, m := range l.seen {
		if m.State != siding.StateLeased {
			continue
		}
		if r, err := l.h.db.Get(context.Background(), simQueue, id); err == nil && r.Worker == p.name {
			mine = append(mine, id)
		}
	}
	if len(mine) == 1 {
		l.solo[mine[0]]++
	}
}

func nameOf(p *simProc) string {
	if p == nil {
		return "the operator"
	}
	return p.name
}

// sendsBack are the operations that redrive.
var sendsBack = []string{"redrive", "Return", "ReturnMembers", "ReturnNext"}

// forbids says which rule a change breaks; empty: none.
func (l *ledger) forbids(was, is siding.Message, op string) string {
	up := is.Attempt - was.Attempt
	switch {
	case was.ID != is.ID || was.Queue != is.Queue || !was.ReceivedAt.Equal(is.ReceivedAt):
		return "its identity has changed"
	case is.Deliveries < was.Deliveries || is.Deliveries > was.Deliveries+1:
		return "its deliveries do not count by one"
	case is.Deliveries > was.Deliveries && op != "Lease":
		return "it was delivered by something other than a lease"
	case is.Redrives != was.Redrives && (!slices.Contains(sendsBack, op) || is.Redrives != was.Redrives+1 || was.State != siding.StateDead):
		return "it was redriven without anybody's doing"
	case was.State == siding.StateDone && is.State != siding.StateDone:
		return "it was done, and is not any more (rule 1)"
	case was.State == siding.StateDiscarded && is.State != siding.StateDiscarded:
		return "it was given up, and is not any more"
	case is.State == siding.StateDone && was.State != siding.StateLeased && was.State != siding.StateDone:
		return "it is done without a delivery"
	case slices.Contains(sendsBack, op):
		if was.State != is.State && (is.Attempt != 0 || is.Waits != 0 || is.Interruptions != 0 || is.LastError != nil) {
			return "a redrive did not reset it (rule 3)"
		}
		return ""
	case op == "Resume", (op == "Settle" || op == "Lease") && is.Deliveries == was.Deliveries && was.State != siding.StateLeased:
		// A hold takes members of a streak back, or convicts them (a lease does when nobody is left to probe with): the
		// attempt goes by what is relabelled.
		return l.forbidsRelabelling(was, is, up)
	case up < 0 || up > 1:
		return "its attempt does not count by one (rule 1)"
	case up == 1 && (op != "Settle" || was.State != siding.StateLeased):
		return "an attempt was counted by something other than the end of a delivery (rule 1)"
	case was.State == siding.StateDead && is.State != siding.StateDead && op != "discard":
		return "it left the quarantine without anybody's doing (rule 15)"
	case was.State == siding.StateReady && is.State == siding.StateDead && op != "Enqueue":
		return "it was set aside without a delivery"
	case is.State == siding.StateReady && is.Attempt >= l.h.world.policy.MaxAttempts():
		return "it is back in the queue at its limit (rule 2)"
	case was.State == siding.StateLeased && is.State == siding.StateReady && is.LastError != nil && up == 1 &&
		is.LastError.Outcome != siding.OutcomeTransient && is.LastError.Outcome != siding.OutcomeGray:
		return "a failure that counts and is neither transient nor gray went back to the queue (rule 2)"
	}
	return ""
}

func (l *ledger) forbidsRelabelling(was, is siding.Message, up int) string {
	switch {
	case up < -1 && is.State != siding.StateReady || up > 1:
		return "a take-back or a conviction changed its attempt by more than its deliveries (rule 1)"
	case was.State == siding.StateDead && is.State == siding.StateReady && was.Redrives > 0:
		return "a hold took back a relapse after a redrive"
	}
	return ""
}

// finish does the accounts.
func (h *history) finish() {
	if h.broken != "" {
		return
	}
	ctx := context.Background()
	if err := storetest.CheckInvariants(ctx, h.db, "", h.world.policy); err != nil {
		h.breaks("at the end: %v", err)
		return
	}
	for v, err := range h.db.Check(ctx) {
		h.breaks("at the end the store complains: %v %v", v, err)
		return
	}
	for l, err := range h.db.List(ctx, siding.Selection{}) {
		if err != nil {
			h.breaks("at the end: %v", err)
			return
		}
		if why := h.ledger.unjust(l.Message); why != "" {
			h.breaks("at the end %s is %s (%s): %s; last error %+v", l.ID, l.State, l.Reason, why, l.LastError)
			return
		}
		h.cover.count("end " + kind(l.ID) + " " + string(l.State) + " " + string(l.Reason))
	}
	h.accountCampaigns()
	h.money()
}

// unjust says why a message must not have ended as it has; empty: it may have.
func (l *ledger) unjust(m siding.Message) string {
	if m.State == siding.StateDiscarded || m.Reason == siding.ReasonInterruptionsExhausted {
		return "" // anybody may have been interrupted too often
	}
	if m.State != siding.StateDone && m.State != siding.StateDead {
		return "it never came to an end"
	}
	var cause siding.Cause
	if m.LastError != nil {
		cause = m.LastError.Cause
	}
	if m.State == siding.StateDone {
		r, err := l.h.db.Get(context.Background(), simQueue, m.ID)
		if err != nil || !bytes.HasPrefix(r.Result, []byte(`{"tag":"`)) {
			return "it is done without what was asked for (rule 13)"
		}
	}
	dead := m.State == siding.StateDead
	switch kind(m.ID) {
	case natureFine, natureFlaky, natureCut, natureStall, natureLong:
		// Innocent: it may only have run out of what the faults of the service cost it.
		may := []siding.Reason{siding.ReasonAttemptsExhausted, siding.ReasonUnknownCall, siding.ReasonWaitsExhausted}
		if kind(m.ID) == natureLong {
			may = append(may, siding.ReasonGrayExhausted)
		}
		if l.solo[m.ID] >= siding.MaxSoloCrashes {
			may = append(may, siding.ReasonCrash) // nobody can know that it was not at fault
		}
		if dead && !slices.Contains(may, m.Reason) {
			return "it is innocent"
		}
	case natureRefused:
		if !dead || cause != siding.CauseRefused && m.Reason == siding.ReasonPoison {
			return "it is refused each time"
		}
	case natureOff:
		if !dead || cause != siding.CauseSchemaMismatch && m.Reason == siding.ReasonPoison {
			return "its answers never fit"
		}
	case natureBroken, natureBytes:
		if m.Redrives > 0 && (!dead || cause == siding.CauseRefused || m.Reason != siding.ReasonPoison) {
			return "" // it was mended
		}
		if kind(m.ID) == natureBytes {
			if !dead || cause != siding.CauseInvalidUTF8 {
				return "it is not UTF-8"
			}
			break
		}
		if !dead || cause != siding.CauseInvalidJSON {
			return "it is not JSON"
		}
	case natureLacking:
		if !dead || cause != siding.CauseTemplate {
			return "it lacks a field"
		}
	case naturePanic:
		if !dead || cause != siding.CauseHandlerPanic {
			return "its handler panics"
		}
	case natureKiller:
		if !dead || m.Reason != siding.ReasonCrash {
			return "it kills"
		}
	}
	return ""
}

// money compares the journal with the meter of the service.
func (h *history) money() {
	ctx := context.Background()
	stats, err := h.db.Stats(ctx, simQueue)
	if err != nil || len(stats) != 1 {
		h.breaks("at the end: %v", err)
		return
	}
	s, meter := stats[0], h.service.Meter()
	bill := siding.Money(meter.Totals.CostPico)
	if s.Cost > bill || bill > s.Cost.Add(s.UnknownMax) || s.UnknownCalls == 0 && s.Cost != bill {
		h.breaks("the journal says %v and %v unknown at most (%d calls), the bill says %v", s.Cost, s.UnknownMax, s.UnknownCalls, bill)
		return
	}
	unknown := map[string]int64{}
	for l := range h.db.List(ctx, siding.Selection{}) {
		calls, err := h.db.Calls(ctx, simQueue, l.ID)
		if err != nil {
			h.breaks("at the end: %v", err)
			return
		}
		for _, c := range calls {
			if c.Fate == siding.FateStarted || c.Fate == siding.FateUnknown {
				unknown[hexOf(c.RequestHash)]++
			}
		}
	}
	for _, row := range meter.Rows {
		if row.PaidAgain > unknown[row.Hash] {
			h.breaks("%s: an answer that had come was paid for again %d times, with %d calls of unknown fate (rule 10)", row.Event, row.PaidAgain, unknown[row.Hash])
			return
		}
	}
}

func hexOf(hash siding.Hash) string { return hex.EncodeToString(hash[:]) }
