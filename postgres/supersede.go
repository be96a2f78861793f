package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// supersede gives a message that is not leased another body: the old body, and the old answer where there is one, go to
// the history, and it starts again at attempt 0. m is what it was, and becomes what it is.
func (t *tx) supersede(m *stored, c content) error {
	was := m.standing()
	err := t.revise(m.id, revision{kind: siding.RevisionSuperseded, digest: m.Digest, answer: true, body: true, headers: true})
	if err != nil {
		return err
	}
	if m.State == siding.StateDone {
		if err := t.send("DELETE FROM results WHERE message = ?", m.id); err != nil {
			return err
		}
	}
	err = t.guarded("UPDATE bodies SET hash = ?, body_hash = NULL, codec = '', key_id = '', content_type = ?, headers = ?, body = ? WHERE message = ?",
		c.hash[:], c.contentType, c.headers, c.body, m.id)
	if err != nil {
		return err
	}
	m.forget()
	m.State, m.Digest, m.Returned, m.NoBody = siding.StateReady, "", 0, false
	m.DeadAt, m.Reason = time.Time{}, ""
	var deadAt, reason any
	if c.failure != nil {
		m.State, m.Reason, m.cause, m.fingerprint = siding.StateDead, c.reason, string(c.failure.Cause), c.failure.Fingerprint
		deadAt, reason = t.now, string(c.reason)
	}
	if err := t.setError(m.id, c.failure); err != nil {
		return err
	}
	err = t.guarded(`UPDATE messages SET state = ?, priority = ?, available_at = ?, expires_at = ?, `+forgotten+`, returned = 0, pending = false, no_body = false,
		dead_at = ?, reason = ?, cause = ?, fingerprint = ?, digest = NULL, fairness_key = ? WHERE id = ? AND state <> 'leased'`,
		string(m.State), int64(c.priority), c.from(t.now), micros(c.expiresAt), deadAt, reason, text(m.cause),
		text(m.fingerprint), text(c.fairnessKey), m.id)
	if err == nil {
		err = t.move(m.id, m.queue, m.hasInput, was, m.standing())
	}
	if err == nil && m.State == siding.StateDead {
		err = t.arrive(m.queue, m.ID, c.failure)
	}
	if err == nil {
		err = t.partWays(m, c.hash)
	}
	if err != nil {
		return err
	}
	m.pending = false
	if err := t.ended(m); err != nil {
		return err
	}
	return t.tellOrigins(m, nil, nil)
}

// setPending keeps a body for a leased message until its delivery ends.
func (t *tx) setPending(m *stored, c content) error {
	var failure any
	if c.failure != nil {
		b, err := json.Marshal(pendingFailure{c.failure, c.reason})
		if err != nil {
			return err
		}
		failure = string(b)
	}
	err := t.send(`INSERT INTO pending_bodies (message, hash, content_type, headers, body, available_at, expires_at,
		priority, fairness_key, failure) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (message) DO UPDATE SET hash = excluded.hash, codec = '', key_id = '', content_type = excluded.content_type,
		headers = excluded.headers, body = excluded.body, available_at = excluded.available_at, expires_at = excluded.expires_at,
		priority = excluded.priority, fairness_key = excluded.fairness_key, failure = excluded.failure`, m.id, c.hash[:], c.contentType, c.headers,
		c.body, c.from(t.now), micros(c.expiresAt), int64(c.priority), text(c.fairnessKey), failure)
	if err != nil {
		return err
	}
	m.pending = true
	return t.guarded("UPDATE messages SET pending = true WHERE id = ? AND state = 'leased'", m.id)
}

type pendingFailure struct {
	Error  *siding.LastError `json:"error"`
	Reason siding.Reason     `json:"reason"`
}

// takePending gives the message, whose delivery has just ended, the body that came meanwhile. m is what it is now.
func (t *tx) takePending(m *stored) error {
	var c content
	var failure string
	found, err := t.one(func(r *row) {
		c = content{
			hash: r.hash(0), contentType: r.str(1), headers: text(r.str(2)), body: r.blob(3), notBefore: r.time(4),
			expiresAt: r.time(5), priority: int16(r.small(6, -1<<15, 1<<15-1)), fairnessKey: r.str(7),
		}
		failure = r.str(8)
	}, `SELECT hash, content_type, headers, body, available_at, expires_at, priority, fairness_key, failure
		FROM pending_bodies WHERE message = ?`, m.id)
	if err == nil && !found {
		err = fmt.Errorf("the body that was to replace that of %q is missing", m.ID)
	}
	if err == nil && failure != "" {
		var f pendingFailure
		err = json.Unmarshal([]byte(failure), &f)
		c.failure, c.reason = f.Error, f.Reason
	}
	if err != nil {
		return err
	}
	if c.body == nil {
		c.body = []byte{}
	}
	if err := t.guarded("DELETE FROM pending_bodies WHERE message = ?", m.id); err != nil {
		return err
	}
	return t.supersede(m, c)
}
