package storetest

import (
	"context"
	"slices"

	"github.com/siding-dev/siding"
)

// groups: each has as many dead letters as there are, no more than ever arrived, and says nothing that contradicts itself.
func (c *checker) groups(ctx context.Context, store siding.Store, queue string) {
	all, err := store.Groups(ctx, siding.GroupQuery{Queue: queue, Empty: true})
	if err != nil {
		c.broken(queue, "", "the groups cannot be read: %v", err)
		return
	}
	for i, g := range all {
		rule := func(holds bool, format string, args ...any) {
			if !holds {
				c.broken(g.Key.Queue, "", "group "+g.Key.Fingerprint+" "+format, args...)
			}
		}
		rule(g.Dead == c.dead[g.Key], "has %d dead letters, and %d are there", g.Dead, c.dead[g.Key])
		delete(c.dead, g.Key)
		rule(g.Dead <= g.Arrived, "has %d dead letters, and %d arrived", g.Dead, g.Arrived)
		rule(slices.Contains(siding.GroupStates(), g.State), "is %q", g.State)
		rule(g.Cause != "" && g.SampleID != "", "has no cause or no sample")
		rule(!g.FirstSeen.IsZero() && !g.LastSeen.Before(g.FirstSeen), "was first seen at %v, and last at %v", g.FirstSeen, g.LastSeen)
		rule(g.RegressedAt.IsZero() || g.State != siding.GroupResolved, "is resolved, and came back")
		rule(g.ChangedAt.IsZero() == (g.State == siding.GroupNew && g.RegressedAt.IsZero() && g.Note == "") || !g.ChangedAt.IsZero(),
			"was changed by nobody to %q", g.State)
		for _, text := range []string{g.Note, g.By, g.SampleText} {
			rule(text == siding.Scrub(text, siding.MaxHeader), "has an unsafe text")
		}
		rule(i == 0 || all[i-1].Dead >= g.Dead, "is listed after a smaller one")
	}
	for k, n := range c.dead {
		c.broken(k.Queue, "", "%d dead letters are in the group %s, which is not there", n, k.Fingerprint)
	}
}
