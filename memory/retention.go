package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// DropBodies drops bodies; see [siding.Quarantine].
func (s *Store) DropBodies(ctx context.Context, d siding.Drop) (int64, error) {
	if err := d.Check(); err != nil {
		return 0, err
	}
	act := siding.ActOf(ctx)
	var n int64
	err := s.write(ctx, "DropBodies", func(x *tx) error {
		x.each(d.Queue, func(m *message) {
			if most := int64(d.Limit) - n; most > 0 {
				n += x.drop(m, d, most, act.By)
			}
		})
		if n > 0 {
			x.did(act, siding.ActionDrop, d.Queue, d.String(), n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// drop drops bodies of a message, and gives how many.
func (x *tx) drop(m *message, d siding.Drop, most int64, by string) (n int64) {
	c := *m
	switch {
	case d.What == siding.DropHistory:
		c.revisions = slices.Clone(m.revisions)
		for i := range c.revisions {
			v := &c.revisions[i]
			if n < most && v.At.Before(d.Before) && (v.Body != nil || v.Result != nil) {
				v.Body, v.Result = nil, nil
				v.Note = strings.TrimPrefix(v.Note+"; dropped by retention", "; ")
				n++
			}
		}
	case !m.NoBody && (d.What == siding.DropDead && m.State == siding.StateDead && m.DeadAt.Before(d.Before) ||
		d.What == siding.DropDone && m.State == siding.StateDone && m.ReceivedAt.Before(d.Before)):
		c.Body, c.NoBody = nil, true
		c.revise(siding.Revision{At: x.now, Kind: siding.RevisionDropped, Note: "by retention", By: by})
		n = 1
	}
	if n > 0 {
		x.put(&c)
	}
	return n
}

// RedriveSelected redrives some of the dead letters that a selection names; see [siding.Quarantine].
func (s *Store) RedriveSelected(ctx context.Context, sel siding.Selection, limit int) (int64, error) {
	sel.States = []siding.State{siding.StateDead}
	act, h := siding.ActOf(ctx), handOf(ctx)
	var n int64
	err := s.write(ctx, "RedriveSelected", func(x *tx) error {
		selected, err := x.selector(sel)
		if err != nil {
			return err
		}
		var all []*message
		x.each(sel.Queue, func(m *message) {
			if selected(m) && !m.NoBody {
				all = append(all, m)
			}
		})
		slices.SortFunc(all, func(a, b *message) int { return cmp.Or(a.DeadAt.Compare(b.DeadAt), cmp.Compare(a.number, b.number)) })
		for _, m := range all[:min(len(all), limit)] {
			c := *m
			if err := x.redrive(&c, h); err != nil {
				return err
			}
			x.did(act, siding.ActionRedrive, sel.Queue, "", 1, c.ID)
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
