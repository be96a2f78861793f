package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// arrive takes in that a message was set aside.
func (x *tx) arrive(m *message) {
	k := siding.GroupKey{Queue: m.Queue, Fingerprint: m.LastError.Fingerprint}
	g, ok := x.groups[k]
	if !ok {
		g = siding.NewGroup(k, m.LastError.Cause)
	}
	g.Arrive(m.ID, m.LastError.Text, x.now)
	set(x, x.groups, k, g)
}

// Groups gives groups of dead letters; see [siding.Quarantine].
func (s *Store) Groups(ctx context.Context, q siding.GroupQuery) ([]siding.Group, error) {
	var out []siding.Group
	err := s.read(ctx, func(x *tx) error {
		dead := map[siding.GroupKey]int64{}
		x.each(q.Queue, func(m *message) {
			if m.State == siding.StateDead {
				dead[siding.GroupKey{Queue: m.Queue, Fingerprint: m.LastError.Fingerprint}]++
			}
		})
		for g := range maps.Values(x.groups) {
			g.Dead = dead[g.Key]
			if (q.Queue == "" || g.Key.Queue == q.Queue) && among(q.Fingerprints, g.Key.Fingerprint) && among(q.States, g.State) &&
				(q.Empty || g.Dead > 0) {
				out = append(out, g)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b siding.Group) int {
		return cmp.Or(cmp.Compare(b.Dead, a.Dead), strings.Compare(a.Key.Queue, b.Key.Queue), strings.Compare(a.Key.Fingerprint, b.Key.Fingerprint))
	})
	return out, nil
}

// MarkGroup changes what operators make of a group; see [siding.Quarantine].
func (s *Store) MarkGroup(ctx context.Context, key siding.GroupKey, state siding.GroupState, note string) error {
	if state != "" && !slices.Contains(siding.GroupStates(), state) {
		return fmt.Errorf("a group cannot be %q", siding.Scrub(string(state), 64))
	}
	return s.write(ctx, "MarkGroup", func(x *tx) error {
		g, ok := x.groups[key]
		if !ok {
			return fmt.Errorf("the group %q of queue %q: %w", siding.Scrub(key.Fingerprint, 128), siding.Scrub(key.Queue, 128), siding.ErrNotFound)
		}
		if state == "" && note == "" {
			return nil
		}
		act := siding.ActOf(ctx)
		g.Mark(state, note, act.By, x.now)
		set(x, x.groups, key, g)
		what := string(state)
		if note != "" {
			what = strings.TrimPrefix(what+", "+siding.Scrub(note, siding.MaxHeader), ", ")
		}
		x.did(act, siding.ActionMarkGroup, key.Queue, what, 1, key.Fingerprint)
		return nil
	})
}
