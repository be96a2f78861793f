package postgres

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
	o := &op{ctx: ctx, name: "settle", bytes: bytes, shared: true}
	for i := range list {
		o.tokens = append(o.tokens, list[i].Token)
		if list[i].Gates != (siding.GateKeys{}) {
			o.gates = append(o.gates, list[i].Gates)
		}
	}
	var out []siding.Settled
	o.run = func(t *tx) (err error) {
		out = make([]siding.Settled, len(list))
		for i := range list {
			if out[i], err = t.settle(list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.do(o); err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) settle(s siding.Settlement) (siding.Settled, error) {
	s.Digest = siding.Scrub(s.Digest, siding.MaxHeader)
	m, found, err := t.message(s.Token.Message)
	if err != nil {
		return siding.Settled{}, err
	}
	if !found || !m.heldBy(s.Token) {
		if found {
			err = t.send("UPDATE queues SET stale_settles = stale_settles + 1 WHERE id = ?", m.queue)
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
	t.place(m, siding.StateLeased)
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
		if err := t.mustBeAlone(); err != nil {
			return d, err
		}
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

// placeAll writes where messages are and their counters: of those that were in a state and whose latest delivery is still
// the same. None of them is leased then.
const placeAll = `UPDATE messages m SET state = u.state, turn = u.turn, available_at = u.available_at, attempt = u.attempt,
	gray = u.gray, waits = u.waits, interruptions = u.interruptions, suspect = u.suspect, solo_crashes = u.solo_crashes,
	alone = u.alone, held_at = u.held_at, dead_at = u.dead_at, reason = u.reason, lease_nonce = 0, cause = u.cause,
	fingerprint = u.fingerprint, digest = u.digest, waits_for = u.waits_for
	FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::boolean[],
		?::bigint[], ?::boolean[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[],
		?::text[], ?::bigint[], ?::text[], ?::bigint[], ?::bigint[])
		AS u (state, turn, available_at, attempt, gray, waits, interruptions, suspect, solo_crashes, alone, held_at, dead_at,
		reason, cause, fingerprint, digest, waits_for, id, was, nonce, number)
	WHERE m.id = u.id AND m.state = u.was AND m.lease_nonce = u.nonce AND m.deliveries = u.number`

// place writes where a message is that was in a state.
func (t *tx) place(m *stored, was siding.State) {
	at := m.AvailableAt
	if at.IsZero() {
		at = fromMicros(t.now)
	}
	t.row(placeAll, string(m.State), m.turn(), micros(at), m.Attempt, m.Gray, m.Waits, m.Interruptions, m.Suspect,
		m.SoloCrashes, m.Alone, micros(m.HeldAt), micros(m.DeadAt), text(string(m.Reason)), text(m.cause), text(m.fingerprint),
		text(m.Digest), text(m.WaitsFor), m.id, string(was), m.nonce, m.Deliveries)
}

// record writes what a delivery leaves behind: its history, its result and its verdicts.
func (t *tx) record(m *stored, d siding.Decision, s siding.Settlement, e *siding.LastError) error {
	if err := t.remember(m, d.Outcome, s.Digest, e); err != nil {
		return err
	}
	if d.State == siding.StateDone && s.Result != nil {
		t.row(`INSERT INTO results (message, result) SELECT * FROM unnest(?::bigint[], ?::bytea[])
			ON CONFLICT (message) DO UPDATE SET codec = '', key_id = '', result = excluded.result`, m.id, s.Result)
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
	var failed [6]any // NULL when done
	if e != nil {
		failed = [...]any{string(e.Cause), e.Fingerprint, e.Text, e.Status, e.RequestID, offset(e)}
	}
	t.row(rememberAll, append([]any{m.id, m.Deliveries, started.UnixMicro(), t.now, m.worker, string(outcome), text(digest)}, failed[:]...)...)
	if old := m.Deliveries - siding.HistoryEnds; old > siding.HistoryEnds {
		return t.send("DELETE FROM deliveries WHERE message = ? AND number = ?", m.id, old)
	}
	return nil
}

const rememberAll = `INSERT INTO deliveries (message, number, started_at, ended_at, worker, outcome, digest, cause, fingerprint,
	error, status, request_id, fault_offset) SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[],
	?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[], ?::bigint[])`

// judge writes a delivery's verdict on an answer to the message.
func (t *tx) judge(message int64, j siding.Judgement) error {
	verdict := siding.VerdictRejected
	if j.Accepted {
		verdict, j.Cause = siding.VerdictAccepted, ""
	}
	err := t.send("UPDATE calls SET verdict = ?, judged_cause = ?, judged_under = ? WHERE id = ? AND message = ? AND fate = 'answered'",
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
	err := s.do(&op{ctx: ctx, name: "extend", shared: true, tokens: tokens, run: func(t *tx) error {
		out = make([]error, len(tokens))
		until := fromMicros(t.now).Add(d).UnixMicro()
		for i, token := range tokens {
			m, found, err := t.message(token.Message)
			if err != nil {
				return err
			}
			if !found || !m.heldBy(token) {
				out[i] = fmt.Errorf("extend: %w", siding.ErrStaleLease)
				continue
			}
			if err := t.guarded("UPDATE messages SET lease_until = ? WHERE id = ? AND lease_nonce = ?", until, m.id, m.nonce); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}
