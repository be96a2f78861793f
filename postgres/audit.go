package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/siding-dev/siding"
)

// entryKey is what joins writes into one entry of the audit trail: an act, or one call where no act is named.
type entryKey struct {
	act    string
	call   int64 // the time of the call, which no other has
	action siding.Action
}

// keptEntry is an entry that a transaction adds to; its end writes it.
type keptEntry struct {
	siding.AuditEntry // Number is 0 while it is new
	changed           bool
}

// did records what an operator's call has changed; see [siding.AuditEntry.Did].
func (t *tx) did(a siding.Act, action siding.Action, queue, what string, n int64, ids ...string) error {
	k := entryKey{act: a.ID, action: action}
	if a.ID == "" {
		k.call = t.now
	}
	e := t.entries[k]
	if e == nil {
		e = &keptEntry{AuditEntry: siding.AuditEntry{Act: a, Action: action}}
		if a.ID != "" {
			_, err := t.one(func(r *row) {
				if found := r.entry(); r.err == nil {
					e.AuditEntry = found
				}
				r.err = nil // one that cannot be read is written anew
			}, "SELECT "+entryColumns+" FROM audit WHERE act = ? AND action = ?", a.ID, string(action))
			if err != nil {
				return err
			}
		}
		t.entries[k] = e
	}
	e.Did(queue, what, n, ids, fromMicros(t.now))
	e.changed = true
	return nil
}

// keepEntries writes the entries that were added to.
func (t *tx) keepEntries() error {
	for _, e := range t.entries {
		if !e.changed {
			continue
		}
		var err error
		if e.Number == 0 {
			e.Number, err = t.insert(`INSERT INTO audit (act, operator, asked, action, at, last, queue, n, detail)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, e.Act.ID, e.Act.By, e.Act.Text, string(e.Action), e.At.UnixMicro(),
				e.Last.UnixMicro(), e.Queue, e.Count, e.Detail)
		} else {
			err = t.guarded("UPDATE audit SET last = ?, queue = ?, n = ?, detail = ? WHERE id = ?",
				e.Last.UnixMicro(), e.Queue, e.Count, e.Detail, e.Number)
		}
		if err != nil {
			return err
		}
		e.changed = false
	}
	return nil
}

const entryColumns = "id, act, operator, asked, action, at, last, queue, n, detail"

// entry reads [entryColumns].
func (r *row) entry() siding.AuditEntry {
	return siding.AuditEntry{
		Number: r.int(0), Act: siding.Act{ID: r.str(1), By: r.str(2), Text: r.str(3)}, Action: siding.Action(r.str(4)),
		At: r.time(5), Last: r.time(6), Queue: r.str(7), Count: r.int(8), Detail: r.str(9),
	}
}

// Audit walks over the audit trail; see [siding.Quarantine].
func (s *Store) Audit(ctx context.Context, o siding.AuditOptions) iter.Seq2[siding.AuditEntry, error] {
	where, args := []string{"id < ?"}, []any{int64(0)}
	add := func(cond string, values ...any) {
		where, args = append(where, cond), append(args, values...)
	}
	if o.Queue != "" {
		add("queue = ?", o.Queue)
	}
	in(add, "action", o.Actions)
	if !o.Since.IsZero() {
		add("last >= ?", o.Since.UnixMicro())
	}
	if !o.Until.IsZero() {
		add("at < ?", o.Until.UnixMicro())
	}
	query := "SELECT " + entryColumns + " FROM audit WHERE " + strings.Join(where, " AND ") + " ORDER BY id DESC LIMIT ?"
	type shown struct {
		siding.AuditEntry
		err error
	}
	return func(yield func(siding.AuditEntry, error) bool) {
		given := 0
		for before := int64(1<<63 - 1); ; {
			var page []shown
			args[0] = before
			err := s.read(ctx, func(c *conn) error {
				return c.query(func(r *row) error {
					e := shown{AuditEntry: r.entry()}
					if before = e.Number; r.err != nil {
						e.err = fmt.Errorf("entry %d of the audit trail: %w", e.Number, r.err)
					}
					page = append(page, e)
					return nil
				}, query, append(append([]any{}, args...), pageSize)...)
			})
			if err != nil {
				yield(siding.AuditEntry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e.AuditEntry, e.err) {
					return
				}
				if given++; given == o.Limit {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}
