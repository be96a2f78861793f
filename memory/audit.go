package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/siding-dev/siding"
)

// did records what an operator's call has changed; see [siding.AuditEntry.Did].
func (x *tx) did(a siding.Act, action siding.Action, queue, what string, n int64, ids ...string) {
	e := siding.AuditEntry{Act: a, Action: action}
	for number := x.lastEntry; number > 0 && e.Number == 0; number-- {
		if old := x.entries[number]; old.Action == action && old.Act.ID == a.ID && (a.ID != "" || old.Last.Equal(x.now)) {
			e = old
		}
	}
	if e.Number == 0 {
		x.lastEntry++
		e.Number = x.lastEntry
	}
	e.Did(queue, what, n, ids, x.now)
	set(x, x.entries, e.Number, e)
}

// Audit walks over the audit trail; see [siding.Quarantine].
func (s *Store) Audit(ctx context.Context, o siding.AuditOptions) iter.Seq2[siding.AuditEntry, error] {
	return func(yield func(siding.AuditEntry, error) bool) {
		var list []siding.AuditEntry
		err := s.read(ctx, func(x *tx) error {
			for number := x.lastEntry; number > 0; number-- {
				e, ok := x.entries[number]
				if ok && (o.Queue == "" || e.Queue == o.Queue) && among(o.Actions, e.Action) &&
					(o.Since.IsZero() || !e.Last.Before(o.Since)) && (o.Until.IsZero() || e.At.Before(o.Until)) {
					list = append(list, e)
				}
			}
			return nil
		})
		if err != nil {
			yield(siding.AuditEntry{}, err)
			return
		}
		if o.Limit > 0 {
			list = slices.Clip(list[:min(len(list), o.Limit)])
		}
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}
