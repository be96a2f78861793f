package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/siding-dev/siding"
)

// keptCampaign is a campaign that a transaction has looked at; how it stands at its end is written.
type keptCampaign struct {
	siding.Campaign
	next    int64 // no member before this row is pending
	raw     string
	rawNext int64
}

// hand is who changes a message when the campaign sends it back.
func (k *keptCampaign) hand() hand { return hand{by: k.By, campaign: k.ID} }

const campaignColumns = "id, state, next, campaign"

// campaign reads [campaignColumns].
func (r *row) campaign() (k keptCampaign, err error) {
	k.next, k.raw = r.int(2), r.str(3)
	k.rawNext = k.next
	if err := json.Unmarshal([]byte(k.raw), &k.Campaign); err != nil {
		return k, fmt.Errorf("campaign %d cannot be read: %w", r.int(0), err)
	}
	k.ID = siding.CampaignID(r.int(0))
	if state := siding.CampaignState(r.str(1)); state != k.State {
		return k, fmt.Errorf("campaign %d is %q, and says that it is %q", k.ID, siding.Scrub(string(state), 64), siding.Scrub(string(k.State), 64))
	}
	return k, r.err
}

const campaignByID = "SELECT " + campaignColumns + " FROM campaigns WHERE id = ?"

// campaignOf reads one campaign.
func campaignOf(c *conn, id siding.CampaignID) (*keptCampaign, error) {
	var k keptCampaign
	var bad error
	found, err := c.one(func(r *row) { k, bad = r.campaign() }, campaignByID, int64(id))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("campaign %d: %w", id, siding.ErrNotFound)
	}
	return &k, bad
}

// campaign gives a campaign, to be looked at and changed: how it stands at the end of the transaction is written.
func (t *tx) campaign(id siding.CampaignID) (*keptCampaign, error) {
	if k := t.campaigns[id]; k != nil {
		return k, nil
	}
	k, err := campaignOf(t.conn, id)
	if err != nil {
		return nil, err
	}
	t.campaigns[id] = k
	return k, nil
}

// keepCampaigns writes the campaigns that have changed.
func (t *tx) keepCampaigns() error {
	for id, k := range t.campaigns {
		raw, err := json.Marshal(&k.Campaign)
		if err != nil {
			return fmt.Errorf("keep campaign %d: %w", id, err)
		}
		if string(raw) == k.raw && k.next == k.rawNext {
			continue
		}
		err = t.guarded("UPDATE campaigns SET state = ?, next = ?, campaign = ? WHERE id = ?", string(k.State), k.next, string(raw), int64(id))
		if err != nil {
			return err
		}
		k.raw, k.rawNext = string(raw), k.next
	}
	return nil
}

// onCampaign carries out a change of a campaign in one write. Its error is the caller's where it is a guard's answer.
func (s *Store) onCampaign(ctx context.Context, name string, bytes int, id siding.CampaignID, change func(*tx, *keptCampaign) error) error {
	var answer error
	err := s.write(ctx, name, bytes, func(t *tx) error {
		answer = nil
		k, err := t.campaign(id)
		if err == nil {
			err = change(t, k)
		}
		if isGuard(err) {
			answer, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return answer
}

// CreateCampaign makes a campaign; see [siding.Campaigner].
func (s *Store) CreateCampaign(ctx context.Context, p siding.CampaignPlan) (out siding.Campaign, err error) {
	if err := p.Validate(); err != nil {
		return out, fmt.Errorf("make a campaign: %w", err)
	}
	var made siding.Campaign
	err = s.write(ctx, "create-campaign", 0, func(t *tx) error {
		made = siding.NewCampaign(p, siding.ActOf(ctx).By, fromMicros(t.now))
		raw, err := json.Marshal(&made)
		if err != nil {
			return err
		}
		id, err := t.insert("INSERT INTO campaigns (state, campaign) VALUES (?, ?) RETURNING id", string(made.State), string(raw))
		if made.ID = siding.CampaignID(id); err != nil {
			return err
		}
		return t.did(siding.ActOf(ctx), siding.ActionCampaign, p.Selection.Queue, made.Did("made", ""), 1)
	})
	if err != nil {
		return out, err
	}
	return made, nil
}

// StartCampaign ends the selecting; see [siding.Campaigner].
func (s *Store) StartCampaign(ctx context.Context, id siding.CampaignID) error {
	return s.onCampaign(ctx, "start-campaign", 0, id, func(t *tx, k *keptCampaign) error {
		k.Start(fromMicros(t.now))
		return nil
	})
}

// ActOnCampaign carries out an operator's action; see [siding.Campaigner].
func (s *Store) ActOnCampaign(ctx context.Context, id siding.CampaignID, a siding.CampaignAction, why string) (siding.Campaign, error) {
	var out siding.Campaign
	err := s.onCampaign(ctx, "act-on-campaign", 0, id, func(t *tx, k *keptCampaign) error {
		if err := k.Act(a, why, fromMicros(t.now)); err != nil {
			return err
		}
		out = k.Campaign
		return t.did(siding.ActOf(ctx), siding.ActionCampaign, k.Plan.Selection.Queue, k.Did(string(k.State), why), 1)
	})
	if err != nil {
		return siding.Campaign{}, err
	}
	return out, nil
}

// Campaign gives a campaign; see [siding.Campaigner].
func (s *Store) Campaign(ctx context.Context, id siding.CampaignID) (out siding.Campaign, err error) {
	err = s.read(ctx, func(c *conn) error {
		k, err := campaignOf(c, id)
		if err == nil {
			out = k.Campaign
		}
		return err
	})
	return out, err
}

// Campaigns gives campaigns, the latest first; see [siding.Campaigner]. One that cannot be read is left out: Check shows it.
func (s *Store) Campaigns(ctx context.Context, states ...siding.CampaignState) (out []siding.Campaign, err error) {
	where, args := "true", []any{}
	in(func(cond string, a ...any) { where, args = cond, a }, "state", states)
	err = s.read(ctx, func(c *conn) error {
		out = nil
		return c.query(func(r *row) error {
			if k, err := r.campaign(); err == nil {
				out = append(out, k.Campaign)
			}
			return nil
		}, "SELECT "+campaignColumns+" FROM campaigns WHERE "+where+" ORDER BY id DESC", args...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// memberColumns are those of campaign_members x, of its message m and of its queue q that [row.campaignMember] reads.
const (
	memberColumns = "x.id, q.name, m.event_id, x.status, x.fingerprint, x.serial, x.text"
	memberFrom    = ` FROM campaign_members x LEFT JOIN messages m ON m.id = x.message LEFT JOIN queues q ON q.id = m.queue`
	memberWidth   = 7
)

func (r *row) campaignMember() (id int64, m siding.CampaignMember) {
	return r.int(0), siding.CampaignMember{
		Queue: r.str(1), ID: r.str(2), Status: siding.MemberStatus(r.str(3)), Fingerprint: r.str(4), Serial: r.counter(5), Text: r.str(6),
	}
}

// CampaignMembers walks over the members of a campaign; see [siding.Campaigner].
func (s *Store) CampaignMembers(ctx context.Context, id siding.CampaignID, statuses ...siding.MemberStatus) iter.Seq2[siding.CampaignMember, error] {
	where, args := "", []any{}
	in(func(cond string, a ...any) { where, args = " AND "+cond, a }, "x.status", statuses)
	query := "SELECT " + memberColumns + memberFrom + " WHERE x.campaign = ? AND x.id > ?" + where + " ORDER BY x.id LIMIT ?"
	return func(yield func(siding.CampaignMember, error) bool) {
		type line struct {
			siding.CampaignMember
			err error
		}
		for from, more := int64(0), true; more; {
			var page []line
			err := s.snapshot(ctx, func(c *conn) error {
				page = nil
				if _, err := campaignOf(c, id); err != nil {
					return err
				}
				return c.query(func(r *row) error {
					at, m := r.campaignMember()
					page, from = append(page, line{m, r.err}), at
					return nil
				}, query, append(append([]any{int64(id), from}, args...), pageSize)...)
			})
			if err != nil {
				yield(siding.CampaignMember{}, err)
				return
			}
			for _, l := range page {
				if !yield(l.CampaignMember, l.err) {
					return
				}
			}
			more = len(page) == pageSize
		}
	}
}
