package siding_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func limited(after time.Duration) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Scope: siding.ScopeLane, Cause: siding.CauseRateLimited, RetryAfter: after, Status: 429,
	}
}

func fault(scope siding.Scope, until time.Time) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Scope: scope, Cause: siding.CauseAccount, Until: until, Err: errors.New("no credit"),
	}
}

func threeGates() siding.Gates {
	return siding.Gates{Account: &siding.Gate{}, Lane: &siding.Gate{}, Recipe: &siding.Gate{}}
}

var t0 = time.Unix(1_000_000, 0)

func observe(g siding.Gates, message int64, started, now time.Time, f *siding.Failure) *siding.Failure {
	counted, _ := g.Observe(siding.Observed{
		Token: siding.LeaseToken{Message: message, Nonce: 1}, Delivery: 1, Started: started, Failure: f,
	}, now, 0)
	return counted
}

func TestALaneRestsForAsLongAsTheServiceAsks(t *testing.T) {
	t.Parallel()
	g := threeGates()
	observe(g, 1, t0, t0, limited(171*time.Second))
	a := g.Admit(8, t0.Add(time.Second))
	require.Zero(t, a.Max)
	require.Equal(t, t0.Add(171*time.Second), a.At)

	a = g.Admit(8, t0.Add(171*time.Second))
	require.Equal(t, 1, a.Max, "one call finds out")
	require.True(t, a.Probe)
	g.Probing(siding.LeaseToken{Message: 2, Nonce: 1}, t0.Add(171*time.Second))
	require.Zero(t, g.Admit(8, t0.Add(172*time.Second)).Max, "and only one")
	observe(g, 2, t0.Add(171*time.Second), t0.Add(173*time.Second), nil)
	require.Equal(t, 8, g.Admit(8, t0.Add(173*time.Second)).Max, "its success wakes the rest")
}

func TestARestWithoutATimeDoublesToFifteenSeconds(t *testing.T) {
	t.Parallel()
	g, now := threeGates(), t0
	for _, want := range []time.Duration{1, 2, 4, 8, 15, 15, 15} {
		observe(g, 1, now, now, limited(0))
		// Those that were in flight when the rest began say nothing new.
		for i := range int64(7) {
			observe(g, 2+i, now.Add(-time.Millisecond), now.Add(time.Millisecond), limited(0))
		}
		require.Equal(t, now.Add(want*time.Second), g.Admit(8, now).At)
		now = now.Add(want * time.Second)
	}
}

func TestWaitsAreCountedOnlyWhileTheLaneServesOthers(t *testing.T) {
	t.Parallel()
	g := threeGates()
	require.False(t, observe(g, 1, t0, t0.Add(time.Second), limited(0)).WaitCounts)
	observe(g, 2, t0.Add(2*time.Second), t0.Add(3*time.Second), nil)
	require.True(t, observe(g, 1, t0.Add(time.Second), t0.Add(4*time.Second), limited(0)).WaitCounts)
}

func TestAKnownFaultHoldsAtFirstSight(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]siding.Scope{"account": siding.ScopeAccount, "lane": siding.ScopeLane, "recipe": siding.ScopeRecipe} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := threeGates()
			observe(g, 1, t0, t0, fault(scope, time.Time{}))
			a := g.Admit(8, t0.Add(24*time.Hour))
			require.Zero(t, a.Max)
			require.True(t, a.At.IsZero(), "nothing is tried without a new start")
			require.Len(t, a.Blocked, 1)

			// A new start sends one probe. While the fault lasts, that is all.
			now := t0.Add(25 * time.Hour)
			for _, gate := range []*siding.Gate{g.Account, g.Lane, g.Recipe} {
				gate.Nudge(now)
			}
			require.Equal(t, 1, g.Admit(8, now).Max)
			g.Probing(siding.LeaseToken{Message: 5, Nonce: 1}, now)
			observe(g, 5, now, now.Add(time.Second), fault(scope, time.Time{}))
			require.Zero(t, g.Admit(8, now.Add(time.Hour)).Max)

			// Once mended, the next start's probe opens it.
			now = now.Add(2 * time.Hour)
			for _, gate := range []*siding.Gate{g.Account, g.Lane, g.Recipe} {
				gate.Nudge(now)
			}
			g.Probing(siding.LeaseToken{Message: 6, Nonce: 1}, now)
			observe(g, 6, now, now.Add(time.Second), nil)
			require.Equal(t, 8, g.Admit(8, now.Add(time.Second)).Max)
		})
	}
}

func TestADatedHoldEndsWithItsDate(t *testing.T) {
	t.Parallel()
	g := threeGates()
	until := t0.Add(10 * time.Hour)
	observe(g, 1, t0, t0, fault(siding.ScopeAccount, until))
	require.Equal(t, until, g.Admit(8, t0.Add(time.Hour)).At)
	a := g.Admit(8, until)
	require.Equal(t, 1, a.Max)
	g.Probing(siding.LeaseToken{Message: 2, Nonce: 1}, until)
	observe(g, 2, until, until, fault(siding.ScopeAccount, t0)) // a date that has passed counts as none
	a = g.Admit(8, until.Add(time.Hour))
	require.Zero(t, a.Max)
	require.True(t, a.At.IsZero(), "and the hold is undated from then on")
}

func TestAFailureWithoutAScopeHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	g := threeGates()
	f := observe(g, 1, t0, t0, &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseTimeout, RetryAfter: time.Minute})
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Equal(t, 8, g.Admit(8, t0).Max)
}

func TestAnotherLanesAnswersAreNothingToThisOne(t *testing.T) {
	t.Parallel()
	other := func(g siding.Gates, message int64, now time.Time, f *siding.Failure) *siding.Failure {
		f, _ = g.Observe(siding.Observed{
			Token: siding.LeaseToken{Message: message, Nonce: 1}, Delivery: 1, Started: now, Failure: f, OtherLane: true,
		}, now, 0)
		return f
	}
	g := threeGates()
	for i := range int64(30) {
		require.Equal(t, siding.OutcomeTransient, other(g, i, t0, down()).Outcome)
		require.Equal(t, siding.OutcomeHeld, other(g, i, t0, limited(time.Minute)).Outcome)
	}
	require.Equal(t, 8, g.Admit(8, t0).Max)
	require.True(t, g.Lane.Idle())

	other(g, 1, t0, fault(siding.ScopeAccount, time.Time{}))
	require.NotNil(t, g.Account.Hold, "but an account is the same")
	g.Account.Nudge(t0)
	g.Lane.Hold = &siding.Hold{Kind: siding.HoldOutage, Since: t0, NextProbe: t0}
	require.True(t, g.Admit(8, t0).Probe)
	g.Probing(siding.LeaseToken{Message: 2, Nonce: 1}, t0)
	now := t0.Add(time.Second)
	other(g, 2, now, nil)
	require.Nil(t, g.Account.Hold)
	require.NotNil(t, g.Lane.Hold, "what another lane answers does not reopen this one")
	require.True(t, g.Admit(8, now).Probe, "and the next probe may go")
}

func TestASuccessFromBeforeTheHoldEndsNothing(t *testing.T) {
	t.Parallel()
	g := threeGates()
	observe(g, 1, t0, t0.Add(time.Second), fault(siding.ScopeAccount, time.Time{}))
	observe(g, 2, t0, t0.Add(2*time.Second), nil)
	require.NotNil(t, g.Account.Hold)
}

func TestAProbeThatIsInterruptedIsSentAgain(t *testing.T) {
	t.Parallel()
	g := threeGates()
	observe(g, 1, t0, t0, fault(siding.ScopeAccount, time.Time{}))
	g.Account.Nudge(t0)
	g.Probing(siding.LeaseToken{Message: 2, Nonce: 1}, t0)
	observe(g, 2, t0, t0.Add(time.Second), &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseShutdown})
	require.Equal(t, 1, g.Admit(8, t0.Add(2*time.Second)).Max)
}

func TestAHoldByHandStays(t *testing.T) {
	t.Parallel()
	g := threeGates()
	g.Lane.Hold = &siding.Hold{Kind: siding.HoldManual, Since: t0, Text: "maintenance", By: "me"}
	g.Lane.Nudge(t0)
	observe(g, 1, t0, t0.Add(time.Second), nil)
	require.Zero(t, g.Admit(8, t0.Add(time.Hour)).Max)
	g.Lane.Resume(false)
	require.Equal(t, 8, g.Admit(8, t0).Max)
}

func TestATransientFailureCostsAnAttemptOnlyOnAHealthyLane(t *testing.T) {
	t.Parallel()
	g, now := threeGates(), t0
	for i := range int64(20) {
		observe(g, i, now, now, nil)
	}
	costs := 0
	for i := range int64(20) {
		now = now.Add(time.Second)
		if observe(g, 100+i, now, now, down()).Outcome == siding.OutcomeTransient {
			costs++
		}
	}
	require.Equal(t, 5, costs, "until fewer than 15 of the last 20 succeeded")
	require.Equal(t, siding.HoldOutage, g.Lane.Hold.Kind)

	// A message that always fails does not make its lane look sick.
	g = threeGates()
	for range 50 {
		f, _ := g.Observe(siding.Observed{Token: siding.LeaseToken{Message: 1}, Started: now, Attempt: 2, Failure: down()}, now, 0)
		require.Equal(t, siding.OutcomeTransient, f.Outcome)
	}
}

func TestARelapseAfterARedriveCountsForNoStreak(t *testing.T) {
	t.Parallel()
	g := threeGates()
	for i := range int64(50) {
		f, effects := g.Observe(siding.Observed{
			Token: siding.LeaseToken{Message: i}, Started: t0, Redrives: 1, Failure: poison("bad"),
		}, t0, 0)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.Empty(t, effects)
	}
	require.Nil(t, g.Recipe.Hold)
}

func TestTheLastMessagesOfASickLaneDoNotFailForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 200, func(m *wmsg, began time.Time) *siding.Failure {
		if m.n >= 197 || began.Sub(t0) > 3*time.Second && began.Sub(t0) < 13*time.Second { // an outage, and three that always fail
			return down()
		}
		return nil
	})
	require.False(t, w.run(6*time.Hour), "it ends")
	require.Equal(t, []int64{197, 198, 199}, w.dead())
	require.Less(t, len(w.calls), 200+500)
}

func TestTheLastMessageThatIsTooMuchForTheLimitDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20, func(m *wmsg, _ time.Time) *siding.Failure {
		if m.n == 19 {
			return limited(time.Minute)
		}
		return nil
	})
	require.False(t, w.run(12*time.Hour), "it ends")
	require.Equal(t, []int64{19}, w.dead())
	require.Equal(t, siding.ReasonWaitsExhausted, w.msgs[19].Reason)

	// Where the service is only busy, it is waited for.
	w = newWorld(t, 1, func(_ *wmsg, began time.Time) *siding.Failure {
		if began.Sub(t0) < 10*time.Hour {
			f := limited(time.Minute)
			f.Cause = siding.CauseOverloaded
			return f
		}
		return nil
	})
	require.False(t, w.run(12*time.Hour))
	require.Empty(t, w.dead())
}

func TestKeysAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	k := siding.GateKey{Scope: siding.ScopeLane, Name: "claude/claude-haiku-4-5@1f2e3d4c"}
	got, ok := siding.ParseGateKey(k.String())
	require.True(t, ok)
	require.Equal(t, k, got)
	for _, bad := range []string{"", "lane:", "x:y", "lane"} {
		_, ok := siding.ParseGateKey(bad)
		require.False(t, ok)
	}
}

// Whatever happens in whatever order, a gate survives its storage, and says when to ask again or that somebody must act.
func TestGatesHoldTogetherUnderAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, now := threeGates(), t0
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		type flight struct {
			token   siding.LeaseToken
			started time.Time
		}
		var flying []flight
		for i := range int64(rapid.IntRange(1, 300).Draw(t, "steps")) {
			now = now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
			a := g.Admit(4, now)
			require.GreaterOrEqual(t, a.Max, 0)
			if a.Probe {
				require.Equal(t, 1, a.Max)
			}
			if a.Max > 0 {
				f := flight{siding.LeaseToken{Message: i % 40, Nonce: i}, now}
				if a.Probe {
					g.Probing(f.token, now)
					require.Zero(t, g.Admit(4, now).Max, "one probe at a time")
				}
				flying = append(flying, f)
			}
			if len(flying) > 0 && rng.IntN(2) == 0 {
				f := flying[0]
				flying = flying[1:]
				failure := failures().Draw(t, "failure")
				failure.Scope = rapid.SampledFrom([]siding.Scope{siding.ScopeAccount, siding.ScopeLane, siding.ScopeRecipe, ""}).Draw(t, "scope")
				failure.NoCall = rng.IntN(10) == 0
				failure.Until = now.Add(time.Duration(rng.IntN(7200)-3600) * time.Second)
				if rng.IntN(3) == 0 {
					failure = nil
				}
				counted, effects := g.Observe(siding.Observed{Token: f.token, Delivery: 1, Started: f.started, Failure: failure}, now, rng.Float64())
				require.Equal(t, failure == nil, counted == nil)
				for _, e := range effects {
					for _, m := range append(e.TakeBack, e.Convict...) {
						require.NotEqual(t, siding.OutcomeDone, m.Outcome)
					}
				}
				if failure != nil && (failure.Outcome == siding.OutcomeHeld || failure.Outcome == siding.OutcomeInterrupted) {
					require.Equal(t, failure.Outcome, counted.Outcome, "what costs nothing never comes to cost something")
				}
			}
			if a.Max == 0 && a.At.IsZero() && len(flying) == 0 {
				require.NotEmpty(t, a.Blocked)
				for _, gate := range []*siding.Gate{g.Account, g.Lane, g.Recipe} {
					gate.Nudge(now)
				}
				if g.Recipe.Hold != nil && g.Recipe.Hold.Stuck {
					g.Recipe.Resume(rng.IntN(2) == 0)
				}
				again := g.Admit(4, now)
				require.True(t, again.Max > 0 || again.At.After(now), "a new start sends a probe, unless a date is waited for")
			}
			for _, gate := range []**siding.Gate{&g.Account, &g.Lane, &g.Recipe} {
				raw, err := json.Marshal(*gate)
				require.NoError(t, err)
				require.Less(t, len(raw), 64<<10)
				*gate = &siding.Gate{}
				require.NoError(t, json.Unmarshal(raw, *gate))
			}
		}
	})
}
