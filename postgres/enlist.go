package postgres

import (
	"context"
	"fmt"

	"github.com/siding-dev/siding"
)

// openMember finds the memberships (o) of a message that waits in a campaign which is not over.
const openMember = `FROM campaign_members o JOIN campaigns c ON c.id = o.campaign
	WHERE o.message = m.id AND o.status IN ('pending', 'sent') AND c.state NOT IN ('finished', 'aborted')`

// Enlist makes some of what the plan selects members; see [siding.Campaigner]. The messages are looked for outside the
// write, so that nobody waits for that; the write looks again at whether each may become a member.
func (s *Store) Enlist(ctx context.Context, id siding.CampaignID, from siding.Place, limit int) (siding.Enlistment, error) {
	out := siding.Enlistment{Next: from}
	var found []int64
	err := s.snapshot(ctx, func(c *conn) error {
		k, err := selectingCampaign(campaignOf(c, id))
		if err != nil {
			return err
		}
		w, err := walkDead(c, k.Plan.Selection, from, false)
		if err != nil {
			return err
		}
		places, err := w.next(c, max(limit, 1))
		for _, p := range places {
			found, out.Next = append(found, p.Number), p
		}
		return err
	})
	if err != nil {
		return siding.Enlistment{}, err
	}
	out.More = len(found) >= max(limit, 1)
	numbers := found
	err = s.onCampaign(ctx, "enlist", 100*len(found), id, func(t *tx, k *keptCampaign) (err error) {
		if _, err := selectingCampaign(k, nil); err != nil {
			return err
		}
		out.Added, out.Busy, out.Other = 0, 0, 0
		if out.Added, err = t.enlist(k, numbers); err != nil || out.Added == int64(len(found)) {
			return err
		}
		_, err = t.one(func(r *row) { out.Busy, out.Other = r.int(0), siding.CampaignID(r.int(1)) },
			`SELECT count(*), max(c.id) FROM unnest(?::bigint[]) j (value) JOIN campaign_members o ON o.message = j.value AND o.status IN ('pending', 'sent')
			JOIN campaigns c ON c.id = o.campaign AND c.state NOT IN ('finished', 'aborted') WHERE c.id <> ?`, numbers, int64(id))
		return err
	})
	if err != nil {
		return siding.Enlistment{}, err
	}
	return out, nil
}

// selectingCampaign lets a campaign through that selects its messages.
func selectingCampaign(k *keptCampaign, err error) (*keptCampaign, error) {
	if err == nil && k.State != siding.CampaignSelecting {
		err = fmt.Errorf("campaign %d selects no more: %w: it is %s", k.ID, siding.ErrWrongState, k.State)
	}
	return k, err
}

// enlist makes those messages members that are dead, have been since before the campaign was made, and wait in no
// campaign.  It gives how many those were.
func (t *tx) enlist(k *keptCampaign, numbers []int64) (int64, error) {
	if err := t.keepCampaigns(); err != nil { // the states are looked at
		return 0, err
	}
	n, err := t.exec(`INSERT INTO campaign_members (campaign, message, dead_at, status, fingerprint)
		SELECT ?::bigint, m.id, m.dead_at, 'pending', coalesce(m.fingerprint, '') FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value
		WHERE m.state = 'dead' AND m.dead_at < ? AND NOT EXISTS (SELECT 1 `+openMember+`)`,
		int64(k.ID), numbers, k.Plan.Selection.Until.UnixMicro())
	k.Enlisted(n)
	return n, err
}

// EnlistEach makes messages members one by one; see [siding.Campaigner].
func (s *Store) EnlistEach(ctx context.Context, id siding.CampaignID, queue string, ids ...string) ([]error, error) {
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	var out []error
	err := s.onCampaign(ctx, "enlist-each", 100*len(ids), id, func(t *tx, k *keptCampaign) error {
		out = make([]error, len(ids))
		if _, err := selectingCampaign(k, nil); err != nil {
			return err
		}
		q, err := t.queue(queue, false)
		for i := 0; i < len(ids) && err == nil; i++ {
			out[i], err = t.enlistOne(k, q, ids[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// enlistOne makes one message a member, or answers why not. The error is for what stops the whole operation.
func (t *tx) enlistOne(k *keptCampaign, q int64, id string) (answer, err error) {
	if err := t.keepCampaigns(); err != nil {
		return nil, err
	}
	var message, in int64
	var state string
	found, err := t.one(func(r *row) { message, state, in = r.int(0), r.str(1), r.int(2) },
		"SELECT m.id, m.state, (SELECT c.id "+openMember+") FROM messages m WHERE m.queue = ? AND m.event_id = ?", q, id)
	name := siding.Scrub(id, 128)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return fmt.Errorf("message %q: %w", name, siding.ErrNotFound), nil
	case in == int64(k.ID):
		return nil, nil
	case in != 0:
		return fmt.Errorf("message %q is a member of campaign %d: %w", name, in, siding.ErrConflict), nil
	}
	n, err := t.enlist(k, []int64{message})
	if err == nil && n == 0 {
		answer = fmt.Errorf("message %q is %s, and was not set aside before the campaign was made: %w", name, siding.Scrub(state, 64), siding.ErrWrongState)
	}
	return answer, err
}
