package postgres

import (
	"context"

	"github.com/siding-dev/siding"
)

// DropBodies drops bodies; see [siding.Quarantine]. They are looked for outside the write, so that nobody waits for that;
// the write looks again at whether each is still to be dropped.
func (s *Store) DropBodies(ctx context.Context, d siding.Drop) (int64, error) {
	if err := d.Check(); err != nil {
		return 0, err
	}
	act := siding.ActOf(ctx)
	var total int64
	for total < int64(d.Limit) {
		most := d.Limit - int(total)
		found, err := s.droppable(ctx, d, most)
		if err != nil || len(found) == 0 {
			return total, err
		}
		var n int64
		err = s.write(ctx, "drop-bodies", 256*len(found), func(t *tx) (err error) {
			if n, err = t.drop(d, found, act.By); err != nil || n == 0 {
				return err
			}
			return t.did(act, siding.ActionDrop, d.Queue, d.String(), n)
		})
		if err != nil {
			return total, err
		}
		if total += n; len(found) < most {
			break
		}
	}
	return total, nil
}

// droppable finds bodies to be dropped, at most so many: messages, or revisions.
func (s *Store) droppable(ctx context.Context, d siding.Drop, most int) (found []int64, err error) {
	if d.What == siding.DropDone {
		return s.droppableDone(ctx, d, most)
	}
	err = s.snapshot(ctx, func(c *conn) error {
		found = nil
		if d.What == siding.DropDead {
			w, err := walkDead(c, siding.Selection{Queue: d.Queue, Until: d.Before}, beginning, true)
			if err != nil {
				return err
			}
			places, err := w.next(c, most)
			for _, p := range places {
				found = append(found, p.Number)
			}
			return err
		}
		return c.query(func(r *row) error {
			found = append(found, r.int(0))
			return r.err
		}, `SELECT r.id FROM revisions r WHERE (r.body IS NOT NULL OR r.result IS NOT NULL) AND r.at < ?
			AND (?2::text = '' OR (SELECT q.name FROM messages m JOIN queues q ON q.id = m.queue WHERE m.id = r.message) = ?2) ORDER BY r.at LIMIT ?`,
			d.Before.UnixMicro(), d.Queue, most)
	})
	return found, err
}

// scanStep is how many rows one reading looks at.
const scanStep = 20_000

// droppableDone finds done messages with bodies to be dropped. They stand in no index, and one that has been passed by may
// be done since: so a walk over all messages goes on where the last call has ended, and begins anew after its end.
func (s *Store) droppableDone(ctx context.Context, d siding.Drop, most int) (found []int64, err error) {
	s.dropMu.Lock()
	from := s.dropped[d.Queue]
	s.dropMu.Unlock()
	more := true
	for more && len(found) < most && err == nil {
		err = s.read(ctx, func(c *conn) error {
			end, err := c.number("SELECT max(id) FROM (SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT ?) x", from, scanStep)
			if err != nil || end == 0 {
				more = false
				return err
			}
			n := len(found)
			err = c.query(func(r *row) error {
				found = append(found, r.int(0))
				return r.err
			}, `SELECT m.id FROM messages m WHERE m.id > ? AND m.id <= ? AND m.state = 'done' AND NOT m.no_body AND m.received_at < ?
				AND (?4::text = '' OR m.queue = (SELECT id FROM queues WHERE name = ?4)) ORDER BY m.id LIMIT ?`,
				from, end, d.Before.UnixMicro(), d.Queue, most-n)
			if err != nil {
				return err
			}
			if from = end; len(found) == most {
				from = found[most-1]
				return nil
			}
			// Numbers rise in the order of receipt.
			late, err := c.one(func(*row) {}, "SELECT id FROM messages WHERE received_at >= ? AND id = ?", d.Before.UnixMicro(), end)
			more = !late
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	s.dropMu.Lock()
	defer s.dropMu.Unlock()
	if more {
		s.dropped[d.Queue] = from
	} else {
		delete(s.dropped, d.Queue)
	}
	return found, nil
}

// drop drops the bodies of messages, or those of revisions, with these numbers, as far as they are still to be
// dropped.
func (t *tx) drop(d siding.Drop, numbers []int64, by string) (int64, error) {
	before := d.Before.UnixMicro()
	if d.What == siding.DropHistory {
		return t.exec(`UPDATE revisions SET body = NULL, result = NULL, codec = '', key_id = '',
			note = substr(CASE note WHEN '' THEN '' ELSE note || '; ' END || 'dropped by retention', 1, ?)
			WHERE id = ANY (?::bigint[]) AND (body IS NOT NULL OR result IS NOT NULL) AND at < ?`,
			siding.MaxHeader, numbers, before)
	}
	fit := "m.state = 'dead' AND m.dead_at < ? AND NOT m.no_body"
	if d.What == siding.DropDone {
		fit = "m.state = 'done' AND m.received_at < ? AND NOT m.no_body"
	}
	of := " FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value WHERE " + fit
	err := t.send("INSERT INTO revisions (message, at, kind, note, operator) SELECT m.id, ?::bigint, 'dropped', 'by retention', ?::text"+of, t.now, by, numbers, before)
	if err == nil {
		err = t.send("UPDATE bodies SET body = NULL, body_hash = NULL, codec = '', key_id = '' WHERE message IN (SELECT m.id"+of+")", numbers, before)
	}
	if err != nil {
		return 0, err
	}
	return t.exec("UPDATE messages AS m SET no_body = true WHERE m.id = ANY (?::bigint[]) AND "+fit, numbers, before)
}
