package postgres

import (
	"container/heap"
	"math"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// deadWalk walks over the dead letters that a selection names, in the order in which they were set aside. Each queue's
// stand in one index in that order, and each group's in another; what is asked for is a number of such rows, which are
// walked side by side. It holds places only, and may go on in another snapshot.
type deadWalk struct {
	query string
	more  []any      // what it asks of every row
	rows  []*deadRow // those that are not at their end, as a heap
	fill  int        // how many places of a row are read at once
}

// deadRow is a row of an index: dead letters one after the other.
type deadRow struct {
	key   []any        // where it stands in the index
	at    siding.Place // the last that was read
	page  []siding.Place
	ended bool
}

// beginning is the place before all others.
var beginning = siding.Place{At: math.MinInt64, Number: math.MinInt64}

// walkDead begins a walk after a place. Where bodied is set, those whose body has been dropped are left out. Of a
// selection's States, Bodies and Limit it takes no notice. The sums must have been written.
func walkDead(c *conn, sel siding.Selection, from siding.Place, bodied bool) (*deadWalk, error) {
	if since := sel.Since; !since.IsZero() && since.UnixMicro()-1 >= from.At {
		from = siding.Place{At: since.UnixMicro() - 1, Number: math.MaxInt64}
	}
	queues, err := deadQueues(c, sel.Queue)
	if err != nil {
		return nil, err
	}
	w := &deadWalk{}
	add := func(args ...any) {
		w.rows = append(w.rows, &deadRow{key: append(slices.Clip(args), false), at: from})
		if !bodied {
			w.rows = append(w.rows, &deadRow{key: append(slices.Clip(args), true), at: from})
		}
	}
	index, where := "messages_dead", "m.queue = ?"
	switch {
	case len(sel.IDs) > 0:
		index = "messages_event"
	case len(sel.Causes) > 0 || len(sel.Fingerprints) > 0:
		index, where = "messages_dead_group", where+" AND m.fingerprint = ?"
	}
	for _, q := range queues {
		if index != "messages_dead_group" {
			add(q)
			continue
		}
		err := deadGroups(c, q, sel, func(fingerprint string) { add(q, fingerprint) })
		if err != nil {
			return nil, err
		}
	}
	where += " AND m.no_body = ? AND (m.dead_at, m.id) > (?, ?)"
	more := func(cond string, values ...any) {
		where += " AND " + cond
		w.more = append(w.more, values...)
	}
	if !sel.Until.IsZero() {
		more("m.dead_at < ?", sel.Until.UnixMicro())
	}
	if index == "messages_event" {
		in(more, "m.event_id", sel.IDs)
		in(more, "m.cause", sel.Causes)
		in(more, "m.fingerprint", sel.Fingerprints)
	}
	in(more, "m.reason", sel.Reasons)
	if sel.Input != 0 {
		more("EXISTS (SELECT 1 FROM members s WHERE s.message = m.id AND s.input = ?)", int64(sel.Input))
	}
	w.query = "SELECT m.dead_at, m.id FROM messages m WHERE m.state = 'dead' AND " + where +
		" ORDER BY m.dead_at, m.id LIMIT ?"
	return w, nil
}

// deadQueues gives the queues that have dead letters: the one that is named, or all.
func deadQueues(c *conn, name string) (out []int64, err error) {
	collect := func(r *row) error {
		if !r.null(0) {
			out = append(out, r.int(0))
		}
		return r.err
	}
	if name != "" {
		err = c.query(collect, "SELECT id FROM queues WHERE name = ?", name)
		return out, err
	}
	// One look into the index for each, however many dead letters it has.
	err = c.query(collect, `WITH RECURSIVE found (queue) AS (
		SELECT min(queue) FROM messages WHERE state = 'dead'
		UNION ALL SELECT (SELECT min(queue) FROM messages WHERE state = 'dead' AND queue > found.queue)
		FROM found WHERE found.queue IS NOT NULL) SELECT queue FROM found`)
	return out, err
}

// deadGroups gives the groups of a queue that a selection names and that have dead letters. A fingerprint is of one cause.
func deadGroups(c *conn, queue int64, sel siding.Selection, fn func(fingerprint string)) error {
	var conds strings.Builder
	args := []any{queue}
	add := func(cond string, values ...any) {
		conds.WriteString(" AND " + cond)
		args = append(args, values...)
	}
	in(add, "detail", sel.Causes)
	in(add, "fingerprint", sel.Fingerprints)
	return c.query(func(r *row) error {
		fn(r.str(0))
		return r.err
	}, "SELECT fingerprint FROM tallies WHERE queue = ? AND input = 0 AND state = 'dead'"+conds.String()+
		" GROUP BY fingerprint HAVING sum(n) <> 0", args...)
}

// next gives the next places, at most n; fewer when there are no more.
func (w *deadWalk) next(c *conn, n int) (out []siding.Place, err error) {
	if w.fill == 0 { // the first time
		w.fill = n
		if len(w.rows) > 1 {
			w.fill = min(max(2*n/len(w.rows), 4), n)
		}
		waiting := w.rows
		w.rows = nil
		for _, r := range waiting {
			if err := w.read(c, r); err != nil {
				return nil, err
			}
			if len(r.page) > 0 {
				w.rows = append(w.rows, r)
			}
		}
		heap.Init(w)
	}
	for len(out) < n && len(w.rows) > 0 {
		r := w.rows[0]
		out, r.page = append(out, r.page[0]), r.page[1:]
		if len(r.page) == 0 && !r.ended {
			if err := w.read(c, r); err != nil {
				return nil, err
			}
		}
		if len(r.page) == 0 {
			heap.Pop(w)
		} else if len(w.rows) > 1 {
			heap.Fix(w, 0)
		}
	}
	return out, nil
}

// read reads the next places of a row.
func (w *deadWalk) read(c *conn, r *deadRow) error {
	r.page = nil
	err := c.query(func(row *row) error {
		r.at = siding.Place{At: row.int(0), Number: row.int(1)}
		r.page = append(r.page, r.at)
		return row.err
	}, w.query, slices.Concat(r.key, []any{r.at.At, r.at.Number}, w.more, []any{w.fill})...)
	r.ended = len(r.page) < w.fill
	return err
}

func (w *deadWalk) Len() int { return len(w.rows) }

func (w *deadWalk) Less(i, j int) bool {
	a, b := w.rows[i].page[0], w.rows[j].page[0]
	return a.At < b.At || a.At == b.At && a.Number < b.Number
}

func (w *deadWalk) Swap(i, j int) { w.rows[i], w.rows[j] = w.rows[j], w.rows[i] }

func (w *deadWalk) Push(any) {} // no row comes back

func (w *deadWalk) Pop() any {
	w.rows = w.rows[:len(w.rows)-1]
	return nil
}
