package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// campaignFlags are the flags with which redrive makes a campaign.
type campaignFlags struct {
	canary     int64
	ramp       []int64
	minSuccess float64
	rate       string
	wait       bool
	asked      bool // one of them was given
}

// minSuccess is the share of each stage that has to be done unless it is said otherwise.
const minSuccess = 0.9

// campaignHelp says what they do.
const campaignHelp = `--canary, --ramp, --min-success or --rate make a campaign of it: the canary is sent first, and the stages after it follow
only while at least --min-success of each are done. When that cannot be reached any more the campaign stops, and what was not
sent is untouched. "siding run" and "siding work" drive it on; --wait stays, drives it on and tells how it ends.`

func (f *campaignFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Int64Var(&f.canary, "canary", 0, "send so many first, and more only if they succeed (0: no canary)")
	fl.Int64SliceVar(&f.ramp, "ramp", nil, "the `SIZES` of the stages after the canary, the last of which repeats (default: each ten times the one before)")
	fl.Lookup("ramp").DefValue = "" // pflag would show it as []
	fl.Float64Var(&f.minSuccess, "min-success", minSuccess, "the share of each stage that has to be done, from 0 to 1")
	fl.StringVar(&f.rate, "rate", "", "at most this many: 10/s, 100/m or 1000/h (default: no limit)")
	fl.BoolVar(&f.wait, "wait", false, "stay until the campaign is over: code 4 when it has stopped by itself")
	fl.BoolVar(&f.wait, "follow", false, "the same as --wait")
}

// read notes whether a campaign is asked for.
func (f *campaignFlags) read(cmd *cobra.Command) error {
	for _, name := range []string{"canary", "ramp", "min-success", "rate"} {
		f.asked = f.asked || cmd.Flags().Changed(name)
	}
	if f.wait && !f.asked {
		return usagef("--wait is for a campaign; give --canary, --min-success or --rate too")
	}
	return nil
}

// plan gives the campaign that the flags of redrive ask for; what it selects comes later.
func (f *redriveFlags) plan() (siding.CampaignPlan, error) {
	rate, err := parseRate(f.campaign.rate)
	if err != nil {
		return siding.CampaignPlan{}, err
	}
	p := siding.CampaignPlan{
		Where: f.where, Repairs: f.repairs, Recipe: f.recipe, Canary: f.campaign.canary, Ramp: f.campaign.ramp, MinSuccess: f.campaign.minSuccess,
		Rate: rate,
	}
	if p.Recipe != "" { // whoever drives it on stands elsewhere
		if p.Recipe, err = filepath.Abs(p.Recipe); err != nil {
			return p, fmt.Errorf("recipe %s: %w", f.recipe, err)
		}
	}
	return p, asUsage(p.Validate())
}

// parseRate reads N/s, N/m or N/h and gives how many that are in a second; 0 for no limit.
func parseRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	var n float64
	var unit string
	if k, _ := fmt.Sscanf(text, "%g/%s", &n, &unit); k == 2 && n > 0 && n <= 1e6 {
		if seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]; seconds > 0 {
			return n / seconds, nil
		}
	}
	return 0, usagef("--rate %q is no rate; give 10/s, 100/m or 1000/h", siding.Scrub(text, 64))
}

// campaign is redrive with the flags of a campaign: it makes one, shows it, and sends what may be sent at once.
func (a *app) campaign(ctx context.Context, f *redriveFlags, op operation) error {
	p, err := f.plan()
	if err == nil {
		err = f.checkAll(f.all, op.verb)
	}
	if err == nil && f.dryRun {
		if err = a.operate(ctx, &f.selectFlags, f.all, true, op); err == nil {
			a.hintf("as a campaign: %s", cmp.Or(paceText(p), "all at once"))
		}
	}
	if err != nil || f.dryRun {
		return err
	}
	store, path, err := a.openWriting(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	sel, err := a.resolve(ctx, store, &f.selectFlags)
	if err == nil {
		err = a.checkNamed(ctx, store, &f.selectFlags)
	}
	if err != nil {
		return storeError(err)
	}
	p.Selection = sel.Selection
	switch matched, err := a.anySelected(ctx, store, sel); {
	case err != nil:
		return storeError(err)
	case !matched:
		a.notef("nothing matches: no campaign was made")
		return nil
	}
	c, err := store.CreateCampaign(ctx, p)
	if err != nil {
		return storeError(err)
	}
	return storeError(a.openCampaign(ctx, store, path, c, f.campaign.wait))
}

// anySelected tells whether a selection names anything, so that no empty campaign is made.
func (a *app) anySelected(ctx context.Context, store siding.Store, sel *selection) (bool, error) {
	for _, err := range sel.walk(ctx, store) {
		if err == nil {
			a.reportFailed(sel)
			return true, nil
		}
		if isEndless(err) || ctx.Err() != nil {
			return false, endOfWalk(ctx, err)
		}
	}
	a.reportFailed(sel)
	return false, nil
}

// openCampaign selects the messages of a new campaign, says how many they are, and then sends the first.
func (a *app) openCampaign(ctx context.Context, store siding.Store, path string, c siding.Campaign, wait bool) error {
	d := a.driver(store)
	defer d.Close(context.WithoutCancel(ctx))
	s, err := d.Step(ctx, c.ID)
	if err != nil {
		return interrupted(ctx, err)
	}
	a.hintf("campaign %d has %s: %s", c.ID, counted(s.Selected, "message"), planText(s.Plan))
	if wait {
		d.Close(ctx)
		return a.follow(ctx, store, path, s.Campaign)
	}
	for s.State == siding.CampaignRunning && !s.Waits && s.Wait == 0 && !s.Busy {
		if s, err = d.Step(ctx, c.ID); err != nil {
			return interrupted(ctx, err)
		}
	}
	if a.json {
		if err := writeJSON(a.out, newCampaignLine(s.Campaign)); err != nil {
			return err
		}
	}
	if s.State != siding.CampaignRunning {
		return a.endOf(s.Campaign, path)
	}
	a.hintf("%s sent; %s", counted(s.Sent, "message"), a.nextText(s.Campaign, path))
	return nil
}
