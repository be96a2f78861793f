package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/siding-dev/siding"
)

// Stats counts the messages of queues; see [siding.Operator]. The counts are kept by every write; only the delayed
// messages are counted when asked for.
func (s *Store) Stats(ctx context.Context, queue string) ([]siding.QueueStats, error) {
	var out []siding.QueueStats
	err := s.snapshot(ctx, func(c *conn) error {
		now, err := c.number("SELECT peek(?)", s.wall())
		if err != nil {
			return err
		}
		type named struct {
			id, stale int64
			name      string
		}
		var queues []named
		err = c.query(func(r *row) error {
			queues = append(queues, named{r.int(0), r.int(2), r.str(1)})
			return r.err
		}, "SELECT id, name, stale_settles FROM queues WHERE ?1::text = '' OR name = ?1 ORDER BY name", queue)
		if err != nil {
			return err
		}
		for _, q := range queues {
			st := siding.QueueStats{Queue: q.name, StaleSettles: q.stale}
			if err := queueStats(c, q.id, now, &st); err != nil {
				return err
			}
			out = append(out, st)
		}
		return nil
	})
	return out, err
}

func queueStats(c *conn, q, now int64, st *siding.QueueStats) error {
	t, err := tallyOf(c, tallyScope{queue: q})
	if err != nil {
		return err
	}
	st.Ready, st.Leased, st.Done, st.Dead, st.Discarded = t.states[siding.StateReady], t.states[siding.StateLeased],
		t.states[siding.StateDone], t.states[siding.StateDead], t.states[siding.StateDiscarded]
	st.Retrying, st.Waiting, st.Causes = t.triedReady, t.waiting, t.causes
	sp := t.spend
	st.Calls, st.UnknownCalls, st.UnpricedCalls, st.Cost, st.UnknownMax = sp.calls, sp.maybe, sp.unpriced, sp.cost, sp.maybeMax
	if st.Ready == 0 {
		return nil
	}
	st.Delayed, err = c.number("SELECT count(*) FROM messages WHERE state = 'ready' AND queue = ? AND available_at > ?", q, now)
	if err != nil {
		return err
	}
	// Numbers rise in the order of receipt.
	_, err = c.one(func(r *row) { st.OldestReady = r.time(0) }, `SELECT received_at FROM messages WHERE id =
		(SELECT min(id) FROM messages WHERE state = 'ready' AND queue = ?)`, q)
	return err
}

// counted is what is kept about a queue or an input.
type counted struct {
	states     map[siding.State]int64
	triedReady int64 // of the ready ones: attempt > 0
	tried      int64 // of the ready and leased ones
	waiting    []siding.WaitCount
	digests    map[string]int64
	causes     []siding.CauseCount
	spend      spend
}

// tallyOf reads what is kept about a queue or an input.
func tallyOf(c *conn, scope tallyScope) (counted, error) {
	out := counted{states: map[siding.State]int64{}, digests: map[string]int64{}}
	err := c.query(func(r *row) error {
		state, n := siding.State(r.str(0)), r.int(4)
		out.states[state] += n
		switch state {
		case siding.StateReady, siding.StateLeased:
			if r.bool(1) {
				out.tried += n
				if state == siding.StateReady {
					out.triedReady += n
				}
			}
			if queue := r.str(2); queue != "" {
				out.addWaiting(queue, n)
			}
		case siding.StateDone:
			out.digests[r.str(2)] += n
		case siding.StateDead:
			out.addCause(siding.Cause(r.str(2)), r.str(3), n)
		}
		return r.err
	}, `SELECT state, tried, detail, fingerprint, sum(n)::bigint FROM tallies WHERE queue = ? AND input = ?
		GROUP BY state, tried, detail, fingerprint HAVING sum(n) <> 0`, scope.queue, scope.input)
	if err != nil {
		return out, err
	}
	slices.SortFunc(out.causes, func(a, b siding.CauseCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	for i := range out.causes {
		g := &out.causes[i]
		if i == maxSamples {
			break
		}
		_, err := c.one(func(r *row) { g.Sample = r.str(0) }, `SELECT e.error FROM messages m
			JOIN last_errors e ON e.message = m.id WHERE m.state = 'dead' AND m.queue = ? AND m.fingerprint = ? LIMIT 1`,
			scope.queue, g.Fingerprint)
		if err != nil {
			return out, err
		}
	}
	_, err = c.one(func(r *row) { out.spend = r.spendAt(0) },
		totalSpend, scope.queue, scope.input)
	return out, err
}

// maxSamples bounds for how many groups a sample is looked up.
const maxSamples = 1000

// addWaiting adds to a queue's count; what has failed before and what has not are kept apart, and shown as one.
func (c *counted) addWaiting(queue string, n int64) {
	at, found := slices.BinarySearchFunc(c.waiting, queue, func(w siding.WaitCount, q string) int { return cmp.Compare(w.Queue, q) })
	if !found {
		c.waiting = slices.Insert(c.waiting, at, siding.WaitCount{Queue: queue})
	}
	c.waiting[at].Count += n
}

// addCause adds to a group; what has failed before and what has not are kept apart, and shown as one.
func (c *counted) addCause(cause siding.Cause, fingerprint string, n int64) {
	for i := range c.causes {
		if g := &c.causes[i]; g.Cause == cause && g.Fingerprint == fingerprint {
			g.Count += n
			return
		}
	}
	c.causes = append(c.causes, siding.CauseCount{Cause: cause, Fingerprint: fingerprint, Count: n})
}
