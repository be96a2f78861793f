package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// Groups gives groups of dead letters; see [siding.Quarantine]. A group of which nothing can be read is given with what its
// dead letters tell.
func (s *Store) Groups(ctx context.Context, q siding.GroupQuery) ([]siding.Group, error) {
	var out []siding.Group
	err := s.snapshot(ctx, func(c *conn) error {
		out = nil
		queues := map[int64]string{}
		err := c.query(func(r *row) error {
			queues[r.int(0)] = r.str(1)
			return r.err
		}, "SELECT id, name FROM queues WHERE ?1::text = '' OR name = ?1", q.Queue)
		for id, name := range queues {
			if err != nil {
				break
			}
			var all map[string]*siding.Group
			if all, err = groupsOf(c, id, q.Empty); err != nil {
				break
			}
			for fingerprint, g := range all {
				g.Key = siding.GroupKey{Queue: name, Fingerprint: fingerprint}
				if (len(q.Fingerprints) == 0 || slices.Contains(q.Fingerprints, fingerprint)) &&
					(len(q.States) == 0 || slices.Contains(q.States, g.State)) {
					out = append(out, *g)
				}
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b siding.Group) int {
		return cmp.Or(cmp.Compare(b.Dead, a.Dead), strings.Compare(a.Key.Queue, b.Key.Queue), strings.Compare(a.Key.Fingerprint, b.Key.Fingerprint))
	})
	return out, nil
}

// groupsOf gives the groups of a queue by their fingerprints: those with dead letters, or all.
func groupsOf(c *conn, queue int64, empty bool) (map[string]*siding.Group, error) {
	all := map[string]*siding.Group{}
	err := c.query(func(r *row) error {
		if fp := r.str(1); all[fp] == nil {
			g := siding.NewGroup(siding.GroupKey{}, siding.Cause(r.str(0)))
			all[fp] = &g
		}
		all[r.str(1)].Dead += r.int(2)
		return r.err
	}, `SELECT detail, fingerprint, sum(n)::bigint FROM tallies WHERE queue = ? AND input = 0 AND state = 'dead'
		GROUP BY detail, fingerprint HAVING sum(n) <> 0`, queue)
	if err != nil {
		return nil, err
	}
	err = c.query(func(r *row) error {
		fp := r.str(groupWidth)
		g := all[fp]
		if k := r.group(0); k.err == nil && (g != nil || empty) {
			if g != nil {
				k.Dead = g.Dead
			}
			all[fp] = &k.Group
		}
		return nil
	}, "SELECT "+groupColumns+", fingerprint FROM failure_groups WHERE queue = ?", queue)
	return all, err
}

// MarkGroup changes what operators make of a group; see [siding.Quarantine].
func (s *Store) MarkGroup(ctx context.Context, key siding.GroupKey, state siding.GroupState, note string) error {
	if state != "" && !slices.Contains(siding.GroupStates(), state) {
		return fmt.Errorf("a group cannot be %q", siding.Scrub(string(state), 64))
	}
	act := siding.ActOf(ctx)
	return s.write(ctx, "mark-group", 0, func(t *tx) error {
		q, err := t.queue(key.Queue, false)
		if err != nil {
			return err
		}
		k := groupKey{q, key.Fingerprint}
		g, err := t.group(k, "")
		if err != nil {
			return err
		}
		if !g.known || g.err != nil {
			// It may have dead letters all the same, should something have broken its row.
			var cause siding.Cause
			found, err := t.one(func(r *row) { cause = siding.Cause(r.str(0)) },
				`SELECT detail FROM tallies WHERE queue = ? AND input = 0 AND state = 'dead' AND fingerprint = ?
				GROUP BY detail HAVING sum(n) <> 0`, q, key.Fingerprint)
			if err != nil {
				return err
			}
			if !found && !g.known {
				return fmt.Errorf("the group %q of queue %q: %w", siding.Scrub(key.Fingerprint, 128), siding.Scrub(key.Queue, 128), siding.ErrNotFound)
			}
			g.forget(k, cause, fromMicros(t.now))
		}
		if state == "" && note == "" {
			return nil
		}
		g.Mark(state, note, act.By, fromMicros(t.now))
		g.changed = true
		what := string(state)
		if note != "" {
			what = strings.TrimPrefix(what+", "+siding.Scrub(note, siding.MaxHeader), ", ")
		}
		return t.did(act, siding.ActionMarkGroup, key.Queue, what, 1, key.Fingerprint)
	})
}
