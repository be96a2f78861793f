package storetest

import (
	"context"
	"slices"

	"github.com/siding-dev/siding"
)

// campaigns asks for what holds of campaigns: their counters are those of their members, nobody is a member of two that
// are not over, and who was sent has not ended without being counted.
func (c *checker) campaigns(ctx context.Context, store siding.Store, queue string) {
	all, err := store.Campaigns(ctx)
	if err != nil {
		c.broken("", "", "campaigns cannot be read: %v", err)
		return
	}
	open := map[[2]string]siding.CampaignID{}
	for _, one := range all {
		if queue != "" && one.Plan.Selection.Queue != "" && one.Plan.Selection.Queue != queue {
			continue
		}
		if !slices.Contains(siding.CampaignStates(), one.State) {
			c.broken("", "", "campaign %d is in no known state: %q", one.ID, one.State)
		}
		counted := siding.Campaign{}
		for m, err := range store.CampaignMembers(ctx, one.ID) {
			if err != nil {
				c.broken("", "", "a member of campaign %d cannot be read: %v", one.ID, err)
				continue
			}
			counted.Selected++
			*counted.Count(m.Status)++
			waits := m.Status == siding.MemberPending || m.Status == siding.MemberSent
			if waits && !one.State.Over() {
				name := [2]string{m.Queue, m.ID}
				if other := open[name]; other != 0 {
					c.broken(m.Queue, m.ID, "is a member of campaigns %d and %d", other, one.ID)
				}
				open[name] = one.ID
			}
			if m.Status == siding.MemberSent {
				if r, err := store.Get(ctx, m.Queue, m.ID); err != nil || r.State != siding.StateReady && r.State != siding.StateLeased {
					c.broken(m.Queue, m.ID, "was sent by campaign %d, and has ended without being counted", one.ID)
				}
			}
		}
		if counted.Selected != one.Selected || !slices.Equal(counts(counted), counts(one)) {
			c.broken("", "", "campaign %d counts %v of %d, and has %v of %d", one.ID, counts(one), one.Selected, counts(counted), counted.Selected)
		}
	}
}
