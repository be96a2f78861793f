package siding_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

// campaignModel follows each member of a campaign by itself, as a store does, and asks after every step for what the
// counters of the campaign must say.
type campaignModel struct {
	c       siding.Campaign
	now     time.Time
	status  []siding.MemberStatus
	serial  []int
	stages  map[int]int64 // what was sent, by serial
	sizes   map[int]int64 // how large the stage with that serial was allowed to be
	begun   time.Time
	sentAll int64
}

func (m *campaignModel) size() int64 {
	p := m.c.Plan
	size := p.Canary
	switch {
	case p.Canary == 0:
		return int64(len(m.status)) + 1
	case m.c.Stage > 0 && len(p.Ramp) > 0:
		return p.Ramp[min(m.c.Stage, len(p.Ramp))-1]
	}
	for i := 0; i < m.c.Stage && size < 1e9; i++ {
		size *= 10
	}
	return size
}

// pick gives the places of members with a status.
func (m *campaignModel) with(s siding.MemberStatus) (out []int) {
	for i, is := range m.status {
		if is == s {
			out = append(out, i)
		}
	}
	return out
}

func (m *campaignModel) send(t *rapid.T) {
	n, at := m.c.Allow(m.now)
	if n == 0 {
		if !at.IsZero() {
			require.True(t, at.After(m.now))
		}
		return
	}
	n = rapid.Int64Range(1, n).Draw(t, "sent")
	for _, i := range m.with(siding.MemberPending)[:n] {
		m.status[i], m.serial[i] = siding.MemberSent, m.c.Serial
	}
	m.stages[m.c.Serial] += n
	m.sentAll += n
	m.c.Send(n, m.now)
}

func (m *campaignModel) end(t *rapid.T) {
	sent := m.with(siding.MemberSent)
	if len(sent) == 0 {
		return
	}
	i := rapid.SampledFrom(sent).Draw(t, "ended")
	m.status[i] = rapid.SampledFrom([]siding.MemberStatus{
		siding.MemberDone, siding.MemberDone, siding.MemberDone, siding.MemberSame, siding.MemberOther, siding.MemberDiscarded,
	}).Draw(t, "end")
	m.c.Ended(m.status[i], m.serial[i], m.now)
}

func (m *campaignModel) passOver(t *rapid.T) {
	pending := m.with(siding.MemberPending)
	if len(pending) == 0 || m.c.State != siding.CampaignRunning {
		return
	}
	n := rapid.IntRange(1, len(pending)).Draw(t, "passed over")
	s := rapid.SampledFrom([]siding.MemberStatus{siding.MemberUnchanged, siding.MemberInvalid, siding.MemberSkipped}).Draw(t, "why")
	for _, i := range pending[:n] {
		m.status[i] = s
	}
	m.c.PassOver(s, int64(n), m.now)
}

func (m *campaignModel) check(t *rapid.T) {
	c := &m.c
	sum := int64(0)
	for _, s := range siding.MemberStatuses() {
		n := int64(len(m.with(s)))
		require.Equal(t, n, *c.Count(s), "count of %s", s)
		sum += n
	}
	require.Equal(t, sum, c.Selected)

	stage := map[siding.MemberStatus]int64{}
	for i, s := range m.status {
		if m.serial[i] == c.Serial && m.serial[i] >= 0 {
			stage[s]++
		}
	}
	failed := stage[siding.MemberSame] + stage[siding.MemberOther]
	require.Equal(t, []int64{m.stages[c.Serial], stage[siding.MemberDone], failed, stage[siding.MemberDiscarded]},
		[]int64{c.StageSent, c.StageDone, c.StageFailed, c.StageGone})
	if size, seen := m.sizes[c.Serial]; seen {
		require.Equal(t, size, m.size(), "a stage keeps its size")
	}
	m.sizes[c.Serial] = m.size()
	for serial, n := range m.stages {
		require.LessOrEqual(t, n, m.sizes[serial], "stage %d", serial)
	}
	if c.Plan.Rate > 0 {
		require.LessOrEqual(t, float64(m.sentAll), 1+c.Plan.Rate*(1+m.now.Sub(m.begun).Seconds())+1e-3)
	}

	counted := min(m.size(), m.stages[c.Serial]+c.Pending) - stage[siding.MemberDiscarded]
	hopeless := failed > 0 && float64(counted-failed) < c.Plan.MinSuccess*float64(counted)-1e-9
	n, at := c.Allow(m.now)
	switch c.State {
	case siding.CampaignRunning:
		require.False(t, hopeless, "the share cannot be reached, and it runs")
		require.False(t, c.Pending == 0 && c.Sent == 0, "nothing is left, and it runs")
		inFlight := stage[siding.MemberSent]
		require.True(t, n > 0 || !at.IsZero() || inFlight > 0 || c.Pending == 0 && c.Sent > 0, "it will never go on")
		require.LessOrEqual(t, n, c.Pending)
	case siding.CampaignStopped:
		require.NotEmpty(t, c.Why)
	case siding.CampaignFinished:
		require.Zero(t, c.Pending+c.Sent)
	}
	if c.State != siding.CampaignRunning {
		require.Zero(t, n)
		require.True(t, at.IsZero())
	}
}

func TestCampaignCountersAlwaysAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := siding.CampaignPlan{
			Canary:     rapid.Int64Range(0, 8).Draw(t, "canary"),
			MinSuccess: rapid.SampledFrom([]float64{0, 0.3, 0.5, 0.9, 1}).Draw(t, "share"),
			Rate:       rapid.SampledFrom([]float64{0, 0, 0.2, 3, 100}).Draw(t, "rate"),
		}
		if p.Canary > 0 {
			p.Ramp = rapid.SliceOfN(rapid.Int64Range(1, 12), 0, 3).Draw(t, "ramp")
		}
		require.NoError(t, p.Validate())
		n := rapid.IntRange(0, 60).Draw(t, "members")
		m := &campaignModel{
			c: siding.NewCampaign(p, "me", campaignStart), now: campaignStart, begun: campaignStart,
			stages: map[int]int64{}, sizes: map[int]int64{},
		}
		for range n {
			m.status, m.serial = append(m.status, siding.MemberPending), append(m.serial, -1)
		}
		m.c.Enlisted(int64(n))
		m.c.Start(m.now)
		act := func(a siding.CampaignAction) func(*rapid.T) {
			return func(t *rapid.T) {
				over := m.c.State.Over()
				err := m.c.Act(a, "", m.now)
				require.False(t, over && err == nil, "over is over")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"send":      m.send,
			"send more": m.send,
			"end":       m.end,
			"end more":  m.end,
			"end again": m.end,
			"pass over": m.passOver,
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "wait")))
			},
			"pause":  act(siding.CampaignPause),
			"resume": act(siding.CampaignResume),
			"abort": func(t *rapid.T) {
				if rapid.IntRange(0, 30).Draw(t, "sure") == 0 {
					act(siding.CampaignAbort)(t)
				}
			},
		})
	})
}

func TestCampaignComesToAnEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := siding.CampaignPlan{
			Canary: rapid.Int64Range(0, 8).Draw(t, "canary"), MinSuccess: rapid.Float64Range(0, 1).Draw(t, "share"),
			Rate: rapid.SampledFrom([]float64{0, 0.2, 3, 1000}).Draw(t, "rate"),
		}
		n := rapid.Int64Range(0, 300).Draw(t, "members")
		c := startedCampaign(p, n)
		now := campaignStart
		for steps := int64(0); c.State == siding.CampaignRunning; steps++ {
			require.Less(t, steps, 3*n+10, "it goes on with every step")
			k, at := c.Allow(now)
			if k == 0 {
				require.False(t, at.IsZero(), "everything sent has ended, and it waits for nothing")
				now = at
				continue
			}
			serial := c.Serial
			c.Send(k, now)
			for range k {
				c.Ended(siding.MemberDone, serial, now)
			}
		}
		require.Equal(t, siding.CampaignFinished, c.State)
		require.Equal(t, n, c.Done)
	})
}
