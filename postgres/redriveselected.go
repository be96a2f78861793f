package postgres

import (
	"context"

	"github.com/siding-dev/siding"
)

// RedriveSelected redrives some of the dead letters that a selection names; see [siding.Quarantine]. They are looked for
// outside the write, so that nobody waits for that; the write looks again at whether each is still fit for it.
func (s *Store) RedriveSelected(ctx context.Context, sel siding.Selection, limit int) (int64, error) {
	if sel.Input != 0 {
		if err := s.hasInput(ctx, sel.Input); err != nil {
			return 0, err
		}
	}
	var found []siding.Place
	err := s.snapshot(ctx, func(c *conn) error {
		w, err := walkDead(c, sel, beginning, true)
		if err == nil {
			found, err = w.next(c, limit)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	act, h := siding.ActOf(ctx), handOf(ctx)
	var n int64
	err = s.write(ctx, "redrive-selected", 256*len(found), func(t *tx) error {
		n = 0
		for places := found; len(places) > 0; {
			redriven, err := t.redrivePlaces(places, h)
			if err == nil {
				err = t.didRedrive(act, sel.Queue, redriven)
			}
			if err != nil {
				return err
			}
			n += int64(len(redriven))
			last := places[len(places)-1]
			if places = nil; len(found) < limit || n >= int64(limit) {
				break
			}
			// Some had left the quarantine by another way: others take their places.
			if err := t.keepSums(); err != nil {
				return err
			}
			w, err := walkDead(t.conn, sel, last, true)
			if err == nil {
				places, err = w.next(t.conn, limit-int(n))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// redrivePlaces redrives the dead letters that stood in these places, as far as they still do and can be sent back, and
// gives their numbers.
func (t *tx) redrivePlaces(places []siding.Place, h hand) (fit []int64, err error) {
	numbers := make([]int64, len(places))
	for i, p := range places {
		numbers[i] = p.Number
	}
	// One that was redriven since, and set aside again, was so after the last of these.
	err = t.query(func(r *row) error {
		fit = append(fit, r.int(0))
		return r.err
	}, `SELECT m.id FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value
		WHERE m.state = 'dead' AND NOT m.no_body AND m.dead_at <= ? AND `+readable, numbers, places[len(places)-1].At)
	if err != nil || len(fit) == 0 {
		return nil, err
	}
	return fit, t.redriveSet(fit, int64(len(fit)), h)
}

// didRedrive notes in the audit trail that messages were redriven, with the IDs of a few.
func (t *tx) didRedrive(act siding.Act, queue string, numbers []int64) error {
	if len(numbers) == 0 {
		return nil
	}
	some, err := t.eventIDs(numbers[:min(len(numbers), 5)])
	if err != nil {
		return err
	}
	return t.did(act, siding.ActionRedrive, queue, "", int64(len(numbers)), some...)
}

// eventIDs gives the IDs of a few messages.
func (t *tx) eventIDs(numbers []int64) (ids []string, err error) {
	err = t.query(func(r *row) error {
		ids = append(ids, r.str(0))
		return r.err
	}, "SELECT m.event_id FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value", numbers)
	return ids, err
}
