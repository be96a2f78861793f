package postgres

import (
	"fmt"
	"slices"

	"github.com/siding-dev/siding"
)

// checkCampaigns finds campaigns that cannot be read, and those that count other members than they have.
func checkCampaigns(c *conn, from, to int64, found *[]siding.Violation) error {
	var all []siding.Campaign
	err := c.query(func(r *row) error {
		k, err := r.campaign()
		if err == nil && !slices.Contains(siding.CampaignStates(), k.State) {
			err = fmt.Errorf("campaign %d is in the state %q, which there is not", k.ID, siding.Scrub(string(k.State), 64))
		}
		if err != nil {
			*found = append(*found, siding.Violation{Rule: "campaign-unreadable", Text: err.Error()})
			return nil
		}
		all = append(all, k.Campaign)
		return nil
	}, "SELECT "+campaignColumns+" FROM campaigns WHERE id BETWEEN ? AND ?", from, to)
	if err != nil {
		return err
	}
	for i := range all {
		k := &all[i]
		kept := map[siding.MemberStatus]int64{
			siding.MemberPending: k.Pending, siding.MemberSent: k.Sent, siding.MemberDone: k.Done, siding.MemberSame: k.Same,
			siding.MemberOther: k.Other, siding.MemberUnchanged: k.Unchanged, siding.MemberInvalid: k.Invalid,
			siding.MemberSkipped: k.Skipped, siding.MemberDiscarded: k.Discarded, "selected": k.Selected,
		}
		err := c.query(func(r *row) error {
			status := siding.MemberStatus(r.str(0))
			kept[status] -= r.int(1)
			kept["selected"] -= r.int(1)
			return r.err
		}, "SELECT status, count(*) FROM campaign_members WHERE campaign = ? GROUP BY status", int64(k.ID))
		if err != nil {
			return err
		}
		for status, difference := range kept {
			if difference != 0 {
				*found = append(*found, siding.Violation{
					Rule: "campaign-mismatch",
					Text: fmt.Sprintf("the members of campaign %d are not as many as it counts (%s: %d more are kept than counted)", k.ID, status, difference),
				})
			}
		}
	}
	return nil
}
