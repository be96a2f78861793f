package worker

import (
	"context"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// mending are the repairs with which simulated operators send dead letters back: they mend what is broken, not UTF-8 or
// lacking, and change nothing of the others.
var mending = []string{"replace-invalid-utf8", "fix-json"}

// mendByHand sends one dead letter back mended, as dlq edit does.
func (h *history) mendByHand() {
	repairs, err := quarantine.ParseRepairs(mending)
	if err != nil {
		h.breaks("the repairs: %v", err)
		return
	}
	h.operate("Return", siding.StateDead, func(id string) {
		ctx := context.Background()
		r, err := h.db.Get(ctx, simQueue, id)
		if err != nil {
			return
		}
		p := repairs.Preview(ctx, r.Message, quarantine.Facts{})
		if p.Verdict == quarantine.Changed {
			_, _ = h.db.Return(ctx, simQueue, p.Return(id, repairs))
		}
	})
}

// campaign makes one over everything that is dead, and drives it from whichever process lives.
func (h *history) campaign() {
	plan := siding.CampaignPlan{
		Selection: siding.Selection{Queue: simQueue}, Canary: int64(h.rng.IntN(4)), MinSuccess: []float64{0, 0.5, 0.9, 1}[h.rng.IntN(4)],
		Rate: []float64{0, 0, 0.2, 5}[h.rng.IntN(4)],
	}
	if h.rng.IntN(2) == 0 {
		plan.Repairs = mending
	}
	var c siding.Campaign
	err := h.write(nil, "CreateCampaign", func() (err error) {
		c, err = h.db.CreateCampaign(context.Background(), plan)
		return err
	})
	if err != nil {
		h.breaks("making a campaign: %v", err)
		return
	}
	h.log("campaign %d: canary %d, at least %v, %v a second, repairs %d", c.ID, plan.Canary, plan.MinSuccess, plan.Rate, len(plan.Repairs))
	h.campaigns++
	h.after(0, func() { h.drive(c.ID) })
}

// drive drives a campaign on by a step, and again after a while. Two may do so at once.
func (h *history) drive(id siding.CampaignID) {
	if h.over {
		return
	}
	if d := h.driver(); d != nil {
		s, err := d.Step(context.Background(), id)
		if err == nil {
			h.log("campaign %d is %s: %d pending, %d sent, %d done, %d came back", id, s.State, s.Pending, s.Sent, s.Done, s.Same+s.Other)
		}
		if err == nil && !quarantine.Active(s.State) {
			if s.State.Over() || h.over {
				h.campaigns--
				return
			}
			action := siding.CampaignAbort // an operator decides
			if !h.calm && h.rng.IntN(2) == 0 {
				action = siding.CampaignResume
			}
			_ = h.write(nil, "ActOnCampaign", func() error {
				_, err := h.db.ActOnCampaign(context.Background(), id, action, "")
				return err
			})
		} else if err == nil && h.disturb(0.05, "pause") {
			_ = h.write(nil, "ActOnCampaign", func() error {
				_, err := h.db.ActOnCampaign(context.Background(), id, siding.CampaignPause, "")
				return err
			})
		}
	}
	h.after(time.Second+h.dice(20*time.Second), func() { h.drive(id) })
}

// driver gives the driver of a process that lives, or the operator's own once nothing disturbs.
func (h *history) driver() *quarantine.Driver {
	living := h.living()
	switch {
	case h.calm:
		return &quarantine.Driver{Store: simStore{h.db, h, nil}, Owner: "the operator"}
	case len(living) == 0:
		return nil
	}
	p := living[h.rng.IntN(len(living))]
	if p.driver == nil {
		p.driver = &quarantine.Driver{Store: simStore{p.store, h, p}, Owner: p.name}
	}
	return p.driver
}

// simStore is a store whose writes for campaigns go through the seam.
type simStore struct {
	siding.Store
	h *history
	p *simProc
}

func (s simStore) Enlist(ctx context.Context, id siding.CampaignID, from siding.Place, limit int) (out siding.Enlistment, err error) {
	err = s.h.write(s.p, "Enlist", func() error { out, err = s.Store.Enlist(ctx, id, from, limit); return err })
	return out, err
}

func (s simStore) StartCampaign(ctx context.Context, id siding.CampaignID) error {
	return s.h.write(s.p, "StartCampaign", func() error { return s.Store.StartCampaign(ctx, id) })
}

func (s simStore) ReturnMembers(ctx context.Context, id siding.CampaignID, moves ...siding.CampaignMove) (out []siding.MemberStatus, err error) {
	err = s.h.write(s.p, "ReturnMembers", func() error { out, err = s.Store.ReturnMembers(ctx, id, moves...); return err })
	return out, err
}

func (s simStore) ReturnNext(ctx context.Context, id siding.CampaignID, limit int) (n int64, err error) {
	err = s.h.write(s.p, "ReturnNext", func() error { n, err = s.Store.ReturnNext(ctx, id, limit); return err })
	return n, err
}

// accountCampaigns holds the members of every campaign against what became of their messages.
func (h *history) accountCampaigns() {
	ctx := context.Background()
	all, err := h.db.Campaigns(ctx)
	if err != nil {
		h.breaks("at the end: %v", err)
		return
	}
	sent := map[string]int{}
	for _, c := range all {
		h.cover.count("end campaign " + string(c.State))
		counts := map[siding.MemberStatus]int64{}
		for m, err := range h.db.CampaignMembers(ctx, c.ID) {
			if err != nil {
				h.breaks("at the end: %v", err)
				return
			}
			counts[m.Status]++
			h.cover.count("end member " + string(m.Status))
			switch m.Status {
			case siding.MemberSent:
				h.breaks("campaign %d: %s never came to an end", c.ID, m.ID)
			case siding.MemberDone, siding.MemberSame, siding.MemberOther, siding.MemberDiscarded:
				sent[m.ID]++
			case siding.MemberPending:
				if c.State != siding.CampaignAborted {
					h.breaks("campaign %d is %s, and %s is pending", c.ID, c.State, m.ID)
				}
			}
		}
		for _, status := range siding.MemberStatuses() {
			if n := *c.Count(status); n != counts[status] {
				h.breaks("campaign %d counts %d members that are %s, and there are %d", c.ID, n, status, counts[status])
			}
		}
	}
	for id, n := range sent {
		r, err := h.db.Get(ctx, simQueue, id)
		if err != nil || r.Redrives != n+h.ledger.byHand[id] {
			h.breaks("%s was sent by campaigns %d times and by hand %d times, and redriven %d times", id, n, h.ledger.byHand[id], r.Redrives)
		}
	}
}
