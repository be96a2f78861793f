package postgres

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// forward carries out a forwarded failure of a leased message: it puts the copy into the other queue. It gives the failure
// as it counts: where there can be no copy it is a permanent one. A message that another body waits for is not forwarded:
// that body takes its place.
func (t *tx) forward(m *stored, f *siding.Failure) (*siding.Failure, error) {
	if f == nil || f.Outcome != siding.OutcomeForwarded {
		return f, nil
	}
	var err error
	if m.Queue, err = queueName(t.conn, m.queue); err != nil { // the routing compares it
		return nil, err
	}
	if m.pending || f.Queue == "" || f.Queue == m.Queue || m.Returned > 0 {
		return f, nil
	}
	if err := t.mustBeAlone(); err != nil {
		return nil, err
	}
	why, err := t.makeCopy(m, f.Queue)
	if why == nil || err != nil {
		return f, err
	}
	g := *f
	g.Outcome, g.Err = siding.OutcomePermanent, fmt.Errorf("%w; it cannot be sent to the queue %q: %w", f.Err, siding.Scrub(f.Queue, 128), why)
	return &g, nil
}

// makeCopy enqueues a message in another queue under its own event ID. why says why that cannot be.
func (t *tx) makeCopy(m *stored, queue string) (why, err error) {
	if why := checkQueue(queue); why != nil {
		return why, nil
	}
	in, why, err := t.copyOf(m)
	if why != nil || err != nil {
		return why, err
	}
	q, err := t.queue(queue, true)
	if err != nil {
		return nil, err
	}
	var c stored
	var hash, pending [32]byte
	known, err := t.one(func(r *row) {
		c, hash, pending = r.message(), r.hash(messageWidth), r.hash(messageWidth+1)
	}, `SELECT `+messageColumns+`, b.hash, p.hash FROM messages m LEFT JOIN bodies b ON b.message = m.id
		LEFT JOIN pending_bodies p ON p.message = m.id AND m.pending WHERE m.queue = ? AND m.event_id = ?`, q, m.ID)
	switch {
	case err != nil:
		return nil, err
	case !known:
		p, err := t.insertMessage(q, 0, in)
		if err != nil {
			return nil, err
		}
		c.id, c.queue = p.message, q
	default:
		if c.pending {
			hash = pending
		}
		if why, err := t.copyAgain(m, &c, in, hash == in.hash); why != nil || err != nil {
			return why, err
		}
	}
	return nil, t.link(m, &c)
}

// copyOf gives a message as it is enqueued elsewhere.
func (t *tx) copyOf(m *stored) (in incoming, why, err error) {
	c := content{expiresAt: m.ExpiresAt, priority: m.Priority, fairnessKey: m.FairnessKey}
	found, err := t.one(func(r *row) {
		c.contentType, c.headers, c.body = r.str(0), text(r.str(1)), r.coded(2)
		why, r.err = r.err, nil
	}, "SELECT content_type, headers, codec, key_id, body FROM bodies WHERE message = ?", m.id)
	if err == nil && !found {
		why = errors.New("the row of its body is missing")
	}
	if why != nil || err != nil {
		return in, why, err
	}
	if c.body == nil {
		c.body = []byte{}
	}
	c.hash = sha256.Sum256(c.body)
	in = incoming{content: c, id: m.ID}
	if in.source, err = sourceOf(t.conn, m); in.source != nil {
		in.ordinal = in.source.Ordinal
	}
	return in, nil, err
}

// copyAgain has a message that the other queue has under the event ID worked as the copy of m; same tells that it was
// received with the same body.
func (t *tx) copyAgain(m, c *stored, in incoming, same bool) (why, err error) {
	if round, err := t.goesRound(m, c); err != nil {
		return nil, err
	} else if round {
		return errors.New("it waits there for this queue"), nil
	}
	switch {
	case c.State == siding.StateDiscarded:
		return errors.New("it has been given up there"), nil
	case !same && c.State == siding.StateLeased:
		return nil, t.setPending(c, in.content)
	case !same:
		return nil, t.supersede(c, in.content)
	}
	if c.NoBody {
		if err := t.restore(c, in.content); err != nil {
			return nil, err
		}
	}
	switch c.State {
	case siding.StateDead:
		return nil, t.redrive(c, hand{})
	case siding.StateDone:
		return nil, t.reask(c)
	}
	return nil, nil
}

// goesRound tells whether the copy waits, by however many queues, for the message's own.
func (t *tx) goesRound(m, c *stored) (bool, error) {
	next := c.WaitsFor
	for next != "" && c.State == siding.StateReady {
		if next == m.Queue {
			return true, nil
		}
		var further string
		_, err := t.one(func(r *row) { further = r.str(0) }, `SELECT m.waits_for FROM messages m JOIN queues q ON q.id = m.queue
			WHERE q.name = ? AND m.event_id = ? AND m.state = 'ready'`, next, m.ID)
		if err != nil {
			return false, err
		}
		next = further
	}
	return false, nil
}

// link notes that c is the copy of m, and so are the copies of c; and of whatever was forwarded as m. What their calls
// have cost so far is counted in the inputs of the origins too.
func (t *tx) link(m, c *stored) error {
	type pair struct{ copy, origin int64 }
	var pairs []pair
	err := t.query(func(r *row) error {
		pairs = append(pairs, pair{r.int(0), r.int(1)})
		return r.err
	}, `SELECT c.copy, o.origin FROM (SELECT ?1::bigint AS copy UNION SELECT copy FROM copies WHERE origin = ?1) c,
		(SELECT ?2::bigint AS origin UNION SELECT origin FROM copies WHERE copy = ?2) o
		WHERE c.copy <> o.origin`, c.id, m.id)
	for _, p := range pairs {
		if err != nil {
			return err
		}
		var n int64
		if n, err = t.exec("INSERT INTO copies (copy, origin) VALUES (?, ?) ON CONFLICT DO NOTHING", p.copy, p.origin); n == 0 || err != nil {
			continue
		}
		var sum spend
		if sum, err = t.spendOf(p.copy); err != nil || sum == (spend{}) {
			continue
		}
		err = t.query(func(r *row) error {
			k := spendKey{tallyScope: tallyScope{r.int(0), r.int(1)}}
			t.spends[k] = t.spends[k].add(sum)
			return r.err
		}, "SELECT i.queue, i.id FROM members s JOIN inputs i ON i.id = s.input WHERE s.message = ?", p.origin)
	}
	if err == nil && !c.copy {
		c.copy = true
		err = t.send("UPDATE messages SET copy = true WHERE id = ?", c.id)
	}
	return err
}
