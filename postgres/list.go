package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

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
		walks = append(walks, newWalk(s, sel, false))
	}
	if dead {
		walks = append(walks, newWalk(s, sel, true))
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
	dead  bool
	query string
	args  []any
	at    int64
	id    int64
	page  []listed
	ended bool
}

func newWalk(s *Store, sel siding.Selection, dead bool) *walk {
	w := &walk{s: s, dead: dead, at: -1 << 62, id: -1 << 62}
	at, index := "m.received_at", ""
	where := []string{"m.state <> 'dead'"}
	if dead {
		at, index = "m.dead_at", ""
		where[0] = "m.state = 'dead'"
	}
	add := func(cond string, args ...any) {
		where = append(where, cond)
		w.args = append(w.args, args...)
	}
	in(add, "m.state", sel.States)
	conditions(add, sel, at)
	if dead {
		where = append(where, "(m.dead_at, m.id) > (?, ?)")
	} else {
		where = append(where, "m.id > ?")
	}
	order := "m.id"
	if dead {
		order = "m.dead_at, m.id"
	}
	if len(sel.IDs) > 0 && sel.Queue != "" {
		index = ""
	}
	from := strings.Replace(shownFrom, "FROM messages m", "FROM messages m"+index, 1)
	w.query = "SELECT " + shownColumns + ", " + at + from + " WHERE " + strings.Join(where, " AND ") + " ORDER BY " + order + " LIMIT ?"
	return w
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

// conditions adds what a selection asks of a message m besides its state; at is the time that Since and Until bound.
func conditions(add func(string, ...any), sel siding.Selection, at string) {
	if sel.Queue != "" {
		add("m.queue = (SELECT id FROM queues WHERE name = ?)", sel.Queue)
	}
	in(add, "m.event_id", sel.IDs)
	in(add, "m.cause", sel.Causes)
	in(add, "m.fingerprint", sel.Fingerprints)
	in(add, "m.reason", sel.Reasons)
	if !sel.Since.IsZero() {
		add(at+" >= ?", sel.Since.UnixMicro())
	}
	if !sel.Until.IsZero() {
		add(at+" < ?", sel.Until.UnixMicro())
	}
	if sel.Input != 0 {
		add("EXISTS (SELECT 1 FROM members s WHERE s.message = m.id AND s.input = ?)", int64(sel.Input))
	}
}

// fill reads the next page where the last is used up.
func (w *walk) fill(ctx context.Context) error {
	if len(w.page) > 0 || w.ended {
		return nil
	}
	w.page = nil
	args := append([]any{}, w.args...)
	if w.dead {
		args = append(args, w.at)
	}
	args = append(args, w.id, pageSize)
	err := w.s.snapshot(ctx, func(c *conn) error {
		err := c.query(func(r *row) error {
			l := listed{stored: r.shown(), at: r.int(shownWidth)}
			l.err = r.err
			w.page = append(w.page, l)
			return nil
		}, w.query, args...)
		if err != nil {
			return err
		}
		for i := range w.page {
			l := &w.page[i]
			if l.err == nil {
				l.source, l.err = sourceOf(c, &l.stored)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n := len(w.page); n < pageSize {
		w.ended = true
	} else {
		w.at, w.id = w.page[n-1].at, w.page[n-1].id
	}
	return nil
}
