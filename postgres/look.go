package postgres

import (
	"math"

	"github.com/siding-dev/siding"
)

// glimpse is what a lease mostly has to know, read in one way to the server and back. What happens within the lease makes
// it void, in parts.
type glimpse struct {
	lapsed, expired []ready // not read where the transaction has looked at the queue already
	swept           bool
	apart, anyApart bool        // known, and what
	tops            map[int]top // by turn
}

// top is the highest priority of a turn in which messages wait, and the earliest time in it.
type top struct {
	priority, at int64
	found        bool
}

const (
	lapsedOf = "SELECT " + messageColumns + ` FROM messages m
		WHERE m.state = 'leased' AND m.queue = ? AND m.lease_until <= ? ORDER BY m.lease_until LIMIT ?` + lockFound
	expiredOf = "SELECT " + messageColumns + ` FROM messages m
		WHERE m.state = 'ready' AND m.queue = ? AND m.expires_at <= ? LIMIT ?` + lockFound
	anyApartOf = "SELECT m.id" + apartOf + " LIMIT 1"
	leasedSum  = "SELECT coalesce(sum(n), 0)::bigint FROM tallies WHERE queue = ? AND input = ? AND state = 'leased'"
)

func collect(to *[]ready) func(*row) error {
	return func(r *row) error {
		m := ready{stored: r.message()}
		m.err = r.err
		*to = append(*to, m)
		return nil
	}
}

// look takes a glimpse at a claim's queue.
func (t *tx) look(c *claim) error {
	g := &c.glimpse
	g.tops = map[int]top{}
	if g.swept = t.swept[c.q]; !g.swept {
		t.ask(collect(&g.lapsed), lapsedOf, c.q, t.now, sweepMost)
		t.ask(collect(&g.expired), expiredOf, c.q, t.now, sweepMost)
	}
	t.ask(func(*row) error { g.anyApart = true; return nil }, anyApartOf, c.q)
	query, of := c.pick(topOf, topOfInput)
	for turn := turnWaiting; turn < turnApart; turn++ {
		g.tops[turn] = top{}
		t.ask(func(r *row) error {
			g.tops[turn] = top{r.int(0), r.int(1), true}
			return r.err
		}, query, of, turn, int64(math.MaxInt64))
	}
	if _, known := t.leased[c.scope]; !known {
		t.ask(func(r *row) error {
			t.leased[c.scope] = r.int(0) + t.unwritten(c.scope, siding.StateLeased)
			return r.err
		}, leasedSum, c.scope.queue, c.scope.input)
	}
	err := t.flush()
	g.apart = err == nil
	return err
}

// void forgets the glimpse of a turn, or of all where something has changed its turn.
func (c *claim) void(turn int) {
	delete(c.glimpse.tops, turn)
}

func (c *claim) voidAll() {
	c.glimpse.apart = false
	clear(c.glimpse.tops)
}
