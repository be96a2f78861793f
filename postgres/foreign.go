package postgres

import (
	"time"

	"github.com/siding-dev/siding"
)

// foreignMost bounds how many members one request looks at.
const foreignMost = 500

// takeForeign gives members of an input that another generation has enqueued again since: they stand in that one's
// index, not in this input's. It is for two runs over the same records at once, and looks through the members piece by
// piece: a request that has not seen them all says that more may be had at once.
func (t *tx) takeForeign(c *claim) error {
	if may, err := t.mayBeForeign(c); !may || err != nil {
		return err
	}
	from := t.s.scans[c.Input] // the ordinal after the last one looked at
	last, seen, more := from, 0, false
	var due []int64
	err := t.query(func(r *row) error {
		seen++
		last = r.int(0) + 1
		switch {
		case r.null(1):
		case r.int(2) > t.now: // also what waits for another queue
			c.noteNext(fromMicros(r.int(2)))
		case len(due) < c.Max-len(c.out.Deliveries):
			due = append(due, r.int(1))
		default:
			more = true
		}
		return r.err
	}, `SELECT s.ordinal, m.id, m.available_at FROM (SELECT ordinal, message FROM members WHERE input = ?1 AND ordinal >= ?2
		ORDER BY ordinal LIMIT ?3) s LEFT JOIN messages m ON m.id = s.message AND m.state = 'ready' AND m.input <> ?1 AND m.turn < 2
		ORDER BY s.ordinal`, int64(c.Input), from, foreignMost)
	if err != nil {
		return err
	}
	for _, id := range due {
		if _, _, err := t.give(c, readyOne, id); err != nil {
			return err
		}
	}
	switch {
	case more: // here again next time
	case seen < foreignMost:
		delete(t.s.scans, c.Input) // from the beginning next time
		return nil
	default:
		t.s.scans[c.Input] = last
	}
	c.noteNext(fromMicros(t.now - int64(time.Second/time.Microsecond)))
	return nil
}

// mayBeForeign tells whether some ready members of the claim's input may stand in another generation's index.
func (t *tx) mayBeForeign(c *claim) (bool, error) {
	if c.Input == 0 {
		return false, nil
	}
	taken, err := t.one(func(*row) {}, "SELECT id FROM inputs WHERE id = ? AND taken", int64(c.Input))
	if err != nil || !taken {
		return false, err
	}
	waiting, err := t.countIn(c.scope, siding.StateReady)
	return waiting > 0, err
}

// firstForeign gives the foreign member that came due first, or is the next to, and when; 0 when there is none. It looks
// through the whole manifest, and is only for the moments in which a gate is probed and the input's own index has nothing.
func (t *tx) firstForeign(c *claim, w wanted) (id, at int64, err error) {
	if may, err := t.mayBeForeign(c); !may || err != nil {
		return 0, 0, err
	}
	_, err = t.one(func(r *row) { id, at = r.int(0), r.int(1) }, `SELECT m.id, m.available_at FROM members s
		JOIN messages m ON m.id = s.message WHERE s.input = ?1 AND m.state = 'ready' AND m.input <> ?1 AND m.turn BETWEEN 0 AND 1
		AND (NOT ?2::boolean OR m.attempt = 0) AND m.id <> ALL (?3::bigint[]) ORDER BY m.available_at LIMIT 1`,
		int64(c.Input), w.untried, w.not)
	return id, at, err
}

// readyOne is the query for a ready message by its number.
const readyOne = shortColumns + " FROM messages m LEFT JOIN bodies b ON b.message = m.id WHERE m.id = ? AND m.state = 'ready'" + lockFound
