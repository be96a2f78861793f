package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// Settle ends deliveries; see [siding.Queue].
func (s *Store) Settle(ctx context.Context, list ...siding.Settlement) ([]siding.Settled, error) {
	if len(list) == 0 {
		return nil, ctx.Err()
	}
	bytes := 0
	for i := range list {
		bytes += len(list[i].Result) + 256
	}
	var out []siding.Settled
	err := s.write(ctx, "settle", bytes, func(t *tx) (err error) {
		out = make([]siding.Settled, len(list))
		for i := range list {
			if out[i], err = t.settle(list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) settle(s siding.Settlement) (siding.Settled, error) {
	s.Digest = siding.Scrub(s.Digest, siding.MaxHeader)
	if s.Failure == nil {
		settled, ok, err := t.done(s)
		if ok || err != nil {
			return settled, err
		}
	}
	var m stored
	found, err := t.one(func(r *row) { m = r.message() }, "SELECT "+messageColumns+" FROM messages m WHERE m.id = ?", s.Token.Message)
	if err != nil {
		return siding.Settled{}, err
	}
	if !found || !m.heldBy(s.Token) {
		if found {
			_, err = t.exec("UPDATE queues SET stale_settles = stale_settles + 1 WHERE id = ?", m.queue)
		}
		return siding.Settled{Err: fmt.Errorf("settle: %w", siding.ErrStaleLease)}, err
	}
	o, err := t.observe(&m, s)
	if err != nil {
		return siding.Settled{}, err
	}
	if s.Failure, err = t.forward(&m, o.failure); err != nil {
		return siding.Settled{}, err
	}
	d, err := t.finish(&m, s)
	if err == nil {
		err = t.apply(o.effects, s.Policy, s.Rand)
	}
	return siding.Settled{Decision: d, Failure: s.Failure}, err
}

// heldBy tells whether the token is that of the message's current lease.
func (m *stored) heldBy(token siding.LeaseToken) bool {
	return m.State == siding.StateLeased && m.nonce == token.Nonce && token.Nonce != 0
}

// done is the common end, in as few and as small statements as it takes: a delivery that succeeded, of a message to which
// nothing has happened before, with nothing waiting for it. It does nothing, and says so, when it is not that. (An UPDATE with RETURNING would be one statement less, and
// takes longer than both.)
func (t *tx) done(s siding.Settlement) (siding.Settled, bool, error) {
	m := stored{id: s.Token.Message, nonce: s.Token.Nonce}
	m.State = siding.StateLeased
	found, err := t.one(func(r *row) {
		m.queue, m.hasInput, m.Deliveries, m.leaseStarted, m.worker = r.int(0), !r.null(1), r.counter(2), r.time(3), r.str(4)
	}, `SELECT queue, input, deliveries, lease_started, worker FROM messages WHERE id = ? AND state = 'leased' AND lease_nonce = ?
		AND lease_nonce <> 0 AND pending = 0 AND turn = 0 AND gray = 0 AND waits = 0 AND interruptions = 0 AND redrives = 0
		AND held_at IS NULL AND copy = 0`, m.id, m.nonce)
	if err != nil || !found {
		return siding.Settled{}, false, err
	}
	o, err := t.observe(&m, s)
	if err != nil {
		return siding.Settled{}, true, err
	}
	d := siding.Route(m.Message, nil, s.Policy, fromMicros(t.now), s.Rand)
	err = t.guarded("UPDATE messages SET state = 'done', digest = ?, lease_nonce = 0 WHERE id = ? AND state = 'leased' AND lease_nonce = ?",
		text(s.Digest), m.id, m.nonce)
	if err != nil {
		return siding.Settled{}, true, err
	}
	was := m.standing()
	m.State, m.Digest = siding.StateDone, s.Digest
	if err := t.record(&m, d, s, nil); err != nil {
		return siding.Settled{}, true, err
	}
	if err := t.move(m.id, m.queue, m.hasInput, was, m.standing()); err != nil {
		return siding.Settled{}, true, err
	}
	return siding.Settled{Decision: d}, true, t.apply(o.effects, s.Policy, s.Rand)
}

// finish ends the delivery of a leased message: it decides, and writes the decision, the history, the result and the
// verdicts. m is what the message was, and becomes what it is.
func (t *tx) finish(m *stored, s siding.Settlement) (siding.Decision, error) {
	was, now := m.standing(), fromMicros(t.now)
	d := siding.Route(m.Message, s.Failure, s.Policy, now, s.Rand)
	e := s.Failure.Stored()
	if e != nil {
		e.Outcome = d.Outcome
	}
	if d.WaitsFor != "" && m.pending { // the body that takes its place was not forwarded
		d.WaitsFor, d.AvailableAt = "", now
	}
	d.AvailableAt = roundUp(d.AvailableAt)
	m.route(d, now)
	if d.State == siding.StateDone {
		m.Digest = s.Digest
	}
	if e != nil && (d.Outcome != siding.OutcomeInterrupted || d.State == siding.StateDead) {
		m.cause, m.fingerprint = string(e.Cause), e.Fingerprint
		if err := t.setError(m.id, e); err != nil {
			return d, err
		}
	}
	err := t.place(m, siding.StateLeased, `lease_nonce = 0, cause = ?, fingerprint = ?, digest = ?, waits_for = ?`,
		text(m.cause), text(m.fingerprint), text(m.Digest), text(m.WaitsFor))
	if err != nil {
		return d, err
	}
	if err := t.record(m, d, s, e); err != nil {
		return d, err
	}
	if err := t.move(m.id, m.queue, m.hasInput, was, m.standing()); err != nil {
		return d, err
	}
	if err := t.ended(m); err != nil {
		return d, err
	}
	if m.pending {
		return d, t.takePending(m)
	}
	if m.State == siding.StateDead {
		if err := t.arrive(m.queue, m.ID, e); err != nil {
			return d, err
		}
	}
	return d, t.tellOrigins(m, s.Then, s.Result)
}

// route takes over a decision.
func (m *stored) route(d siding.Decision, now time.Time) {
	m.State, m.AvailableAt = d.State, roundUp(d.AvailableAt)
	m.Attempt, m.Gray, m.Waits, m.Interruptions = d.Attempt, d.Gray, d.Waits, d.Interruptions
	m.Suspect, m.SoloCrashes, m.Alone = d.Suspect, d.SoloCrashes, d.Alone
	m.DeadAt, m.Reason, m.WaitsFor = time.Time{}, "", d.WaitsFor
	if d.State == siding.StateDead {
		m.DeadAt, m.Reason = now, d.Reason
	}
	if d.Outcome == siding.OutcomeHeld {
		m.HeldAt = now
	}
}

// place writes where a message is and its counters, for one that was in a state and whose latest delivery is still the
// same; more are other columns to set.
func (t *tx) place(m *stored, was siding.State, more string, args ...any) error {
	at := m.AvailableAt
	if at.IsZero() {
		at = fromMicros(t.now)
	}
	if more != "" {
		more = ", " + more
	}
	args = append([]any{
		string(m.State), m.turn(), micros(at), m.Attempt, m.Gray, m.Waits, m.Interruptions, m.Suspect, m.SoloCrashes, m.Alone,
		micros(m.HeldAt), micros(m.DeadAt), text(string(m.Reason)),
	}, args...)
	return t.guarded(`UPDATE messages SET state = ?, turn = ?, available_at = ?, attempt = ?, gray = ?, waits = ?, interruptions = ?,
		suspect = ?, solo_crashes = ?, alone = ?, held_at = ?, dead_at = ?, reason = ?`+more+`
		WHERE id = ? AND state = ? AND lease_nonce = ? AND deliveries = ?`, append(args, m.id, string(was), m.nonce, m.Deliveries)...)
}

// record writes what a delivery leaves behind: its history, its result and its verdicts.
func (t *tx) record(m *stored, d siding.Decision, s siding.Settlement, e *siding.LastError) error {
	if err := t.remember(m, d.Outcome, s.Digest, e); err != nil {
		return err
	}
	if d.State == siding.StateDone && s.Result != nil {
		if _, err := t.exec("INSERT OR REPLACE INTO results (message, result) VALUES (?, ?)", m.id, s.Result); err != nil {
			return err
		}
	}
	for _, j := range s.Judged {
		if err := t.judge(m.id, j); err != nil {
			return err
		}
	}
	return nil
}

// remember writes the history of a delivery that has ended, and drops one from the middle where there are too many.
func (t *tx) remember(m *stored, outcome siding.Outcome, digest string, e *siding.LastError) error {
	started := m.leaseStarted
	if started.IsZero() {
		started = time.UnixMicro(t.now)
	}
	var err error
	if e == nil {
		_, err = t.exec("INSERT INTO deliveries (message, number, started_at, ended_at, worker, outcome, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
			m.id, m.Deliveries, started.UnixMicro(), t.now, m.worker, string(outcome), text(digest))
	} else {
		_, err = t.exec(`INSERT INTO deliveries (message, number, started_at, ended_at, worker, outcome, digest, cause, fingerprint,
			error, status, request_id, fault_offset) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			m.id, m.Deliveries, started.UnixMicro(), t.now, m.worker, string(outcome), text(digest), string(e.Cause), e.Fingerprint,
			e.Text, e.Status, e.RequestID, offset(e))
	}
	if old := m.Deliveries - siding.HistoryEnds; err == nil && old > siding.HistoryEnds {
		_, err = t.exec("DELETE FROM deliveries WHERE message = ? AND number = ?", m.id, old)
	}
	return err
}

// judge writes a delivery's verdict on an answer to the message.
func (t *tx) judge(message int64, j siding.Judgement) error {
	verdict := siding.VerdictRejected
	if j.Accepted {
		verdict, j.Cause = siding.VerdictAccepted, ""
	}
	_, err := t.exec("UPDATE calls SET verdict = ?, judged_cause = ?, judged_under = ? WHERE id = ? AND message = ? AND fate = 'answered'",
		string(verdict), siding.Scrub(string(j.Cause), 64), siding.Scrub(j.Digest, 256), int64(j.Call), message)
	return err
}

// Extend prolongs leases; see [siding.Queue].
func (s *Store) Extend(ctx context.Context, d time.Duration, tokens ...siding.LeaseToken) ([]error, error) {
	if len(tokens) == 0 {
		return nil, ctx.Err()
	}
	if d <= 0 {
		return nil, fmt.Errorf("a lease of %v ends before it begins", d)
	}
	var out []error
	err := s.write(ctx, "extend", 0, func(t *tx) error {
		out = make([]error, len(tokens))
		until := fromMicros(t.now).Add(d).UnixMicro()
		for i, token := range tokens {
			n, err := t.exec("UPDATE messages SET lease_until = ? WHERE id = ? AND state = 'leased' AND lease_nonce = ? AND lease_nonce <> 0",
				until, token.Message, token.Nonce)
			if err != nil {
				return err
			}
			if n == 0 {
				out[i] = fmt.Errorf("extend: %w", siding.ErrStaleLease)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
