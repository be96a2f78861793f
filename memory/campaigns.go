package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// enlisted is a message's membership in a campaign. It is changed in place, by [tx.become] only.
type enlisted struct {
	campaign    siding.CampaignID
	message     int64
	deadAt      time.Time // when it had been set aside: another time means that it was sent back or changed since
	status      siding.MemberStatus
	fingerprint string
	serial      int
	text        string
}

// become changes a membership; the change is undone when the write fails.
func (x *tx) become(e *enlisted, n enlisted) {
	old := *e
	x.keep(func() { *e = old })
	*e = n
}

// campaign gives a copy of a campaign, to be changed and put back.
func (x *tx) campaign(id siding.CampaignID) (*siding.Campaign, error) {
	c := x.campaigns[id]
	if c == nil {
		return nil, fmt.Errorf("campaign %d: %w", id, siding.ErrNotFound)
	}
	d := *c
	return &d, nil
}

func (x *tx) putCampaign(c *siding.Campaign) { set(x, x.campaigns, c.ID, c) }

// CreateCampaign makes a campaign; see [siding.Campaigner].
func (s *Store) CreateCampaign(ctx context.Context, p siding.CampaignPlan) (out siding.Campaign, err error) {
	if err := p.Validate(); err != nil {
		return out, fmt.Errorf("make a campaign: %w", err)
	}
	err = s.write(ctx, "CreateCampaign", func(x *tx) error {
		c := siding.NewCampaign(p, siding.ActOf(ctx).By, x.now)
		x.lastCampaign++
		c.ID = x.lastCampaign
		x.putCampaign(&c)
		x.did(siding.ActOf(ctx), siding.ActionCampaign, p.Selection.Queue, c.Did("made", ""), 1)
		out = c
		return nil
	})
	return out, err
}

// StartCampaign ends the selecting; see [siding.Campaigner].
func (s *Store) StartCampaign(ctx context.Context, id siding.CampaignID) error {
	return s.write(ctx, "StartCampaign", func(x *tx) error {
		c, err := x.campaign(id)
		if err == nil {
			c.Start(x.now)
			x.putCampaign(c)
		}
		return err
	})
}

// ActOnCampaign carries out an operator's action; see [siding.Campaigner].
func (s *Store) ActOnCampaign(ctx context.Context, id siding.CampaignID, a siding.CampaignAction, why string) (out siding.Campaign, err error) {
	err = s.write(ctx, "ActOnCampaign", func(x *tx) error {
		c, err := x.campaign(id)
		if err != nil {
			return err
		}
		if err := c.Act(a, why, x.now); err != nil {
			return err
		}
		x.putCampaign(c)
		x.did(siding.ActOf(ctx), siding.ActionCampaign, c.Plan.Selection.Queue, c.Did(string(c.State), why), 1)
		out = *c
		return nil
	})
	return out, err
}

// Campaign gives a campaign; see [siding.Campaigner].
func (s *Store) Campaign(ctx context.Context, id siding.CampaignID) (out siding.Campaign, err error) {
	err = s.read(ctx, func(x *tx) error {
		c, err := x.campaign(id)
		if err == nil {
			out = *c
		}
		return err
	})
	return out, err
}

// Campaigns gives campaigns, the latest first; see [siding.Campaigner].
func (s *Store) Campaigns(ctx context.Context, states ...siding.CampaignState) (out []siding.Campaign, err error) {
	err = s.read(ctx, func(x *tx) error {
		for id := x.lastCampaign; id > 0; id-- {
			if c := x.campaigns[id]; c != nil && among(states, c.State) {
				out = append(out, *c)
			}
		}
		return nil
	})
	return out, err
}

// CampaignMembers walks over the members of a campaign; see [siding.Campaigner].
func (s *Store) CampaignMembers(ctx context.Context, id siding.CampaignID, statuses ...siding.MemberStatus) iter.Seq2[siding.CampaignMember, error] {
	return func(yield func(siding.CampaignMember, error) bool) {
		for i, more := 0, true; more; i++ {
			var out siding.CampaignMember
			given := false
			err := s.read(ctx, func(x *tx) error {
				if _, err := x.campaign(id); err != nil {
					return err
				}
				if more = i < len(x.enlisted[id]); more {
					e := x.enlisted[id][i]
					out, given = x.shownEnlisted(e), among(statuses, e.status)
				}
				return nil
			})
			if err != nil {
				yield(siding.CampaignMember{}, err)
				return
			}
			if given && !yield(out, nil) {
				return
			}
		}
	}
}

func (x *tx) shownEnlisted(e *enlisted) siding.CampaignMember {
	m := x.messages[e.message]
	return siding.CampaignMember{
		Queue: m.Queue, ID: m.ID, Status: e.status, Fingerprint: e.fingerprint, Serial: e.serial, Text: e.text,
	}
}

// Enlist makes some of what the plan selects members; see [siding.Campaigner].
func (s *Store) Enlist(ctx context.Context, id siding.CampaignID, from siding.Place, limit int) (out siding.Enlistment, err error) {
	err = s.write(ctx, "Enlist", func(x *tx) error {
		c, err := x.selecting(id)
		if err != nil {
			return err
		}
		selected, err := x.selector(c.Plan.Selection)
		if err != nil {
			return err
		}
		var found []*message
		x.each(c.Plan.Selection.Queue, func(m *message) {
			if selected(m) && cmp.Or(cmp.Compare(m.DeadAt.UnixMicro(), from.At), cmp.Compare(m.number, from.Number)) > 0 {
				found = append(found, m)
			}
		})
		slices.SortFunc(found, func(a, b *message) int {
			return cmp.Or(a.DeadAt.Compare(b.DeadAt), cmp.Compare(a.number, b.number))
		})
		out = siding.Enlistment{Next: from, More: len(found) >= max(limit, 1)}
		for _, m := range found[:min(len(found), max(limit, 1))] {
			out.Next = siding.Place{At: m.DeadAt.UnixMicro(), Number: m.number}
			switch in := x.openMembership(m.number); in {
			case 0:
				x.enlist(c, m)
				out.Added++
			case id:
			default:
				out.Busy, out.Other = out.Busy+1, in
			}
		}
		x.putCampaign(c)
		return nil
	})
	if err != nil {
		return siding.Enlistment{}, err
	}
	return out, nil
}

// EnlistEach makes messages members one by one; see [siding.Campaigner].
func (s *Store) EnlistEach(ctx context.Context, id siding.CampaignID, queue string, ids ...string) ([]error, error) {
	out := make([]error, len(ids))
	err := s.write(ctx, "EnlistEach", func(x *tx) error {
		c, err := x.selecting(id)
		if err != nil {
			return err
		}
		for i, one := range ids {
			m, err := x.find(queue, one)
			if err != nil {
				out[i] = err
				continue
			}
			name := siding.Scrub(one, 64)
			switch in := x.openMembership(m.number); {
			case in == id:
			case in != 0:
				out[i] = fmt.Errorf("message %q is a member of campaign %d: %w", name, in, siding.ErrConflict)
			case m.State != siding.StateDead || !m.DeadAt.Before(c.Plan.Selection.Until):
				out[i] = fmt.Errorf("message %q is %s, and was not set aside before the campaign was made: %w", name, m.State, siding.ErrWrongState)
			default:
				x.enlist(c, m)
			}
		}
		x.putCampaign(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// selecting gives a campaign that selects its messages.
func (x *tx) selecting(id siding.CampaignID) (*siding.Campaign, error) {
	c, err := x.campaign(id)
	if err == nil && c.State != siding.CampaignSelecting {
		err = fmt.Errorf("campaign %d selects no more: %w: it is %s", id, siding.ErrWrongState, c.State)
	}
	return c, err
}

// openMembership gives the campaign that is not over and has the message as a member that has not ended; 0: none.
func (x *tx) openMembership(message int64) siding.CampaignID {
	for _, e := range x.campaignsOf[message] {
		waits := e.status == siding.MemberPending || e.status == siding.MemberSent
		if waits && !x.campaigns[e.campaign].State.Over() {
			return e.campaign
		}
	}
	return 0
}

func (x *tx) enlist(c *siding.Campaign, m *message) {
	e := &enlisted{campaign: c.ID, message: m.number, deadAt: m.DeadAt, status: siding.MemberPending}
	if m.LastError != nil {
		e.fingerprint = m.LastError.Fingerprint
	}
	set(x, x.enlisted, c.ID, append(slices.Clip(x.enlisted[c.ID]), e))
	set(x, x.campaignsOf, m.number, append(slices.Clip(x.campaignsOf[m.number]), e))
	c.Enlisted(1)
}
