package siding_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestAForwardedMessageWaitsUncounted(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000)
	f := siding.FailureOf(siding.Forward("summaries", &siding.Failure{Cause: siding.CauseInputTooLarge, Err: errors.New("too long")}))
	m := siding.Message{Queue: "tags", ID: "evt", Attempt: 2, Gray: 1, Waits: 3, Interruptions: 4, Suspect: true, SoloCrashes: 1}
	d := siding.Route(m, f, siding.DefaultPolicy(), now, 0)
	require.Equal(t, siding.Decision{
		Outcome: siding.OutcomeForwarded, State: siding.StateReady, AvailableAt: siding.Never, WaitsFor: "summaries",
		Attempt: 2, Gray: 1, Waits: 3, Interruptions: 4,
	}, d)
	require.Equal(t, siding.CauseInputTooLarge, f.Cause)
	require.Equal(t, "too long", f.Error())
	require.True(t, f.NoCall)
	require.NoError(t, siding.Forward("summaries", nil))
}

func TestForwardingNeverGoesRound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m     siding.Message
		queue string
	}{
		"to its own queue":                  {siding.Message{Queue: "tags"}, "tags"},
		"to no queue":                       {siding.Message{Queue: "tags"}, ""},
		"when a result has come in already": {siding.Message{Queue: "tags", Returned: 1}, "summaries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := siding.FailureOf(siding.Forward(c.queue, errors.New("too long")))
			d := siding.Route(c.m, f, siding.DefaultPolicy(), time.Unix(0, 0), 0)
			require.Equal(t, siding.OutcomePermanent, d.Outcome)
			require.Equal(t, siding.StateDead, d.State)
			require.Equal(t, siding.ReasonPoison, d.Reason)
			require.Equal(t, 1, d.Attempt)
			require.Empty(t, d.WaitsFor)
		})
	}
}

// However its failures mix, a message is forwarded once between two changes by hand.
func TestAMessageIsForwardedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		m := siding.Message{Queue: "tags", ID: "evt"}
		forwarded := 0
		for range p.MaxAttempts() + max(p.MaxInterruptions, 1) + p.MaxWaits + 3 {
			f := failures().Draw(t, "failure")
			f.Queue = rapid.SampledFrom([]string{"", "tags", "summaries", "other"}).Draw(t, "queue")
			switch f.Outcome {
			case siding.OutcomeHeld:
				f.WaitCounts = true
			case siding.OutcomeInterrupted:
				f.Cause = siding.CauseLeaseLost
			}
			d := siding.Route(m, f, p, time.Unix(0, 0), 0)
			require.Equal(t, d.Outcome == siding.OutcomeForwarded, d.WaitsFor != "")
			require.Equal(t, d.WaitsFor != "", d.AvailableAt.Equal(siding.Never))
			if d.State == siding.StateDead {
				return
			}
			m.Attempt, m.Gray, m.Waits, m.Interruptions = d.Attempt, d.Gray, d.Waits, d.Interruptions
			if d.Outcome == siding.OutcomeForwarded {
				forwarded++
				m.Returned++ // its result comes in, and it is untried again
				m.Attempt, m.Gray, m.Waits, m.Interruptions = 0, 0, 0, 0
			}
			require.LessOrEqual(t, forwarded, 1)
		}
		require.Positive(t, forwarded, "it loops for ever")
	})
}

func TestARedriveEndsTheWaiting(t *testing.T) {
	t.Parallel()
	m := siding.Redrive(siding.Message{State: siding.StateDead, WaitsFor: "summaries", Returned: 1}, time.Unix(1, 0))
	require.Empty(t, m.WaitsFor)
	require.Equal(t, 1, m.Returned)
}

func TestGatesLearnNothingFromAForwardedMessage(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	for name, f := range map[string]*siding.Failure{
		"made by Forward": siding.FailureOf(siding.Forward("summaries", errors.New("too long"))),
		"made by hand":    {Outcome: siding.OutcomeForwarded, Queue: "summaries", Cause: siding.CauseInputTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lane := &siding.Gate{Key: siding.GateKey{Scope: siding.ScopeLane, Name: "l"}}
			r := &siding.Gate{Key: siding.GateKey{Scope: siding.ScopeRecipe, Name: "r"}}
			gates := siding.Gates{Lane: lane, Recipe: r}
			for i := range int64(30) {
				got, effects := gates.Observe(siding.Observed{
					Token: siding.LeaseToken{Message: i, Nonce: 1}, Delivery: 1, Started: now, Failure: f,
				}, now, 0)
				require.Same(t, f, got)
				require.Empty(t, effects)
			}
			require.True(t, lane.Idle())
			require.True(t, r.Idle())
		})
	}
	t.Run("and a probe that was forwarded is followed by another", func(t *testing.T) {
		t.Parallel()
		token := siding.LeaseToken{Message: 1, Nonce: 1}
		lane := &siding.Gate{
			Key: siding.GateKey{Scope: siding.ScopeLane, Name: "l"}, Hold: &siding.Hold{Kind: siding.HoldOutage, Since: now},
			Probe: &siding.Probe{Token: token, Since: now},
		}
		siding.Gates{Lane: lane}.Observe(siding.Observed{
			Token: token, Delivery: 1, Started: now, Failure: siding.FailureOf(siding.Forward("summaries", errors.New("too long"))),
		}, now, 0)
		require.Nil(t, lane.Probe)
		require.Equal(t, now, lane.Hold.NextProbe)
	})
}
