package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/siding-dev/siding"
)

// Enqueue puts messages into a queue; see [siding.Producer]. All of them are taken in one write: a very long list keeps
// other writers waiting, so hand over some hundreds at a time.
func (s *Store) Enqueue(ctx context.Context, queue string, o siding.EnqueueOptions, msgs ...siding.NewMessage) ([]siding.Enqueued, error) {
	if err := checkQueue(queue); err != nil {
		return nil, err
	}
	in := make([]incoming, len(msgs))
	bytes := 0
	for i := range msgs {
		in[i] = receive(&msgs[i], o.Input != 0)
		bytes += len(msgs[i].Body) + 512
	}
	if len(in) == 0 {
		return nil, ctx.Err()
	}
	var out []siding.Enqueued
	err := s.do(&op{ctx: ctx, name: "enqueue", bytes: bytes, shared: true, queue: queue, options: o, fresh: in, run: func(t *tx) error {
		out = make([]siding.Enqueued, len(in))
		q, err := t.queue(queue, true)
		if err != nil {
			return err
		}
		if o.Input != 0 {
			if err := t.openInput(q, o.Input); err != nil {
				return err
			}
		}
		for i := range in {
			m := in[i] // a copy: run may be called again
			if m.err != nil {
				out[i] = siding.Enqueued{ID: m.id, Status: siding.EnqueueRefused, Err: m.err}
				continue
			}
			if o.Input != 0 {
				out[i], err = t.enqueueMember(q, o, m)
			} else {
				out[i], _, err = t.enqueue(q, o, m)
			}
			if err != nil {
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

// incoming is a message as it is taken in, prepared outside the transaction.
type incoming struct {
	content
	id      string
	ordinal any // in the input, or nil
	source  *siding.Source
	err     error
}

func receive(m *siding.NewMessage, member bool) incoming {
	in := incoming{id: m.ID, source: m.Source, content: content{
		hash: sha256.Sum256(m.Body), contentType: siding.Scrub(m.ContentType, siding.MaxHeader), body: m.Body, notBefore: m.NotBefore,
		expiresAt: m.ExpiresAt, priority: m.Priority, fairnessKey: siding.Scrub(m.FairnessKey, siding.MaxHeader),
	}}
	if in.body == nil {
		in.body = []byte{}
	}
	if in.contentType == defaultContentType {
		in.contentType = ""
	}
	in.headers, in.err = headersText(m.Headers)
	in.setDead(m.Dead)
	if m.Source != nil {
		in.ordinal = m.Source.Ordinal
	}
	switch {
	case member && m.ID == "": // it gets one from its bytes
	default:
		if err := siding.CheckID(m.ID); err != nil {
			in.err = err
		}
	}
	return in
}

// setDead has the message set aside at once for a failure.
func (in *incoming) setDead(f *siding.Failure) {
	if f == nil {
		return
	}
	in.failure, in.reason = f.Stored(), siding.ReasonPoison
	if in.failure.Outcome == "" {
		in.failure.Outcome = siding.OutcomePermanent
	}
	if f.Reason != "" {
		in.reason = f.Reason
	}
}

// placed is where a message stands after it was enqueued.
type placed struct {
	message int64
	standing
	known bool // it was there before
}

// enqueue takes one message in. The error is for what stops the whole operation.
func (t *tx) enqueue(q int64, o siding.EnqueueOptions, in incoming) (siding.Enqueued, placed, error) {
	refuse := func(err error) (siding.Enqueued, placed, error) {
		return siding.Enqueued{ID: in.id, Status: siding.EnqueueRefused, Err: err}, placed{}, nil
	}
	if o.MaxDepth > 0 {
		if err := t.mustBeAlone(); err != nil {
			return siding.Enqueued{}, placed{}, err
		}
		known, err := t.number("SELECT id FROM messages WHERE queue = ? AND event_id = ?", q, in.id)
		if err != nil {
			return siding.Enqueued{}, placed{}, err
		}
		if known == 0 && in.failure == nil {
			undone, err := t.undone(q)
			if err != nil {
				return siding.Enqueued{}, placed{}, err
			}
			if undone >= o.MaxDepth {
				return refuse(fmt.Errorf("%w: it has %d undone messages, and %d are allowed", siding.ErrFull, undone, o.MaxDepth))
			}
		}
	}
	p, err := t.insertMessage(q, o.Input, in)
	if err != nil {
		return siding.Enqueued{}, placed{}, err
	}
	if p.message != 0 {
		status := siding.EnqueueNew
		if in.failure != nil {
			status = siding.EnqueueDead
		}
		return siding.Enqueued{ID: in.id, Status: status}, p, nil
	}
	return t.enqueueKnown(q, o, in)
}

// undone counts the messages of a queue that are ready or leased.
func (t *tx) undone(q int64) (int64, error) {
	ready, err := t.countIn(tallyScope{queue: q}, siding.StateReady)
	if err != nil {
		return 0, err
	}
	leased, err := t.countIn(tallyScope{queue: q}, siding.StateLeased)
	return ready + leased, err
}

// insertMessage makes a new message; its number is 0 when the ID is taken.
func (t *tx) insertMessage(q int64, input siding.InputID, in incoming) (placed, error) {
	state, st := siding.StateReady, standing{state: siding.StateReady}
	var deadAt, reason, cause, fingerprint, inInput any
	if f := in.failure; f != nil {
		state, st = siding.StateDead, standing{state: siding.StateDead, detail: string(f.Cause), fingerprint: f.Fingerprint}
		deadAt, reason, cause, fingerprint = t.now, string(in.reason), string(f.Cause), f.Fingerprint
	}
	if input != 0 {
		inInput = int64(input)
	}
	if in.plain(siding.EnqueueOptions{Input: input}) {
		if id := t.takeFresh(q, &in); id != 0 {
			t.appear(q, st)
			return placed{message: id, standing: st}, nil
		}
	}
	id, err := t.insert(`INSERT INTO messages (queue, event_id, state, priority, available_at, expires_at, received_at,
		dead_at, reason, cause, fingerprint, input, ordinal, fairness_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
		q, in.id, string(state), int64(in.priority), in.from(t.now), micros(in.expiresAt), t.now,
		deadAt, reason, cause, fingerprint, inInput, in.ordinal, text(in.fairnessKey))
	if err != nil || id == 0 {
		return placed{}, err
	}
	t.row(insertBodies, id, in.hash[:], in.contentType, in.headers, in.body)
	if in.failure != nil {
		if err = t.setError(id, in.failure); err == nil {
			err = t.arrive(q, in.id, in.failure)
		}
	}
	if err == nil && input == 0 && in.source != nil {
		err = t.setOrigin(id, in)
	}
	t.appear(q, st)
	return placed{message: id, standing: st}, err
}

// from gives the time from which a message may be leased.
func (c *content) from(now int64) int64 {
	if c.notBefore.IsZero() {
		return now
	}
	return max(now, min(roundUp(c.notBefore).UnixMicro(), siding.Never.UnixMicro()-1))
}

// enqueueKnown compares a message with the one that has its ID.
func (t *tx) enqueueKnown(q int64, o siding.EnqueueOptions, in incoming) (siding.Enqueued, placed, error) {
	var m stored
	var hash, pending [32]byte
	found, err := t.one(func(r *row) {
		m, hash, pending = r.message(), r.hash(messageWidth), r.hash(messageWidth+1)
	}, `SELECT `+messageColumns+`, b.hash, p.hash FROM messages m LEFT JOIN bodies b ON b.message = m.id
		LEFT JOIN pending_bodies p ON p.message = m.id AND m.pending WHERE m.queue = ? AND m.event_id = ?`, q, in.id)
	if err == nil && !found {
		err = fmt.Errorf("the message %q is and is not there", in.id)
	}
	if err != nil {
		return siding.Enqueued{}, placed{}, err
	}
	answer := func(status siding.EnqueueStatus) (siding.Enqueued, placed, error) {
		return siding.Enqueued{ID: in.id, Status: status}, placed{message: m.id, standing: m.standing(), known: true}, nil
	}
	if m.pending {
		hash = pending
	}
	if hash == in.hash {
		if m.NoBody && m.State != siding.StateDiscarded {
			if err := t.mustBeAlone(); err != nil {
				return siding.Enqueued{}, placed{}, err
			}
			if err := t.restore(&m, in.content); err != nil {
				return siding.Enqueued{}, placed{}, err
			}
		}
		switch {
		case m.State == siding.StateDead && o.RedriveDead && in.failure == nil:
			if err := t.mustBeAlone(); err != nil {
				return siding.Enqueued{}, placed{}, err
			}
			if err := t.redrive(&m, hand{}); err != nil {
				return siding.Enqueued{}, placed{}, err
			}
			return answer(siding.EnqueueRedriven)
		case m.State == siding.StateDead:
			return answer(siding.EnqueueDead)
		case m.State == siding.StateDiscarded:
			return answer(siding.EnqueueDiscarded)
		}
		return answer(siding.EnqueueUnchanged)
	}
	if err := t.mustBeAlone(); err != nil { // hash and pending may not be of one moment
		return siding.Enqueued{}, placed{}, err
	}
	if !o.Supersede {
		return siding.Enqueued{ID: in.id, Status: siding.EnqueueRefused, Err: errAnotherBody(in.id)}, placed{}, nil
	}
	switch m.State {
	case siding.StateDiscarded:
		return answer(siding.EnqueueDiscarded)
	case siding.StateLeased:
		err = t.setPending(&m, in.content)
	default:
		err = t.supersede(&m, in.content)
	}
	if err != nil {
		return siding.Enqueued{}, placed{}, err
	}
	if m.State == siding.StateDead { // the new body brought its fault
		return answer(siding.EnqueueDead)
	}
	return answer(siding.EnqueueSuperseded)
}
