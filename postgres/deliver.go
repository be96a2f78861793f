package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// ready is a row that may be leased, as it was read.
type ready struct {
	stored
	err error // it cannot be read
}

// Most messages that are leased are plain: new, and with nothing but a body. Reading a column costs about as much as a step
// of an index, so of these only what varies is read; [row.plain] knows the rest. The others are read whole, one by one.
const (
	shortColumns = `SELECT m.id, m.queue, m.event_id, m.priority, m.received_at, m.input, m.ordinal,
		CASE WHEN m.deliveries = 0 AND m.redrives = 0 AND m.cause IS NULL AND m.expires_at IS NULL AND m.fairness_key IS NULL
		AND b.content_type = '' AND b.headers IS NULL AND b.codec = '' AND b.key_id = '' THEN b.body END`
	wholeReady = "SELECT " + messageColumns + ", " + bodyColumns +
		" FROM messages m LEFT JOIN bodies b ON b.message = m.id WHERE m.id = ? AND m.state = 'ready'"
)

// plain reads [shortColumns] of a plain message; whole tells that it is another, or one whose body is empty.
func (r *row) plain() (m ready, whole bool) {
	m.id, m.queue = r.int(0), r.int(1)
	if r.null(7) {
		return m, true
	}
	m.hasInput, m.input, m.hasSource, m.ordinal = !r.null(5), r.int(5), !r.null(6), r.int(6)
	m.Message = siding.Message{
		ID: r.str(2), State: siding.StateReady, Priority: int16(r.small(3, -1<<15, 1<<15-1)), ReceivedAt: r.time(4),
		ContentType: defaultContentType, Body: r.blob(7),
	}
	m.err = r.err
	return m, false
}

// give leases the messages that a query finds and adds them to the answer. The query gives [shortColumns]. What has
// expired, or cannot be read, is set aside instead: it would stand first in the queue for ever.
func (t *tx) give(c *claim, query string, args ...any) (seen, given int, err error) {
	var found []ready
	var whole []int // places in found that are to be read again
	err = t.query(func(r *row) error {
		m, again := r.plain()
		if again {
			whole = append(whole, len(found))
		}
		found = append(found, m)
		return nil
	}, query, args...)
	for _, i := range whole {
		if err == nil {
			found[i], err = t.whole(found[i].id)
		}
	}
	if err != nil {
		return 0, 0, err
	}
	var fit []*stored
	for i := range found {
		m := &found[i]
		switch {
		case m.err != nil:
			err = t.condemn(&m.stored, m.err)
			c.aside++
		case !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(c.out.Now):
			err = t.expire(&m.stored)
			c.aside++
		default:
			fit = append(fit, &m.stored)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if len(fit) > 0 {
		err = t.leaseAll(c, fit)
	}
	return len(found), len(fit), err
}

// whole reads a ready message with its body.
func (t *tx) whole(id int64) (m ready, err error) {
	_, err = t.one(func(r *row) {
		m = ready{stored: r.message()}
		r.body(messageWidth, &m.Message)
		m.err, r.err = r.err, nil
	}, wholeReady, id)
	return m, err
}

// leaseAll marks ready messages as leased and adds them to the answer. One statement for all takes half the time of one
// for each.
func (t *tx) leaseAll(c *claim, all []*stored) error {
	numbers := make([]int64, len(all))
	for i, m := range all {
		numbers[i] = m.id
	}
	err := t.counted(int64(len(all)), `UPDATE messages SET state = 'leased', lease_nonce = ?1, lease_started = ?1, lease_until = ?2,
		worker = ?3, process = ?4, deliveries = deliveries + 1 WHERE id = ANY (?5) AND state = 'ready'`,
		t.now, c.until.UnixMicro(), c.Worker, t.process, numbers)
	for i := 0; i < len(all) && err == nil; i++ {
		err = t.leaseOne(c, all[i])
	}
	return err
}

// leaseOne adds a message that has just been marked as leased to the answer.
func (t *tx) leaseOne(c *claim, m *stored) (err error) {
	was := m.standing()
	m.State, m.AvailableAt = siding.StateLeased, time.Time{}
	m.Deliveries++
	m.Queue = c.Queue
	d := &siding.Delivery{
		Message: m.Message, Number: m.Deliveries, Token: siding.LeaseToken{Message: m.id, Nonce: t.now},
		LeasedUntil: c.until, StartedAt: c.out.Now, Solo: m.apart(),
	}
	if d.Solo {
		t.solos = append(t.solos, d.Token)
	}
	if m.cause != "" {
		if d.LastError, err = lastErrorOf(t.conn, m.id); err != nil {
			return err
		}
	}
	if m.hasSource {
		if d.Source, err = sourceOf(t.conn, m); err != nil {
			return err
		}
	}
	c.out.Deliveries = append(c.out.Deliveries, d)
	return t.move(m.id, m.queue, m.hasInput, was, m.standing())
}

func lastErrorOf(c *conn, message int64) (e *siding.LastError, err error) {
	_, err = c.one(func(r *row) { e = r.lastError(0) }, "SELECT "+errorColumns+" FROM last_errors e WHERE e.message = ?", message)
	return e, err
}

// expire sets a ready message aside whose time has passed.
func (t *tx) expire(m *stored) error {
	return t.setAside(m, siding.ReasonExpired, siding.ExpiredFailure().Stored(), "")
}

// condemn sets a message aside whose row, or the row of its body, cannot be read: a bad row stops nobody. Its standing is
// taken from the columns by which it was found.
func (t *tx) condemn(m *stored, why error) error {
	_, err := t.one(func(r *row) { m.copy = r.bool(0) }, "SELECT copy FROM messages WHERE id = ?", m.id)
	if err != nil {
		return err
	}
	f := &siding.Failure{
		Outcome: siding.OutcomePermanent, Cause: siding.CauseUnknown,
		Err: fmt.Errorf("its row in the store cannot be read: %w", why),
	}
	return t.setAside(m, siding.ReasonPoison, f.Stored(), "")
}

// setAside makes a dead letter of a ready message without a delivery. waitsFor is the queue whose result may still come
// back into it; empty: none.
func (t *tx) setAside(m *stored, reason siding.Reason, e *siding.LastError, waitsFor string) error {
	was := m.standing()
	m.State, m.Reason, m.cause, m.fingerprint, m.WaitsFor = siding.StateDead, reason, string(e.Cause), e.Fingerprint, waitsFor
	err := t.guarded(`UPDATE messages SET state = 'dead', turn = greatest(turn, (attempt > 0)::int), dead_at = ?, reason = ?, cause = ?, fingerprint = ?,
		waits_for = ? WHERE id = ? AND state = 'ready'`, t.now, string(reason), string(e.Cause), e.Fingerprint, text(waitsFor), m.id)
	if err == nil {
		err = t.setError(m.id, e)
	}
	if err == nil {
		err = t.move(m.id, m.queue, m.hasInput, was, m.standing())
	}
	if err == nil {
		err = t.arrive(m.queue, m.ID, e)
	}
	if err != nil {
		return err
	}
	if err := t.ended(m); err != nil {
		return err
	}
	return t.tellOrigins(m, nil, nil)
}

// sweepMost bounds how much of what has run out one transaction takes back.
const sweepMost = 256

// sweep takes back the queue's leases that have run out, and sets expired messages aside. Once in a transaction is
// enough: its operations are a moment apart.
func (t *tx) sweep(c *claim) error {
	if c.swept {
		return nil
	}
	t.swept[c.q] = true
	lapsed, expired := c.lapsed, c.expired
	if len(lapsed)+len(expired) > 0 {
		c.voidAll()
	}
	for i := range lapsed {
		m := &lapsed[i]
		if m.err != nil {
			continue // Check shows it; it cannot be settled by anybody
		}
		cause, err := t.endOfLease(m.process)
		if err != nil {
			return err
		}
		if _, err := t.finish(&m.stored, siding.Settlement{Failure: m.interrupted(cause), Policy: c.Policy, Rand: c.Rand}); err != nil {
			return err
		}
	}
	if len(lapsed) > 0 { // what has just been taken back may have expired meanwhile
		expired = nil
		if err := t.query(collect(&expired), expiredOf, c.q, t.now, sweepMost); err != nil {
			return err
		}
	}
	for i := range expired {
		m := &expired[i]
		err := m.err
		if err != nil {
			err = t.condemn(&m.stored, err)
		} else {
			err = t.expire(&m.stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// interrupted is the failure of a delivery of a leased message that did not end by itself.
func (m *stored) interrupted(cause siding.Cause) *siding.Failure {
	text := map[siding.Cause]string{
		siding.CauseLeaseLost:   "the lease ran out before the delivery ended",
		siding.CauseWorkerCrash: "the process died during the delivery",
		siding.CauseHostRestart: "the machine was restarted during the delivery",
		siding.CauseShutdown:    "the process ended its work during the delivery",
	}[cause]
	return &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: cause, Solo: m.apart(), Err: errors.New(text)}
}
