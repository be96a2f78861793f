package siding_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
)

var probeToken = siding.LeaseToken{Message: 9, Nonce: 9}

func interruption() *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseShutdown}
}

func TestAnInterruptedProbeOpensNothingThatAnOperatorOrADateHasClosedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]*siding.Failure{
		"interrupted": interruption(), "of a sick lane": down(), "held elsewhere": fault(siding.ScopeRecipe, time.Time{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, hold := range []func(g *siding.Gate){
				func(g *siding.Gate) { g.HoldByHand("maintenance", "me", t0) },
				func(g *siding.Gate) {
					g.Hold = &siding.Hold{Kind: siding.HoldFault, Since: t0, Until: t0.Add(time.Hour)}
				},
			} {
				g := threeGates()
				observe(g, 1, t0, t0, fault(siding.ScopeAccount, time.Time{}))
				g.Account.Nudge(t0)
				g.Probing(siding.LeaseToken{Message: 2, Nonce: 1}, t0)
				hold(g.Account)
				observe(g, 2, t0, t0.Add(time.Second), failure)
				require.Zero(t, g.Admit(8, t0.Add(time.Minute)).Max)
			}
		})
	}
}

func TestAProbeThatIsForgottenMayBeFollowedByAnother(t *testing.T) {
	t.Parallel()
	g := threeGates()
	observe(g, 1, t0, t0, fault(siding.ScopeAccount, time.Time{}))
	g.Account.Nudge(t0)
	g.Probing(probeToken, t0)
	require.Zero(t, g.Admit(8, t0).Max)
	g.Account.ForgetProbe(t0.Add(time.Second))
	require.Equal(t, 1, g.Admit(8, t0.Add(time.Second)).Max)

	g.Account.HoldByHand("maintenance", "me", t0)
	g.Account.ForgetProbe(t0.Add(time.Second))
	require.Zero(t, g.Admit(8, t0.Add(time.Second)).Max)
}

func TestAHoldByHandIsScrubbedAndKeepsWhatProbesFoundOut(t *testing.T) {
	t.Parallel()
	g := siding.Gate{Hold: &siding.Hold{Kind: siding.HoldSystemic, Probes: 3, Stuck: true}}
	g.HoldByHand("a\x1b[31m", "b\x00", t0)
	h := *g.Hold
	require.Equal(t, siding.Hold{
		Kind: siding.HoldManual, Text: siding.Scrub("a\x1b[31m", 100), By: siding.Scrub("b\x00", 100), Since: t0, Probes: 3,
	}, h)
	require.NotContains(t, h.Text, "\x1b")
	require.NotContains(t, h.By, "\x00")
}

func TestBlockedGatesStayAsTheyStood(t *testing.T) {
	t.Parallel()
	g := threeGates()
	observe(g, 1, t0, t0, fault(siding.ScopeAccount, time.Time{}))
	g.Account.Nudge(t0)
	a := g.Admit(8, t0)
	g.Probing(probeToken, t0)
	require.Equal(t, t0, a.Blocked[0].Hold.NextProbe)
	require.Nil(t, a.Blocked[0].Probe)
}

func TestADateOutOfReachCanBeStored(t *testing.T) {
	t.Parallel()
	g := threeGates()
	observe(g, 1, t0, t0, fault(siding.ScopeAccount, time.Date(12_345, 1, 1, 0, 0, 0, 0, time.UTC)))
	_, err := json.Marshal(g.Account)
	require.NoError(t, err)
	require.Zero(t, g.Admit(8, t0.Add(365*24*time.Hour)).Max)
}

func TestALastTrialThatFindsNothingOutIsStillToCome(t *testing.T) {
	t.Parallel()
	p := siding.DefaultPolicy()
	m := siding.Message{Waits: p.MaxWaits, Alone: true}
	held := limited(0)
	require.True(t, siding.Route(m, interruption(), p, t0, 0).Alone)
	require.True(t, siding.Route(m, held, p, t0, 0).Alone)
	held.WaitCounts = true
	d := siding.Route(m, held, p, t0, 0)
	require.Equal(t, siding.ReasonWaitsExhausted, d.Reason)
	require.False(t, d.Alone)
	require.False(t, siding.Route(m, down(), p, t0, 0).Alone, "it has been tried")
}
