package postgres

import (
	"context"

	"github.com/siding-dev/siding"
)

// hasInput gives an error when there is no such input (any more).
func (s *Store) hasInput(ctx context.Context, id siding.InputID) error {
	return s.read(ctx, func(c *conn) error {
		_, err := inputQueue(c, id)
		return err
	})
}

// queueOf gives the name of an input's queue.
func (s *Store) queueOf(ctx context.Context, id siding.InputID) (name string, err error) {
	err = s.read(ctx, func(c *conn) error {
		q, err := inputQueue(c, id)
		if err == nil {
			_, err = c.one(func(r *row) { name = r.str(0) }, "SELECT name FROM queues WHERE id = ?", q)
		}
		return err
	})
	return name, err
}

// inputQueue gives the queue of an input.
func inputQueue(c *conn, id siding.InputID) (int64, error) {
	q, err := c.number("SELECT queue FROM inputs WHERE id = ? AND state <> 'dropping'", int64(id))
	if err == nil && q == 0 {
		err = errNoInput(id)
	}
	return q, err
}

// InputStats counts the members of an input and their calls; see [siding.Manifest]. It reads sums that every write keeps.
func (s *Store) InputStats(ctx context.Context, id siding.InputID, digest string) (siding.InputStats, error) {
	var out siding.InputStats
	err := s.snapshot(ctx, func(c *conn) error {
		q, err := inputQueue(c, id)
		if err != nil {
			return err
		}
		t, err := tallyOf(c, tallyScope{q, int64(id)})
		if err != nil {
			return err
		}
		sp := t.spend
		out = siding.InputStats{
			Done: t.states[siding.StateDone], Dead: t.states[siding.StateDead], Discarded: t.states[siding.StateDiscarded],
			Leased: t.states[siding.StateLeased], Pending: t.states[siding.StateReady] + t.states[siding.StateLeased],
			Retrying: t.tried, Waiting: t.waiting, Calls: sp.calls, UnknownCalls: sp.maybe, UnpricedCalls: sp.unpriced, Cost: sp.cost,
			UnknownMax: sp.maybeMax, Usage: sp.usage, Causes: t.causes,
		}
		out.Enqueued = out.Done + out.Dead + out.Pending + out.Discarded
		out.Stale = out.Done - t.digests[digest]
		return nil
	})
	return out, err
}
