package postgres

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// origins gives the messages that wait for the result of a copy, and its queue's name.
func (t *tx) origins(m *stored) (all []stored, queue string, err error) {
	if queue, err = queueName(t.conn, m.queue); err != nil {
		return nil, "", err
	}
	err = t.query(func(r *row) error {
		if o := r.message(); r.err == nil { // one that cannot be read is Check's to show
			all = append(all, o)
		}
		return nil
	}, "SELECT "+messageColumns+` FROM copies k JOIN messages m ON m.id = k.origin WHERE k.copy = ? AND m.waits_for = ?
		AND m.state IN ('ready', 'dead') ORDER BY m.id`, m.id, queue)
	return all, queue, err
}

// tellOrigins has the messages that wait for a copy follow it, after it has changed its state: what is done gives its
// result, what is set aside or given up sets them aside, and where it comes back they wait again.
func (t *tx) tellOrigins(m *stored, then *siding.Then, result []byte) error {
	if !m.copy {
		return nil
	}
	if err := t.mustBeAlone(); err != nil {
		return err
	}
	all, queue, err := t.origins(m)
	for i := 0; i < len(all) && err == nil; i++ {
		o := &all[i]
		waits := o.State == siding.StateReady
		switch {
		case m.State == siding.StateDone && waits:
			err = t.giveBack(o, queue, then, result)
		case m.State == siding.StateDead && waits:
			err = t.failWith(o, m, queue)
		case m.State == siding.StateDiscarded && waits:
			err = t.waitedInVain(o, queue, errors.New("its copy there was given up"))
		case m.State == siding.StateReady && !waits && o.NoBody: // there is nothing into which a result could come
			err = t.waitNoMore(o)
		case m.State == siding.StateReady && !waits:
			err = t.waitAgain(o)
		case m.State != siding.StateReady && m.State != siding.StateDead:
			err = t.waitNoMore(o)
		}
	}
	return err
}

// tellOriginsOf is tellOrigins for those of many messages, that are copies.
func (t *tx) tellOriginsOf(numbers []int64) error {
	var copies []stored
	err := t.query(func(r *row) error {
		copies = append(copies, r.message())
		return r.err
	}, "SELECT "+messageColumns+" FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value WHERE m.copy", numbers)
	for i := 0; i < len(copies) && err == nil; i++ {
		err = t.tellOrigins(&copies[i], nil, nil)
	}
	return err
}

// giveBack puts a copy's result into the message that waits for it, which is then untried.
func (t *tx) giveBack(o *stored, from string, then *siding.Then, result []byte) error {
	var err error
	if o.Queue, err = queueName(t.conn, o.queue); err != nil {
		return err
	}
	if then == nil || then.Queue != o.Queue {
		return t.waitedInVain(o, from, fmt.Errorf("the results of that queue do not go to %s; its recipe needs then: {queue: %s, field: ...}", o.Queue, o.Queue))
	}
	var body []byte
	var bad error
	_, err = t.one(func(r *row) {
		body = r.coded(0)
		bad, r.err = r.err, nil
	}, "SELECT codec, key_id, body FROM bodies WHERE message = ?", o.id)
	if err == nil && bad == nil {
		body, bad = siding.ReturnResult(body, then.Field, result)
	}
	if err != nil {
		return err
	}
	if bad != nil {
		return t.waitedInVain(o, from, bad)
	}
	was := o.standing()
	note := fmt.Sprintf("the result of the queue %s came into %s", from, then.Field)
	if err := t.revise(o.id, revision{kind: siding.RevisionReturned, note: note, body: true}); err != nil {
		return err
	}
	// The hash stays: it is of the body as it was received, with which a later one is compared.
	if err := t.setBody(o.id, body); err != nil {
		return err
	}
	if err := t.setError(o.id, nil); err != nil {
		return err
	}
	o.forget()
	o.Returned++
	err = t.guarded("UPDATE messages SET available_at = ?, "+forgotten+", cause = NULL, fingerprint = NULL, returned = ? WHERE id = ? AND state = 'ready'",
		t.now, o.Returned, o.id)
	if err != nil {
		return err
	}
	return t.move(o.id, o.queue, o.hasInput, was, o.standing())
}

// failWith sets a message aside because its copy was, whose result may still come.
func (t *tx) failWith(o, m *stored, queue string) error {
	e, err := lastErrorOf(t.conn, m.id)
	if err != nil {
		return err
	}
	if e == nil {
		e = &siding.LastError{Cause: siding.CauseUnknown}
	}
	f := siding.Failure{
		Outcome: siding.OutcomePermanent, Cause: e.Cause, Status: e.Status, RequestID: e.RequestID,
		Err: fmt.Errorf("its copy in the queue %s was set aside: %s", queue, e.Text),
	}
	return t.setAside(o, siding.ReasonPoison, f.Stored(), queue)
}

// waitedInVain sets a message aside into which no result will come.
func (t *tx) waitedInVain(o *stored, queue string, why error) error {
	cause := siding.Cause(o.cause)
	if cause == "" {
		cause = siding.CauseUnknown
	}
	f := siding.Failure{
		Outcome: siding.OutcomePermanent, Cause: cause,
		Err: fmt.Errorf("it was sent to the queue %s, and no result came back: %w", queue, why),
	}
	return t.setAside(o, siding.ReasonPoison, f.Stored(), "")
}

// waitAgain has a message that was set aside with its copy wait for it again.
func (t *tx) waitAgain(o *stored) error {
	was := o.standing()
	o.State, o.AvailableAt, o.Reason = siding.StateReady, siding.Never, ""
	err := t.guarded(`UPDATE messages SET state = 'ready', turn = ?, available_at = ?, dead_at = NULL, reason = NULL WHERE id = ? AND state = 'dead'`,
		o.turn(), siding.Never.UnixMicro(), o.id)
	if err != nil {
		return err
	}
	if err := t.move(o.id, o.queue, o.hasInput, was, o.standing()); err != nil {
		return err
	}
	return t.tellOrigins(o, nil, nil)
}

// waitNoMore has a dead message wait for nothing.
func (t *tx) waitNoMore(o *stored) error {
	return t.guarded("UPDATE messages SET waits_for = NULL WHERE id = ? AND state = 'dead'", o.id)
}

// partWays ends the waiting of those for whom a copy, which has just been superseded, is no copy any more: its body is not
// theirs.
func (t *tx) partWays(m *stored, hash [32]byte) error {
	if !m.copy {
		return nil
	}
	all, queue, err := t.origins(m)
	for i := 0; i < len(all) && err == nil; i++ {
		o := &all[i]
		var body []byte
		_, err = t.one(func(r *row) {
			body = r.coded(0)
			r.err = nil // then it is not the same
		}, "SELECT codec, key_id, body FROM bodies WHERE message = ?", o.id)
		switch {
		case err != nil || sha256.Sum256(body) == hash:
		case o.State == siding.StateReady:
			err = t.waitedInVain(o, queue, errors.New("its copy there was replaced by another body"))
		default:
			err = t.waitNoMore(o)
		}
	}
	return err
}
