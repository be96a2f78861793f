package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// The states of an input. One that is being dropped is gone for every purpose; the rest of its rows follows.
const (
	inputOpen     = "open"
	inputSealed   = "sealed"
	inputDropping = "dropping"
)

// BeginInput starts a new generation of an input; see [siding.Manifest].
func (s *Store) BeginInput(ctx context.Context, queue, key string) (siding.InputID, error) {
	if err := checkQueue(queue); err != nil {
		return 0, err
	}
	if _, err := s.Reap(ctx); err != nil { // drops what dead processes left unsealed
		return 0, err
	}
	if err := s.dropInputs(ctx, "state = 'dropping'"); err != nil {
		return 0, err
	}
	var id int64
	err := s.write(ctx, "begin-input", 0, func(t *tx) error {
		q, err := t.queue(queue, true)
		if err != nil {
			return err
		}
		id, err = t.insert("INSERT INTO inputs (queue, key, process, state, begun_at) VALUES (?, ?, ?, 'open', ?) RETURNING id",
			q, siding.Scrub(key, siding.MaxHeader), t.process, t.now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return siding.InputID(id), nil
}

// SealInput ends the reading of an input; see [siding.Manifest].
func (s *Store) SealInput(ctx context.Context, id siding.InputID) error {
	err := s.write(ctx, "seal-input", 0, func(t *tx) error {
		n, err := t.exec("UPDATE inputs SET state = 'sealed' WHERE id = ? AND state IN ('open', 'sealed')", int64(id))
		if err == nil && n == 0 {
			err = errNoInput(id)
		}
		return err
	})
	if err != nil {
		return err
	}
	// A process that is gone has no row, or holds its lock no longer; the latter are taken up by Reap.
	if _, err := s.Reap(ctx); err != nil {
		return err
	}
	return s.dropInputs(ctx, `id < ?1 AND (queue, key) = (SELECT queue, key FROM inputs WHERE id = ?1)
		AND process NOT IN (SELECT id FROM processes)`, int64(id))
}

func errNoInput(id siding.InputID) error {
	return fmt.Errorf("input %d: %w", id, siding.ErrNotFound)
}

// FindInput gives the newest sealed generation of an input; see [siding.Manifest].
func (s *Store) FindInput(ctx context.Context, queue, key string) (siding.InputID, error) {
	var id int64
	err := s.read(ctx, func(c *conn) (err error) {
		id, err = c.number(`SELECT i.id FROM inputs i JOIN queues q ON q.id = i.queue WHERE q.name = ? AND i.key = ?
			AND i.state = 'sealed' ORDER BY i.id DESC LIMIT 1`, queue, siding.Scrub(key, siding.MaxHeader))
		return err
	})
	if err == nil && id == 0 {
		err = fmt.Errorf("no input has been read completely under this key: %w", siding.ErrNotFound)
	}
	return siding.InputID(id), err
}

// openInput checks that members can be added to an input.
func (t *tx) openInput(q int64, id siding.InputID) error {
	var queue int64
	var state string
	found, err := t.one(func(r *row) { queue, state = r.int(0), r.str(1) }, "SELECT queue, state FROM inputs WHERE id = ?", int64(id))
	switch {
	case err != nil:
		return err
	case !found || queue != q || state == inputDropping:
		return errNoInput(id)
	case state != inputOpen:
		return fmt.Errorf("input %d is sealed: %w", id, siding.ErrWrongState)
	}
	return nil
}

// dropMost bounds how many rows one transaction drops: larger pieces would keep the other writers waiting.
const dropMost = 512

// dropInputs drops the inputs for which a condition holds, in small pieces.
func (s *Store) dropInputs(ctx context.Context, where string, args ...any) error {
	var ids []int64
	err := s.read(ctx, func(c *conn) error {
		return c.query(func(r *row) error {
			ids = append(ids, r.int(0))
			return r.err
		}, "SELECT id FROM inputs WHERE "+where, args...)
	})
	for _, id := range ids {
		for err == nil {
			var more bool // of this piece: a write that was given up may still be at work on it
			err = s.write(ctx, "drop-input", 0, func(t *tx) (err error) {
				more, err = t.dropInput(id)
				return err
			})
			if err != nil || !more {
				break
			}
		}
	}
	return err
}

// dropInput drops some members of an input, and in the end the input. Where a message has been enqueued by no later
// input, it keeps where it came from.
func (t *tx) dropInput(id int64) (more bool, err error) {
	err = t.send("UPDATE inputs SET state = 'dropping' WHERE id = ? AND state <> 'dropping'", id)
	if err != nil {
		return false, err
	}
	if err := t.send("DELETE FROM tallies WHERE input = ?1 AND queue = (SELECT queue FROM inputs WHERE id = ?1)", id); err != nil {
		return false, err
	}
	var last int64 = -1
	n := 0
	err = t.query(func(r *row) error {
		last = r.int(0)
		n++
		return r.err
	}, "SELECT ordinal FROM members WHERE input = ? ORDER BY ordinal LIMIT ?", id, dropMost)
	if err != nil {
		return false, err
	}
	if n > 0 {
		err = t.send(`INSERT INTO origins (message, ordinal, file, line, at_byte, source_hash)
			SELECT s.message, s.ordinal, s.file, s.line, s.at_byte, coalesce(s.source_hash, s.hash) FROM members s
			JOIN messages m ON m.id = s.message WHERE s.input = ?1 AND s.ordinal <= ?2 AND m.input = ?1 AND m.ordinal = s.ordinal`+replaceOrigin, id, last)
		if err == nil {
			err = t.send("DELETE FROM members WHERE input = ? AND ordinal <= ?", id, last)
		}
		return true, err
	}
	err = t.send("DELETE FROM spend_totals WHERE input = ?1 AND queue = (SELECT queue FROM inputs WHERE id = ?1)", id)
	if err == nil {
		err = t.send("DELETE FROM inputs WHERE id = ?", id)
	}
	return false, err
}

// enqueueMember takes in one record of an input and makes it a member.
func (t *tx) enqueueMember(q int64, o siding.EnqueueOptions, in incoming) (siding.Enqueued, error) {
	if in.source == nil { // it stands after all others
		next, err := t.number("SELECT max(ordinal) + 1 FROM members WHERE input = ?", int64(o.Input))
		if err != nil {
			return siding.Enqueued{}, err
		}
		in.source = &siding.Source{Ordinal: next}
	}
	if again, ok, err := t.enqueuedBefore(o.Input, in); ok || err != nil {
		return again, err
	}
	source := in.source.SourceHash
	if source == ([32]byte{}) {
		source = in.hash
	}
	var nth any
	if in.id == "" {
		before, err := t.number(`SELECT max(nth) + 1 FROM members WHERE input = ? AND coalesce(source_hash, hash) = ? AND nth IS NOT NULL`,
			int64(o.Input), source[:])
		if err != nil {
			return siding.Enqueued{}, err
		}
		in.id, nth = siding.RecordID(source, before), before
	}
	for first := true; ; first = false {
		taken, same, err := t.memberWithID(q, o.Input, in)
		if err != nil {
			return siding.Enqueued{}, err
		}
		if taken && same {
			return siding.Enqueued{ID: in.id, Status: siding.EnqueueDuplicate}, nil
		}
		if !taken {
			break
		}
		if !first { // another record of the input has the derived ID for its own, with other bytes
			return siding.Enqueued{ID: in.id, Status: siding.EnqueueRefused, Err: errAnotherBody(in.id)}, nil
		}
		in.setDead(siding.DuplicateFailure(in.id))
		in.id = siding.DuplicateID(in.id, in.body)
	}
	in.ordinal = in.source.Ordinal
	answer, p, err := t.enqueue(q, o, in)
	if err != nil || answer.Err != nil {
		return answer, err
	}
	return answer, t.addMember(q, o.Input, in, p, source, nth)
}

// enqueuedBefore answers a call that is made again because its reply was lost.
func (t *tx) enqueuedBefore(input siding.InputID, in incoming) (e siding.Enqueued, found bool, err error) {
	var state siding.State
	var hash [32]byte
	found, err = t.one(func(r *row) { e.ID, state, hash = r.str(0), siding.State(r.str(1)), r.hash(2) },
		`SELECT m.event_id, m.state, s.hash FROM members s JOIN messages m ON m.id = s.message WHERE s.input = ? AND s.ordinal = ?`,
		int64(input), in.source.Ordinal)
	if err != nil || !found {
		return e, false, err
	}
	switch {
	case hash != in.hash:
		e.Status = siding.EnqueueRefused
		e.Err = fmt.Errorf("place %d of the input is taken by another record: %w", in.source.Ordinal, siding.ErrConflict)
	case state == siding.StateDead:
		e.Status = siding.EnqueueDead
	case state == siding.StateDiscarded:
		e.Status = siding.EnqueueDiscarded
	default:
		e.Status = siding.EnqueueUnchanged
	}
	return e, true, nil
}

// memberWithID tells whether a record of the input already has the ID, and whether its bytes are the same.
func (t *tx) memberWithID(q int64, input siding.InputID, in incoming) (taken, same bool, err error) {
	var hash [32]byte
	taken, err = t.one(func(r *row) { hash = r.hash(0) }, `SELECT s.hash FROM messages m JOIN members s ON s.message = m.id
		WHERE m.queue = ? AND m.event_id = ? AND s.input = ?`, q, in.id, int64(input))
	return taken, hash == in.hash, err
}

// addMember makes a message a member of an input.
func (t *tx) addMember(q int64, input siding.InputID, in incoming, p placed, source [32]byte, nth any) error {
	file, err := t.file(in.source.File)
	if err != nil {
		return err
	}
	var sourceHash any
	if source != in.hash {
		sourceHash = source[:]
	}
	if p.known {
		if err := t.mustBeAlone(); err != nil {
			return err
		}
		err = errors.Join(t.takeOver(input, in, p), t.addSpendOf(q, int64(input), p.message))
		if err != nil {
			return err
		}
	}
	err = t.send("INSERT INTO members (input, ordinal, message, file, line, at_byte, hash, source_hash, nth) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(input), in.source.Ordinal, p.message, file, in.source.Line, in.source.Offset, in.hash[:], sourceHash, nth)
	t.count(tallyScope{q, int64(input)}, p.standing, 1)
	return err
}

// takeOver makes the input the one that has enqueued a known message last, and tells the one before.
func (t *tx) takeOver(input siding.InputID, in incoming, p placed) error {
	before, err := t.number("SELECT input FROM messages WHERE id = ?", p.message)
	if err != nil {
		return err
	}
	if before != 0 {
		if err := t.send("UPDATE inputs SET taken = true WHERE id = ? AND NOT taken", before); err != nil {
			return err
		}
	}
	return t.guarded("UPDATE messages SET input = ?, ordinal = ? WHERE id = ?", int64(input), in.source.Ordinal, p.message)
}

// addSpendOf adds what the calls for a message and its copies have cost so far to the sums of an input.
func (t *tx) addSpendOf(q, input, message int64) error {
	var copies []int64
	err := t.query(func(r *row) error {
		copies = append(copies, r.int(0))
		return r.err
	}, "SELECT copy FROM copies WHERE origin = ?", message)
	k := spendKey{tallyScope: tallyScope{q, input}}
	for _, id := range append(copies, message) {
		if err != nil {
			return err
		}
		var sum spend
		sum, err = t.spendOf(id)
		t.spends[k] = t.spends[k].add(sum)
	}
	return err
}

// spendOf gives what the calls for a message have cost so far.
func (t *tx) spendOf(message int64) (spend, error) {
	sum := t.spends[spendKey{message: message}] // what this transaction has not written yet
	_, err := t.one(func(r *row) { sum = sum.add(r.spendAt(0)) }, "SELECT "+spendColumns+" FROM spend WHERE message = ?", message)
	return sum, err
}
