package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// Regroup gives dead letters of an older version of the fingerprint one of this version; see [siding.Quarantine]. The
// groups that an older version has left empty are counted too: they go over by their sample.
func (s *Store) Regroup(ctx context.Context, limit int) (int64, error) {
	var n int64
	err := s.write(ctx, "Regroup", func(x *tx) error {
		for _, k := range slices.SortedFunc(maps.Keys(x.groups), func(a, b siding.GroupKey) int {
			return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Fingerprint, b.Fingerprint))
		}) {
			if !strings.HasPrefix(k.Fingerprint, siding.FingerprintVersion+"-") {
				n += x.regroup(k, int64(limit)-n, siding.Fingerprint)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// regroup moves up to limit of the dead letters of a group to the groups where they belong, and drops it when it is empty.
func (x *tx) regroup(k siding.GroupKey, limit int64, fingerprint func(siding.Cause, string) string) (n int64) {
	x.each(k.Queue, func(m *message) {
		if n >= limit || m.State != siding.StateDead || m.LastError.Fingerprint != k.Fingerprint {
			return
		}
		c := *m
		c.LastError = shownError(m.LastError)
		c.LastError.Fingerprint = fingerprint(m.LastError.Cause, m.LastError.Text)
		set(x, x.messages, c.number, &c) // it does not arrive
		x.inherit(k, c.LastError.Fingerprint)
		n++
	})
	if n >= limit {
		return n
	}
	if g := x.groups[k]; len(x.heirs[k]) == 0 {
		x.inherit(k, fingerprint(g.Cause, g.SampleText))
	}
	drop(x, x.groups, k)
	drop(x, x.heirs, k)
	return n + 1
}

// inherit has a group take over what is known of an older one, once.
func (x *tx) inherit(old siding.GroupKey, fingerprint string) {
	if slices.Contains(x.heirs[old], fingerprint) {
		return
	}
	set(x, x.heirs, old, append(slices.Clip(x.heirs[old]), fingerprint))
	to := siding.GroupKey{Queue: old.Queue, Fingerprint: fingerprint}
	g, ok := x.groups[to]
	if !ok {
		g = siding.NewGroup(to, x.groups[old].Cause)
	}
	g.Inherit(x.groups[old])
	set(x, x.groups, to, g)
}
