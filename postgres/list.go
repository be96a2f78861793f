package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/siding-dev/siding"
)

// pageSize is how many rows one step of a walk reads.
const pageSize = 200

// List walks over messages; see [siding.Operator]. Dead letters stand in an index by the time they were set aside, the
// others in the order of receipt: the two are walked side by side and merged by time.
func (s *Store) List(ctx context.Context, sel siding.Selection) iter.Seq2[siding.Listed, error] {
	return func(yield func(siding.Listed, error) bool) {
		if sel.Input != 0 {
			if err := s.hasInput(ctx, sel.Input); err != nil {
				yield(siding.Listed{}, err)
				return
			}
		}
		walks := s.walksOf(sel)
		for n := 0; sel.Limit <= 0 || n < sel.Limit; n++ {
			l, err := earliest(ctx, walks)
			if err != nil {
				yield(siding.Listed{}, err)
				return
			}
			if l == nil {
				return
			}
			if l.err == nil && sel.Bodies {
				l.err = s.read(ctx, func(c *conn) error { return bodyOf(c, &l.stored) })
				if errors.Is(l.err, siding.ErrClosed) || ctx.Err() != nil {
					yield(siding.Listed{}, l.err)
					return
				}
			}
			if !yield(l.given()) {
				return
			}
		}
	}
}

// walksOf gives the walks that together find what a selection names.
func (s *Store) walksOf(sel siding.Selection) []*walk {
	dead, others := true, true
	if len(sel.States) > 0 {
		dead, others = false, false
		for _, st := range sel.States {
			dead, others = dead || st == siding.StateDead, others || st != siding.StateDead
		}
	}
	var walks []*walk
	if others && len(sel.Reasons) == 0 { // only dead ones have a reason
		walks = append(walks, walkOthers(s, sel))
	}
	if dead {
		walks = append(walks, walkDeadLetters(s, sel))
	}
	return walks
}

// earliest takes the next row of the walk that has the earliest; nil when all have ended.
func earliest(ctx context.Context, walks []*walk) (*listed, error) {
	var first *walk
	for _, w := range walks {
		if err := w.fill(ctx); err != nil {
			return nil, err
		}
		if len(w.page) > 0 && (first == nil || w.page[0].before(&first.page[0])) {
			first = w
		}
	}
	if first == nil {
		return nil, nil //nolint:nilnil // the end
	}
	l := first.page[0]
	first.page = first.page[1:]
	return &l, nil
}

// listed is a row of a listing, with its place in it.
type listed struct {
	stored
	at     int64
	source *siding.Source
	err    error
}

// given is the row as a listing gives it.
func (l *listed) given() (siding.Listed, error) {
	if l.err != nil {
		return siding.Listed{}, fmt.Errorf("message %q of queue %q, row %d: %w", siding.Scrub(l.ID, 128), l.Queue, l.id, l.err)
	}
	return siding.Listed{Message: l.Message, Source: l.source}, nil
}

func (l *listed) before(o *listed) bool { return l.at < o.at || l.at == o.at && l.id < o.id }

// walk reads one kind of messages in small steps, each from where the last one ended.
type walk struct {
	s     *Store
	read  func(c *conn) ([]listed, error) // the next page; a short one is the last
	size  int
	page  []listed
	ended bool
}

// walkOthers reads messages that are not dead, in the order of receipt.
func walkOthers(s *Store, sel siding.Selection) *walk {
	var args []any
	where, from := "m.state <> 'dead'", int64(math.MinInt64)
	add := func(cond string, values ...any) {
		where += " AND " + cond
		args = append(args, values...)
	}
	in(add, "m.state", sel.States)
	if sel.Queue != "" {
		add("m.queue = (SELECT id FROM queues WHERE name = ?)", sel.Queue)
	}
	in(add, "m.event_id", sel.IDs)
	in(add, "m.cause", sel.Causes)
	in(add, "m.fingerprint", sel.Fingerprints)
	if !sel.Since.IsZero() {
		add("m.received_at >= ?", sel.Since.UnixMicro())
	}
	if !sel.Until.IsZero() {
		add("m.received_at < ?", sel.Until.UnixMicro())
	}
	if sel.Input != 0 {
		add("EXISTS (SELECT 1 FROM members s WHERE s.message = m.id AND s.input = ?)", int64(sel.Input))
	}
	query := "SELECT " + shownColumns + ", m.received_at" + shownFrom + " WHERE " + where + " AND m.id > ? ORDER BY m.id LIMIT ?"
	return &walk{s: s, size: pageSize, read: func(c *conn) (page []listed, err error) {
		err = c.query(func(r *row) error {
			page = append(page, r.listed())
			return nil
		}, query, append(slices.Clone(args), from, pageSize)...)
		if len(page) > 0 {
			from = page[len(page)-1].id
		}
		return page, err
	}}
}

// walkDeadLetters reads dead letters in the order in which they were set aside.
func walkDeadLetters(s *Store, sel siding.Selection) *walk {
	var places *deadWalk
	size := pageSize
	if sel.Limit > 0 {
		size = min(size, sel.Limit)
	}
	return &walk{s: s, size: size, read: func(c *conn) (page []listed, err error) {
		if places == nil {
			if places, err = walkDead(c, sel, beginning, false); err != nil {
				return nil, err
			}
		}
		next, err := places.next(c, size)
		for i := 0; i < len(next) && err == nil; i++ {
			_, err = c.one(func(r *row) {
				page = append(page, r.listed())
				r.err = nil
			}, "SELECT "+shownColumns+", m.dead_at"+shownFrom+" WHERE m.id = ?", next[i].Number)
		}
		return page, err
	}}
}

// listed reads [shownColumns] and the time by which messages are listed.
func (r *row) listed() listed {
	l := listed{stored: r.shown(), at: r.int(shownWidth)}
	l.err = r.err
	return l
}

// fill reads the next page where the last is used up.
func (w *walk) fill(ctx context.Context) error {
	if len(w.page) > 0 || w.ended {
		return nil
	}
	return w.s.snapshot(ctx, func(c *conn) (err error) {
		if w.page, err = w.read(c); err != nil {
			return err
		}
		w.ended = len(w.page) < w.size
		for i := range w.page {
			l := &w.page[i]
			if l.err == nil {
				l.source, l.err = sourceOf(c, &l.stored)
			}
		}
		return nil
	})
}

// in adds the condition that a column is one of the values; no values are no condition.
func in[T ~string](add func(string, ...any), column string, values []T) {
	if len(values) == 0 {
		return
	}
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	add(column+" = ANY (?::text[])", list)
}
