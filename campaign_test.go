package siding_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

var campaignStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// started gives a running campaign of n messages.
func startedCampaign(p siding.CampaignPlan, n int64) siding.Campaign {
	c := siding.NewCampaign(p, "me", campaignStart)
	c.Enlisted(n)
	c.Start(campaignStart)
	return c
}

// sendAll sends what is allowed now and gives how many that were, and the serial of the stage.
func sendAll(c *siding.Campaign, now time.Time) (n int64, serial int) {
	n, _ = c.Allow(now)
	serial = c.Serial
	c.Send(n, now)
	return n, serial
}

func endMany(c *siding.Campaign, s siding.MemberStatus, serial int, n int64) {
	for range n {
		c.Ended(s, serial, campaignStart)
	}
}

func TestCampaignPlan(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		plan siding.CampaignPlan
		says string // empty: fit
	}{
		"nothing asked for":       {siding.CampaignPlan{}, ""},
		"everything":              {siding.CampaignPlan{Canary: 10, Ramp: []int64{1, 5}, MinSuccess: 1, Rate: 1e6}, ""},
		"one a day":               {siding.CampaignPlan{Rate: 1.0 / 86400}, ""},
		"a canary below nothing":  {siding.CampaignPlan{Canary: -1}, "canary is -1"},
		"a stage of nothing":      {siding.CampaignPlan{Canary: 1, Ramp: []int64{5, 0}}, "ramp: stage 2 is 0"},
		"a ramp without a canary": {siding.CampaignPlan{Ramp: []int64{5}}, "ramp: it follows a canary"},
		"a share beyond all":      {siding.CampaignPlan{MinSuccess: 1.01}, "min-success is 1.01"},
		"a share below nothing":   {siding.CampaignPlan{MinSuccess: -0.1}, "min-success is -0.1"},
		"a share that is none":    {siding.CampaignPlan{MinSuccess: math.NaN()}, "min-success is NaN"},
		"a rate below nothing":    {siding.CampaignPlan{Rate: -1}, "rate is -1"},
		"a rate that never comes": {siding.CampaignPlan{Rate: 1e-12}, "rate is 1e-12"},
		"a rate without end":      {siding.CampaignPlan{Rate: math.Inf(1)}, "rate is +Inf"},
		"a rate that is none":     {siding.CampaignPlan{Rate: math.NaN()}, "rate is NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := one.plan.Validate()
			if one.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, one.says)
		})
	}
	t.Run("all that is wrong is said at once", func(t *testing.T) {
		t.Parallel()
		err := siding.CampaignPlan{Canary: -1, MinSuccess: 2, Rate: -1}.Validate()
		for _, what := range []string{"canary", "min-success", "rate"} {
			require.ErrorContains(t, err, what)
		}
	})
}

func TestCampaignSelects(t *testing.T) {
	t.Parallel()
	t.Run("only dead letters, and only those set aside before it was made", func(t *testing.T) {
		t.Parallel()
		for _, until := range []time.Time{{}, campaignStart.Add(time.Hour)} {
			p := siding.CampaignPlan{Selection: siding.Selection{States: []siding.State{siding.StateReady}, Until: until}}
			c := siding.NewCampaign(p, "me", campaignStart)
			require.Equal(t, []siding.State{siding.StateDead}, c.Plan.Selection.States)
			require.Equal(t, campaignStart, c.Plan.Selection.Until)
		}
		earlier := campaignStart.Add(-time.Hour)
		c := siding.NewCampaign(siding.CampaignPlan{Selection: siding.Selection{Until: earlier}}, "me", campaignStart)
		require.Equal(t, earlier, c.Plan.Selection.Until)
	})
	t.Run("nothing is sent before it is started", func(t *testing.T) {
		t.Parallel()
		c := siding.NewCampaign(siding.CampaignPlan{}, "me", campaignStart)
		c.Enlisted(5)
		n, at := c.Allow(campaignStart)
		require.Zero(t, n)
		require.True(t, at.IsZero())
		c.Start(campaignStart)
		n, _ = c.Allow(campaignStart)
		require.EqualValues(t, 5, n)
	})
	t.Run("one that found nothing has finished", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}, 0)
		require.Equal(t, siding.CampaignFinished, c.State)
	})
	t.Run("the operator's name is scrubbed", func(t *testing.T) {
		t.Parallel()
		require.NotContains(t, siding.NewCampaign(siding.CampaignPlan{}, "me\x1b[31m", campaignStart).By, "\x1b")
	})
}

func TestCampaignCanary(t *testing.T) {
	t.Parallel()
	plan := siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}
	t.Run("of 10,000 in which all fail stops with 10 spent, and says why", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(plan, 10_000)
		n, serial := sendAll(&c, campaignStart)
		require.EqualValues(t, 10, n)
		endMany(&c, siding.MemberSame, serial, 1)
		require.Equal(t, siding.CampaignRunning, c.State, "nine may still be done")
		endMany(&c, siding.MemberSame, serial, 1)
		require.Equal(t, siding.CampaignStopped, c.State, "as soon as the share cannot be reached")
		require.Contains(t, c.Why, "of the canary, 0 of 10 sent were done and 2 set aside again; a share of 0.9 has to be done")
		endMany(&c, siding.MemberOther, serial, 8)
		require.EqualValues(t, []int64{10_000, 9990, 0, 2, 8}, []int64{c.Selected, c.Pending, c.Sent, c.Same, c.Other})
		n, at := c.Allow(campaignStart.Add(time.Hour))
		require.Zero(t, n)
		require.True(t, at.IsZero())
	})
	t.Run("that does is followed by stages of ten times the size", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(plan, 10_000)
		var sizes []int64
		for c.State == siding.CampaignRunning {
			n, serial := sendAll(&c, campaignStart)
			more, _ := c.Allow(campaignStart)
			require.Zero(t, more, "a stage waits for what it has sent")
			sizes = append(sizes, n)
			endMany(&c, siding.MemberDone, serial, n)
		}
		require.Equal(t, []int64{10, 100, 1000, 8890}, sizes)
		require.Equal(t, siding.CampaignFinished, c.State)
		require.EqualValues(t, 10_000, c.Done)
	})
	t.Run("is followed by the ramp that was asked for, whose last size repeats", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 1, Ramp: []int64{2, 3}, MinSuccess: 1}, 10)
		var sizes []int64
		for c.State == siding.CampaignRunning {
			n, serial := sendAll(&c, campaignStart)
			sizes = append(sizes, n)
			endMany(&c, siding.MemberDone, serial, n)
		}
		require.Equal(t, []int64{1, 2, 3, 3, 1}, sizes)
	})
	t.Run("goes on with exactly the share, and not with less", func(t *testing.T) {
		t.Parallel()
		for failed, want := range []siding.CampaignState{siding.CampaignRunning, siding.CampaignRunning, siding.CampaignStopped} {
			c := startedCampaign(plan, 100)
			_, serial := sendAll(&c, campaignStart)
			endMany(&c, siding.MemberDone, serial, 10-int64(failed))
			endMany(&c, siding.MemberSame, serial, int64(failed))
			require.Equal(t, want, c.State, "%d failed", failed)
		}
	})
	t.Run("names the stage of the ramp that failed", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 1, Ramp: []int64{2}, MinSuccess: 1}, 10)
		_, serial := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberDone, serial, 1)
		_, serial = sendAll(&c, campaignStart)
		endMany(&c, siding.MemberSame, serial, 1)
		require.Contains(t, c.Why, "stage 1 of the ramp")
	})
	t.Run("larger than the selection is all of it", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 100, MinSuccess: 0.5}, 4)
		_, serial := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberSame, serial, 3)
		require.Equal(t, siding.CampaignStopped, c.State, "of four, two would have to be done")
	})
	t.Run("of enormous size overflows nothing", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: math.MaxInt64 / 2, MinSuccess: 1}, 5)
		n, serial := sendAll(&c, campaignStart)
		require.EqualValues(t, 5, n)
		endMany(&c, siding.MemberDone, serial, 5)
		require.Equal(t, siding.CampaignFinished, c.State)
	})
}

func TestCampaignShare(t *testing.T) {
	t.Parallel()
	t.Run("of 0 never stops", func(t *testing.T) {
		t.Parallel()
		for _, canary := range []int64{0, 10} {
			c := startedCampaign(siding.CampaignPlan{Canary: canary}, 100)
			for c.State == siding.CampaignRunning {
				n, serial := sendAll(&c, campaignStart)
				endMany(&c, siding.MemberSame, serial, n)
			}
			require.Equal(t, siding.CampaignFinished, c.State)
			require.EqualValues(t, 100, c.Same)
		}
	})
	t.Run("of 1 stops at the first that comes back", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 10, MinSuccess: 1}, 100)
		_, serial := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberDone, serial, 9)
		require.Equal(t, siding.CampaignRunning, c.State)
		endMany(&c, siding.MemberOther, serial, 1)
		require.Equal(t, siding.CampaignStopped, c.State)
	})
	t.Run("without a canary is of all", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{MinSuccess: 0.9, Rate: 10}, 100)
		_, serial := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberSame, serial, 10)
		require.Equal(t, siding.CampaignRunning, c.State)
		_, serial = sendAll(&c, campaignStart.Add(time.Second))
		endMany(&c, siding.MemberSame, serial, 1)
		require.Equal(t, siding.CampaignStopped, c.State)
		require.Contains(t, c.Why, "of the campaign, 0 of 20 sent were done and 11 set aside again")
	})
	t.Run("counts what is discarded neither way", func(t *testing.T) {
		t.Parallel()
		plan := siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}
		c := startedCampaign(plan, 100)
		_, serial := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberDiscarded, serial, 9)
		require.Equal(t, siding.CampaignRunning, c.State)
		endMany(&c, siding.MemberDone, serial, 1)
		require.Equal(t, 1, c.Stage, "all that counts was done")

		c = startedCampaign(plan, 100)
		_, serial = sendAll(&c, campaignStart)
		endMany(&c, siding.MemberSame, serial, 1)
		endMany(&c, siding.MemberDiscarded, serial, 1)
		require.Equal(t, siding.CampaignStopped, c.State, "of nine, one is too many")
	})
	t.Run("of a stage that was all discarded is not known, and the stage comes again", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}, 100)
		n, serial := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberDiscarded, serial, n)
		n, _ = sendAll(&c, campaignStart)
		require.EqualValues(t, 10, n)
		require.Zero(t, c.Stage)
	})
	t.Run("cannot be reached any more when the rest of a stage is passed over", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}, 10)
		c.Send(5, campaignStart)
		c.Ended(siding.MemberSame, c.Serial, campaignStart)
		require.Equal(t, siding.CampaignRunning, c.State)
		c.PassOver(siding.MemberInvalid, 5, campaignStart)
		require.Equal(t, siding.CampaignStopped, c.State)
	})
}

func TestCampaignPassesOver(t *testing.T) {
	t.Parallel()
	t.Run("what is not sent takes no place in a stage", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}, 100)
		c.PassOver(siding.MemberUnchanged, 3, campaignStart)
		c.PassOver(siding.MemberInvalid, 2, campaignStart)
		c.PassOver(siding.MemberSkipped, 1, campaignStart)
		n, _ := c.Allow(campaignStart)
		require.EqualValues(t, 10, n)
		require.EqualValues(t, []int64{94, 3, 2, 1}, []int64{c.Pending, c.Unchanged, c.Invalid, c.Skipped})
	})
	t.Run("the last that is passed over finishes it", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}, 8)
		c.Send(5, campaignStart)
		endMany(&c, siding.MemberDone, c.Serial, 5)
		require.Equal(t, siding.CampaignRunning, c.State)
		c.PassOver(siding.MemberUnchanged, 3, campaignStart)
		require.Equal(t, siding.CampaignFinished, c.State)
	})
}

func TestCampaignActs(t *testing.T) {
	t.Parallel()
	t.Run("each action has the states in which it is allowed", func(t *testing.T) {
		t.Parallel()
		allowed := map[siding.CampaignAction]map[siding.CampaignState]siding.CampaignState{
			siding.CampaignPause: {siding.CampaignRunning: siding.CampaignPaused},
			siding.CampaignResume: {
				siding.CampaignPaused: siding.CampaignRunning, siding.CampaignStopped: siding.CampaignRunning,
			},
			siding.CampaignAbort: {
				siding.CampaignSelecting: siding.CampaignAborted, siding.CampaignRunning: siding.CampaignAborted,
				siding.CampaignPaused: siding.CampaignAborted, siding.CampaignStopped: siding.CampaignAborted,
			},
			"no action": {},
		}
		for action, into := range allowed {
			for _, from := range siding.CampaignStates() {
				c := startedCampaign(siding.CampaignPlan{}, 5)
				c.State = from
				before := c
				err := c.Act(action, "because", campaignStart.Add(time.Minute))
				if want, ok := into[from]; ok {
					require.NoError(t, err)
					require.Equal(t, want, c.State, "%s when %s", action, from)
					require.Equal(t, campaignStart.Add(time.Minute), c.ChangedAt)
					continue
				}
				require.ErrorIs(t, err, siding.ErrWrongState, "%s when %s", action, from)
				require.Equal(t, before, c, "%s when %s", action, from)
			}
		}
	})
	t.Run("what was sent before a pause is counted in it", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 2, MinSuccess: 1}, 5)
		_, serial := sendAll(&c, campaignStart)
		require.NoError(t, c.Act(siding.CampaignPause, "lunch", campaignStart))
		require.Equal(t, "lunch", c.Why)
		endMany(&c, siding.MemberSame, serial, 2)
		require.Equal(t, siding.CampaignPaused, c.State)
		require.NoError(t, c.Act(siding.CampaignResume, "", campaignStart))
		require.Equal(t, siding.CampaignStopped, c.State, "the relapse is found when it goes on")
	})
	t.Run("a pause in which all ended is resumed into the next stage, or the end", func(t *testing.T) {
		t.Parallel()
		for total, want := range map[int64]siding.CampaignState{2: siding.CampaignFinished, 5: siding.CampaignRunning} {
			c := startedCampaign(siding.CampaignPlan{Canary: 2, MinSuccess: 1}, total)
			_, serial := sendAll(&c, campaignStart)
			require.NoError(t, c.Act(siding.CampaignPause, "", campaignStart))
			endMany(&c, siding.MemberDone, serial, 2)
			require.NoError(t, c.Act(siding.CampaignResume, "", campaignStart))
			require.Equal(t, want, c.State)
			n, _ := c.Allow(campaignStart)
			require.Equal(t, total-2, n)
		}
	})
	t.Run("resumed after a stop it begins with the canary, and what was sent before counts in no later stage", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 4, Ramp: []int64{10}, MinSuccess: 1}, 100)
		n, first := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberDone, first, n)
		n, second := sendAll(&c, campaignStart)
		require.EqualValues(t, 10, n)
		endMany(&c, siding.MemberSame, second, 1)
		require.Equal(t, siding.CampaignStopped, c.State)

		require.NoError(t, c.Act(siding.CampaignResume, "", campaignStart))
		require.Empty(t, c.Why)
		n, third := sendAll(&c, campaignStart)
		require.EqualValues(t, 4, n, "the canary again")
		endMany(&c, siding.MemberSame, second, 9)
		require.Equal(t, siding.CampaignRunning, c.State, "they are of the stage that was stopped")
		require.Zero(t, c.StageFailed)
		require.EqualValues(t, 10, c.Same)
		endMany(&c, siding.MemberDone, third, 4)
		n, _ = sendAll(&c, campaignStart)
		require.EqualValues(t, 10, n)
	})
	t.Run("it does not finish before an earlier stage's last has ended", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 2, MinSuccess: 1}, 3)
		_, first := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberSame, first, 1)
		require.NoError(t, c.Act(siding.CampaignResume, "", campaignStart))
		_, second := sendAll(&c, campaignStart)
		endMany(&c, siding.MemberDone, second, 1)
		require.Equal(t, siding.CampaignRunning, c.State)
		endMany(&c, siding.MemberDone, first, 1)
		require.Equal(t, siding.CampaignFinished, c.State)
	})
	t.Run("what was sent before it was aborted is still counted", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Canary: 2, MinSuccess: 1}, 5)
		_, serial := sendAll(&c, campaignStart)
		require.NoError(t, c.Act(siding.CampaignAbort, "wrong repair", campaignStart))
		endMany(&c, siding.MemberDone, serial, 2)
		require.Equal(t, siding.CampaignAborted, c.State)
		require.EqualValues(t, []int64{3, 0, 2}, []int64{c.Pending, c.Sent, c.Done})
		require.Equal(t, "wrong repair", c.Why)
	})
}

func TestCampaignRate(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{0.01, 0.5, 1, 3, 7, 50, 333.3, 5000} {
		t.Run(fmt.Sprintf("%v a second", perSecond), func(t *testing.T) {
			t.Parallel()
			const total = 2000
			c := startedCampaign(siding.CampaignPlan{Rate: perSecond}, total)
			now, steps := campaignStart, 0
			for c.Pending > 0 {
				n, at := c.Allow(now)
				if n == 0 {
					require.True(t, at.After(now), "there is a time to ask again")
					now = at
				}
				require.LessOrEqual(t, n, max(1, int64(perSecond)+1), "at most a second's worth at once")
				c.Send(n, now)
				sent := total - c.Pending
				most := 1 + perSecond*(1+now.Sub(campaignStart).Seconds())
				require.LessOrEqual(t, float64(sent), most+1e-3)
				steps++
			}
			require.LessOrEqual(t, steps, 2*total+2, "asking at the time that it gave gives something")
			burst := max(1, math.Floor(perSecond))
			took, want := now.Sub(campaignStart).Seconds(), max(0, total-burst)/perSecond
			require.InEpsilon(t, want+1, took+1, 0.01)
		})
	}
	t.Run("a rest saves up no more than a second's worth", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Rate: 20}, 1000)
		_, _ = sendAll(&c, campaignStart)
		n, _ := c.Allow(campaignStart.Add(24 * time.Hour))
		require.EqualValues(t, 20, n)
	})
	t.Run("the canary is held to it too", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Rate: 2, Canary: 10, MinSuccess: 0.9}, 100)
		n, _ := sendAll(&c, campaignStart)
		require.EqualValues(t, 2, n)
		_, at := c.Allow(campaignStart)
		require.Equal(t, campaignStart.Add(500*time.Millisecond), at)
	})
	t.Run("a stage that waits gives no time, because only an end changes it", func(t *testing.T) {
		t.Parallel()
		c := startedCampaign(siding.CampaignPlan{Rate: 2, Canary: 1, MinSuccess: 0.9}, 100)
		_, _ = sendAll(&c, campaignStart)
		n, at := c.Allow(campaignStart)
		require.Zero(t, n)
		require.True(t, at.IsZero())
	})
}
