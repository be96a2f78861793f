package siding

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// CampaignID is a store's own number of a campaign; 0 is none.
type CampaignID int64

// CampaignState is where a campaign is. The values are stored, so the list is append-only.
type CampaignState string

// The states of a campaign.
const (
	CampaignSelecting CampaignState = "selecting" // its messages are being listed
	CampaignRunning   CampaignState = "running"   // it sends messages back, as its rate and its ramp allow
	CampaignPaused    CampaignState = "paused"    // by an operator
	CampaignStopped   CampaignState = "stopped"   // by itself: too many came back. Resuming it begins with the canary again
	CampaignFinished  CampaignState = "finished"  // nothing is left to send, and everything sent has ended
	CampaignAborted   CampaignState = "aborted"   // by an operator, for good; what was not sent is free again
)

// CampaignStates lists every state, in the order in which they were added.
func CampaignStates() []CampaignState {
	return []CampaignState{
		CampaignSelecting, CampaignRunning, CampaignPaused, CampaignStopped, CampaignFinished, CampaignAborted,
	}
}

// Over tells whether a campaign has ended for good: its messages may be in another.
func (s CampaignState) Over() bool { return s == CampaignFinished || s == CampaignAborted }

// MemberStatus is what became of a message in a campaign. The values are stored, so the list is append-only.
type MemberStatus string

// What becomes of a message in a campaign.
const (
	MemberPending   MemberStatus = "pending"   // not sent yet
	MemberSent      MemberStatus = "sent"      // returned to its queue, and not ended since
	MemberDone      MemberStatus = "done"      // finished
	MemberSame      MemberStatus = "same"      // set aside again, with the same fingerprint
	MemberOther     MemberStatus = "other"     // set aside again, with another fingerprint
	MemberUnchanged MemberStatus = "unchanged" // no repair changed anything: not sent
	MemberInvalid   MemberStatus = "invalid"   // the repairs failed, or what they give is not valid: not sent
	MemberSkipped   MemberStatus = "skipped"   // it was sent back, changed or given up by another way before its turn: not sent
	MemberDiscarded MemberStatus = "discarded" // sent, and given up by an operator before it ended
)

// MemberStatuses lists every status, in the order in which they were added.
func MemberStatuses() []MemberStatus {
	return []MemberStatus{
		MemberPending, MemberSent, MemberDone, MemberSame, MemberOther, MemberUnchanged, MemberInvalid, MemberSkipped,
		MemberDiscarded,
	}
}

// CampaignPlan is what a campaign does; it does not change.
type CampaignPlan struct {
	// Selection names the messages: dead letters only, and only those set aside before the campaign was made.
	Selection Selection `json:"selection"`
	// Where is a jq expression that has to be true of each; empty: none. Whoever drives the campaign evaluates it.
	Where string `json:"where,omitempty"`
	// Repairs are applied to each in this order, as an operator writes them; empty: they go back as they are.
	Repairs []string `json:"repairs,omitempty"`
	// Recipe is the file of the recipe that repaired bodies are checked with; empty: none.
	Recipe string `json:"recipe,omitempty"`
	// Canary is how many are sent first; the rest follows only if they succeed. 0: no canary, and no ramp.
	Canary int64 `json:"canary,omitempty"`
	// Ramp are the sizes of the stages after the canary; the last one repeats. Empty: each stage is ten times the one before.
	Ramp []int64 `json:"ramp,omitempty"`
	// MinSuccess is the share of each stage that has to be done, in [0, 1]; without a canary it is of all. 0: never stops.
	MinSuccess float64 `json:"min_success"`
	// Rate is how many are sent in a second at most: 0 (no limit), or one a day to a million a second.
	Rate float64 `json:"rate,omitempty"`
}

// Validate says what is wrong with a plan, all of it at once.
func (p CampaignPlan) Validate() error {
	var errs []error
	if p.Canary < 0 {
		errs = append(errs, fmt.Errorf("canary is %d; it must be 0 (none) or more", p.Canary))
	}
	for i, n := range p.Ramp {
		if n < 1 {
			errs = append(errs, fmt.Errorf("ramp: stage %d is %d; it must be at least 1", i+1, n))
		}
	}
	if len(p.Ramp) > 0 && p.Canary == 0 {
		errs = append(errs, errors.New("ramp: it follows a canary, and there is none"))
	}
	if !(p.MinSuccess >= 0 && p.MinSuccess <= 1) {
		errs = append(errs, fmt.Errorf("min-success is %v; it must be from 0 to 1", p.MinSuccess))
	}
	if p.Rate != 0 && !(p.Rate >= minRate && p.Rate <= 1e6) {
		errs = append(errs, fmt.Errorf("rate is %v a second; it must be 0 (no limit), or from one a day to 1,000,000 a second", p.Rate))
	}
	return errors.Join(errs...)
}

// minRate is one a day, with room for the rounding of who divides.
const minRate = 0.999 / (24 * 60 * 60)

// stageSize gives how many messages a stage has; the canary is stage 0. Without a canary there is one stage, of all.
func (p CampaignPlan) stageSize(stage int) int64 {
	switch {
	case p.Canary == 0:
		return math.MaxInt64
	case stage == 0:
		return p.Canary
	case len(p.Ramp) > 0:
		return p.Ramp[min(stage, len(p.Ramp))-1]
	}
	size := p.Canary
	for range stage {
		if size > math.MaxInt64/10 {
			return math.MaxInt64
		}
		size *= 10
	}
	return size
}

// Campaign is a durable, paced redrive of a selection. What stores keep of it changes only by its methods, which are
// pure, and in the same write as the messages concerned.
type Campaign struct {
	ID        CampaignID    `json:"-"`
	Plan      CampaignPlan  `json:"plan"`
	State     CampaignState `json:"state"`
	Why       string        `json:"why,omitempty"` // it was stopped, paused or aborted; scrubbed
	By        string        `json:"by,omitempty"`  // who made it
	CreatedAt time.Time     `json:"created_at"`
	ChangedAt time.Time     `json:"changed_at"` // the state

	// Counts of its members; Selected is the sum of the others.
	Selected  int64 `json:"selected"`
	Pending   int64 `json:"pending"`
	Sent      int64 `json:"sent"` // and not ended
	Done      int64 `json:"done"`
	Same      int64 `json:"same"`
	Other     int64 `json:"other"`
	Unchanged int64 `json:"unchanged"`
	Invalid   int64 `json:"invalid"`
	Skipped   int64 `json:"skipped"`
	Discarded int64 `json:"discarded"`

	// Stage is the present stage's place in the ramp, Serial its number among all stages there were: a resumed campaign
	// begins with the canary again, and what an earlier stage left counts in no later one.
	Stage       int   `json:"stage"`
	Serial      int   `json:"serial"`
	StageSent   int64 `json:"stage_sent"`   // all that were sent in this stage
	StageDone   int64 `json:"stage_done"`   // of them
	StageFailed int64 `json:"stage_failed"` // of them, set aside again
	StageGone   int64 `json:"stage_gone"`   // of them, discarded: neither

	// Full is when the allowance of the rate is full again: one that lies ahead by n/Rate seconds has n messages spent.
	Full time.Time `json:"full,omitzero"`
}

// NewCampaign gives a campaign that selects its messages.
func NewCampaign(p CampaignPlan, by string, now time.Time) Campaign {
	p.Selection.States, p.Selection.Bodies, p.Selection.Limit = []State{StateDead}, false, 0
	if u := p.Selection.Until; u.IsZero() || u.After(now) {
		p.Selection.Until = now
	}
	return Campaign{Plan: p, State: CampaignSelecting, By: Scrub(by, MaxHeader), CreatedAt: now, ChangedAt: now}
}

// Count gives the counter of a status, to read or to change.
func (c *Campaign) Count(s MemberStatus) *int64 {
	switch s {
	case MemberPending:
		return &c.Pending
	case MemberSent:
		return &c.Sent
	case MemberDone:
		return &c.Done
	case MemberSame:
		return &c.Same
	case MemberOther:
		return &c.Other
	case MemberUnchanged:
		return &c.Unchanged
	case MemberInvalid:
		return &c.Invalid
	case MemberDiscarded:
		return &c.Discarded
	}
	return &c.Skipped
}

// Enlisted takes in that n messages were selected.
func (c *Campaign) Enlisted(n int64) { c.Selected, c.Pending = c.Selected+n, c.Pending+n }

// Start ends the selecting.
func (c *Campaign) Start(now time.Time) {
	if c.State == CampaignSelecting {
		c.enter(CampaignRunning, "", now)
		c.advance(now)
	}
}

// rateBurst is how much of the rate may be sent at once after a rest, in time: messages go out in small groups.
const rateBurst = time.Second

// Allow says how many messages may be sent now, and when to ask again: zero when only what comes back changes it.
func (c *Campaign) Allow(now time.Time) (n int64, at time.Time) {
	if c.State != CampaignRunning {
		return 0, time.Time{}
	}
	n = min(c.Pending, c.Plan.stageSize(c.Stage)-c.StageSent)
	if n <= 0 {
		return 0, time.Time{}
	}
	if c.Plan.Rate > 0 {
		behind := max(c.Full.Sub(now), 0)
		burst := max(rateBurst, time.Duration(float64(time.Second)/c.Plan.Rate)) // at least one message
		free := int64((burst-behind).Seconds()*c.Plan.Rate + 1e-6)
		if free < 1 {
			return 0, now.Add(behind - burst + time.Duration(math.Ceil(float64(time.Second)/c.Plan.Rate)))
		}
		n = min(n, free)
	}
	return n, now
}

// Send takes in that n pending messages were sent back; n is at most what [Campaign.Allow] gives.
func (c *Campaign) Send(n int64, now time.Time) {
	c.Pending, c.Sent, c.StageSent = c.Pending-n, c.Sent+n, c.StageSent+n
	if c.Plan.Rate > 0 {
		c.Full = later(c.Full, now).Add(time.Duration(float64(n) / c.Plan.Rate * float64(time.Second)))
	}
}

// PassOver takes in that n pending messages are not sent, for the reason that the status says: unchanged, invalid or
// skipped.
func (c *Campaign) PassOver(s MemberStatus, n int64, now time.Time) {
	c.Pending -= n
	*c.Count(s) += n
	c.advance(now)
}

// Ended takes in what became of a sent message: done, same, other or discarded. serial is the stage it was sent in.
func (c *Campaign) Ended(s MemberStatus, serial int, now time.Time) {
	c.Sent--
	*c.Count(s)++
	if serial == c.Serial {
		switch s {
		case MemberDone:
			c.StageDone++
		case MemberSame, MemberOther:
			c.StageFailed++
		default:
			c.StageGone++
		}
	}
	c.advance(now)
}

// advance stops a campaign whose stage cannot succeed any more, goes on to the next stage, or finishes.
func (c *Campaign) advance(now time.Time) {
	if c.State != CampaignRunning {
		return
	}
	ended := c.StageDone + c.StageFailed + c.StageGone
	// At most so many will have counted when the stage ends.
	most := min(c.Plan.stageSize(c.Stage), saturate(c.StageSent, c.Pending)) - c.StageGone
	if c.StageFailed > 0 && !c.enough(most-c.StageFailed, most) {
		what := "the campaign"
		switch {
		case c.Stage > 0:
			what = fmt.Sprintf("stage %d of the ramp", c.Stage)
		case c.Plan.Canary > 0:
			what = "the canary"
		}
		c.enter(CampaignStopped, fmt.Sprintf("of %s, %d of %d sent were done and %d set aside again; a share of %v has to be done",
			what, c.StageDone, c.StageSent, c.StageFailed, c.Plan.MinSuccess), now)
		return
	}
	switch {
	case ended < c.StageSent:
	case c.Pending == 0 && c.Sent == 0:
		c.enter(CampaignFinished, "", now)
	case c.StageSent < c.Plan.stageSize(c.Stage):
	case ended == c.StageGone: // all were discarded, which says nothing: the same stage again
		c.nextStage(c.Stage)
	default:
		c.nextStage(c.Stage + 1)
	}
}

// enough tells whether done of counted messages are the share that the plan demands.
func (c *Campaign) enough(done, counted int64) bool {
	return float64(done) >= c.Plan.MinSuccess*float64(counted)-1e-9
}

func (c *Campaign) nextStage(stage int) {
	c.Stage, c.Serial = stage, c.Serial+1
	c.StageSent, c.StageDone, c.StageFailed, c.StageGone = 0, 0, 0, 0
}

func (c *Campaign) enter(s CampaignState, why string, now time.Time) {
	c.State, c.Why, c.ChangedAt = s, Scrub(why, MaxHeader), now
}

// CampaignAction is what an operator does with a campaign.
type CampaignAction string

// The actions on a campaign.
const (
	CampaignPause  CampaignAction = "pause"
	CampaignResume CampaignAction = "resume"
	CampaignAbort  CampaignAction = "abort"
)

// Act carries out an operator's action, for a reason. An action that its state does not allow gives [ErrWrongState], and
// changes nothing.
func (c *Campaign) Act(a CampaignAction, why string, now time.Time) error {
	switch {
	case a == CampaignAbort && !c.State.Over():
		c.enter(CampaignAborted, why, now)
	case a == CampaignPause && c.State == CampaignRunning:
		c.enter(CampaignPaused, why, now)
	case a == CampaignResume && c.State == CampaignPaused:
		c.enter(CampaignRunning, "", now)
		c.advance(now)
	case a == CampaignResume && c.State == CampaignStopped:
		c.enter(CampaignRunning, "", now)
		c.nextStage(0)
		c.advance(now)
	default:
		return fmt.Errorf("%s the campaign: %w: it is %s", a, ErrWrongState, c.State)
	}
	return nil
}

// Did says for the audit trail what was done to a campaign, and why.
func (c *Campaign) Did(what, why string) string {
	text := fmt.Sprintf("campaign %d %s", c.ID, what)
	if why != "" {
		text += ": " + Scrub(why, MaxHeader)
	}
	return text
}

// saturate adds without overflow.
func saturate(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
