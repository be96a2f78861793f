package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// driver makes what drives the store's campaigns on.
func (a *app) driver(store siding.Store) *quarantine.Driver {
	return &quarantine.Driver{
		Store: store, Owner: rand.Text(),
		Where: func(expression string) (quarantine.Judge, error) {
			f, err := newFilter(expression)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, l siding.Listed) (bool, error) {
				yes, err := f.match(ctx, l)
				if errors.Is(err, errEndless) {
					err = fmt.Errorf("%w: %w", quarantine.ErrEndless, err)
				}
				return yes, err
			}, nil
		},
		Facts: func(ctx context.Context, queue, recipe string) (quarantine.Facts, error) {
			return a.factsFor(ctx, store, queue, recipe)
		},
		Elsewhere: func(n int64, other siding.CampaignID) {
			which := "another campaign"
			if other != 0 {
				which = fmt.Sprintf("campaign %d", other)
			}
			a.notef("%s left out: members of %s, which is not over", counted(n, "message"), which)
		},
	}
}

// follow drives a campaign on, and shows how it goes until it ends.
func (a *app) follow(ctx context.Context, store siding.Store, path string, c siding.Campaign) error {
	d := a.driver(store)
	last, shown := "", time.Time{}
	idle := false
	c, err := d.Run(ctx, c.ID, func(s quarantine.Step) {
		text := countsText(s.Campaign)
		if text == last || time.Since(shown) < time.Second && quarantine.Active(s.State) {
			if s.Waits && !idle && !shown.IsZero() && time.Since(shown) > 10*time.Second {
				idle = true
				a.hintf("it waits for what it has sent; \"siding run\" or \"siding work\" works on it")
			}
			return
		}
		last, shown, idle = text, time.Now(), false
		if a.json {
			_ = writeJSON(a.out, newCampaignLine(s.Campaign))
			return
		}
		a.hintf("campaign %d: %s", s.ID, text)
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	return a.endOf(c, path)
}

// endOf says how a campaign has ended that was watched, and gives the exit code that goes with it.
func (a *app) endOf(c siding.Campaign, path string) error {
	where := a.storeFlag(path)
	switch c.State {
	case siding.CampaignFinished:
		a.hintf("campaign %d has finished: %s", c.ID, countsText(c))
		if c.Same+c.Other+c.Unchanged+c.Invalid > 0 {
			return said(errSetAside)
		}
		return nil
	case siding.CampaignStopped:
		a.notef("campaign %d has stopped: %s", c.ID, c.Why)
		a.notef("%s; \"siding campaign members %d --status same,other%s\" lists what came back, \"siding campaign resume %d%s\" begins with the "+
			"canary again, \"siding campaign abort %d%s\" ends it", countsText(c), c.ID, where, c.ID, where, c.ID, where)
	case siding.CampaignPaused:
		a.notef("campaign %d is paused: %s; \"siding campaign resume %d%s\" goes on", c.ID, countsText(c), c.ID, where)
	default:
		a.notef("campaign %d is %s: %s", c.ID, c.State, countsText(c))
	}
	return said(errHeld)
}

// nextText says what will happen to a campaign that goes on.
func (a *app) nextText(c siding.Campaign, path string) string {
	next := "the rest follows at its rate"
	switch {
	case c.Plan.Canary > 0 && c.StageSent > 0:
		next = fmt.Sprintf("the next stage follows when %s of the %d sent are done", shareText(c.Plan.MinSuccess), c.StageSent)
	case c.Plan.Canary > 0 && c.Stage == 0:
		next = fmt.Sprintf("a canary of %d comes next", min(c.Plan.Canary, c.Pending))
	case c.Plan.Canary > 0:
		next = fmt.Sprintf("stage %d of the ramp comes next", c.Stage)
	}
	if c.Pending == 0 {
		next = "all are sent"
	}
	return fmt.Sprintf("%s; \"siding run\" and \"siding work\" work on them and drive the campaign on, and \"siding campaign show %d --follow%s\" does so "+
		"and shows how it goes", next, c.ID, a.storeFlag(path))
}
