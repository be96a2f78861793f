package main

import (
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
)

// campaignLine is a campaign, with --json.
type campaignLine struct {
	Type       string               `json:"type"` // campaign
	V          int                  `json:"v"`
	ID         int64                `json:"id"`
	Selection  selectionLine        `json:"selection"`
	Where      string               `json:"where"`
	Repairs    []string             `json:"repairs"`
	Recipe     string               `json:"recipe"`
	Canary     int64                `json:"canary"`
	Ramp       []int64              `json:"ramp"`
	MinSuccess float64              `json:"min_success"`
	Rate       float64              `json:"rate"` // in a second; 0: no limit
	State      siding.CampaignState `json:"state"`
	Why        string               `json:"why"`
	By         string               `json:"by"`
	CreatedAt  stamp                `json:"created_at"`
	ChangedAt  stamp                `json:"changed_at"`

	Selected   int64 `json:"selected"`
	Pending    int64 `json:"pending"`
	Sent       int64 `json:"sent"`
	Done       int64 `json:"done"`
	Same       int64 `json:"same"`
	Other      int64 `json:"other"`
	Unchanged  int64 `json:"unchanged"`
	Invalid    int64 `json:"invalid"`
	Skipped    int64 `json:"skipped"`
	Discarded  int64 `json:"discarded"`
	Stage      int   `json:"stage"` // 0 is the canary
	StageSent  int64 `json:"stage_sent"`
	StageDone  int64 `json:"stage_done"`
	StageBack  int64 `json:"stage_failed"`
	StageGone  int64 `json:"stage_discarded"`
	StageCount int   `json:"stages"` // how many there were
}

// selectionLine is what a campaign selects.
type selectionLine struct {
	Queue        string          `json:"queue"`
	IDs          []string        `json:"ids"`
	Causes       []siding.Cause  `json:"causes"`
	Fingerprints []string        `json:"fingerprints"`
	Reasons      []siding.Reason `json:"reasons"`
	Since        stamp           `json:"since"`
	Until        stamp           `json:"until"`
}

// listed gives a list that is never null in JSON.
func listed[T any](list []T) []T { return append([]T{}, list...) }

func newCampaignLine(c siding.Campaign) campaignLine {
	s := c.Plan.Selection
	return campaignLine{
		Type: "campaign", V: 1, ID: int64(c.ID), Where: c.Plan.Where, Repairs: listed(c.Plan.Repairs), Recipe: c.Plan.Recipe,
		Canary: c.Plan.Canary, Ramp: listed(c.Plan.Ramp), MinSuccess: c.Plan.MinSuccess, Rate: c.Plan.Rate,
		Selection: selectionLine{
			Queue: s.Queue, IDs: listed(s.IDs), Causes: listed(s.Causes), Fingerprints: listed(s.Fingerprints),
			Reasons: listed(s.Reasons), Since: stamp(s.Since), Until: stamp(s.Until),
		},
		State: c.State, Why: c.Why, By: c.By, CreatedAt: stamp(c.CreatedAt), ChangedAt: stamp(c.ChangedAt),
		Selected: c.Selected, Pending: c.Pending, Sent: c.Sent, Done: c.Done, Same: c.Same, Other: c.Other, Unchanged: c.Unchanged,
		Invalid: c.Invalid, Skipped: c.Skipped, Discarded: c.Discarded, Stage: c.Stage, StageSent: c.StageSent,
		StageDone: c.StageDone, StageBack: c.StageFailed, StageGone: c.StageGone, StageCount: c.Serial + 1,
	}
}

// memberLine is what became of a message in a campaign, with --json.
type memberLine struct {
	Type        string              `json:"type"` // campaign_member
	V           int                 `json:"v"`
	Campaign    int64               `json:"campaign"`
	Queue       string              `json:"queue"`
	ID          string              `json:"id"`
	Status      siding.MemberStatus `json:"status"`
	Fingerprint string              `json:"fingerprint"`
	Stage       *int                `json:"stage"` // counted from 1; null: it was not sent
	Text        string              `json:"text"`  // why it was not sent, or how it was repaired
}

func newMemberLine(id siding.CampaignID, m siding.CampaignMember) memberLine {
	l := memberLine{
		Type: "campaign_member", V: 1, Campaign: int64(id), Queue: m.Queue, ID: m.ID, Status: m.Status,
		Fingerprint: m.Fingerprint, Text: m.Text,
	}
	if stageText(m) != "-" {
		n := m.Serial + 1
		l.Stage = &n
	}
	return l
}

// planText says what a campaign does.
func planText(p siding.CampaignPlan) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	s := p.Selection
	if s.Queue != "" {
		add("queue %s", s.Queue)
	}
	for _, one := range []struct {
		name   string
		values []string
	}{{"id", s.IDs}, {"cause", texts(s.Causes)}, {"group", s.Fingerprints}, {"reason", texts(s.Reasons)}} {
		if len(one.values) > 0 {
			add("%s %s", one.name, strings.Join(one.values, ", "))
		}
	}
	if p.Where != "" {
		add("where %s", p.Where)
	}
	if len(parts) == 0 {
		add("everything")
	}
	if len(p.Repairs) > 0 {
		add("mended by %s", strings.Join(p.Repairs, "; "))
	}
	return strings.Join(append(parts, paceText(p)), ", ")
}

// paceText says how a campaign goes on.
func paceText(p siding.CampaignPlan) string {
	var parts []string
	if p.Canary > 0 {
		stages := []string{fmt.Sprintf("%d first", p.Canary)}
		ramp := p.Ramp
		if len(ramp) == 0 {
			ramp = []int64{p.Canary * 10, p.Canary * 100}
		}
		for _, n := range ramp {
			stages = append(stages, fmt.Sprintf("then %d", n))
		}
		parts = append(parts, strings.Join(stages, ", ")+" and so on")
	}
	if p.MinSuccess > 0 {
		parts = append(parts, fmt.Sprintf("%s of each stage must be done", shareText(p.MinSuccess)))
	}
	if p.Rate > 0 {
		parts = append(parts, rateText(p.Rate)+" at most")
	}
	return strings.Join(parts, ", ")
}

func shareText(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", share*100), "0"), ".") + " %"
}

func rateText(perSecond float64) string {
	for _, unit := range []struct {
		name string
		per  float64
	}{{"s", 1}, {"m", 60}} {
		if n := perSecond * unit.per; n >= 1 {
			return fmt.Sprintf("%.4g/%s", n, unit.name)
		}
	}
	return fmt.Sprintf("%.4g/h", perSecond*3600)
}

// countsText says what became of a campaign's messages.
func countsText(c siding.Campaign) string {
	parts := []string{fmt.Sprintf("of %s, %d done", counted(c.Selected, "message"), c.Done)}
	for _, one := range []struct {
		n    int64
		text string
	}{
		{c.Same, "set aside again for the same fault"}, {c.Other, "set aside again for another"}, {c.Unchanged, "not changed by the repairs"},
		{c.Invalid, "not fit to send"}, {c.Skipped, "skipped"}, {c.Discarded, "discarded"}, {c.Sent, "on their way"}, {c.Pending, "not sent yet"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.text))
		}
	}
	return strings.Join(parts, ", ")
}

// showCampaign shows a campaign.
func (a *app) showCampaign(c siding.Campaign) error {
	if a.json {
		return writeJSON(a.out, newCampaignLine(c))
	}
	t := newTable(a.out, "CAMPAIGN", fmt.Sprint(c.ID))
	row := func(name, value string) {
		if value != "" {
			t.row(name, oneLine(value, 400))
		}
	}
	row("state", string(c.State))
	row("why", c.Why)
	row("what", planText(c.Plan))
	row("recipe", c.Plan.Recipe)
	row("by", c.By)
	row("created", when(c.CreatedAt))
	row("changed", when(c.ChangedAt))
	row("messages", countsText(c))
	if c.Plan.Canary > 0 {
		row("stage", fmt.Sprintf("%s: %d sent, %d done, %d set aside again", stageName(c), c.StageSent, c.StageDone, c.StageFailed))
	}
	return t.flush()
}

func stageName(c siding.Campaign) string {
	if c.Stage == 0 {
		return "the canary"
	}
	return fmt.Sprintf("stage %d of the ramp", c.Stage)
}
