package siding_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The four transitions that every router of this kind agrees on.
func TestRouteKeepsTheClassicContract(t *testing.T) {
	t.Parallel()
	p := siding.DefaultPolicy()
	p.MaxRetries = 2 // max attempts 3
	p.Backoff.Jitter = 0
	now := time.UnixMilli(10_000)
	transient := siding.FailureOf(siding.Transient(errors.New("503")))

	d := siding.Route(siding.Message{ID: "evt-1"}, transient, p, now, 0.9)
	require.Equal(t, siding.StateReady, d.State)
	require.Equal(t, 1, d.Attempt)
	require.Equal(t, time.UnixMilli(12_000), d.AvailableAt)

	d = siding.Route(siding.Message{ID: "evt-1", Attempt: 2}, transient, p, now, 0.9)
	require.Equal(t, siding.StateDead, d.State)
	require.Equal(t, siding.ReasonAttemptsExhausted, d.Reason)
	require.Equal(t, 3, d.Attempt)

	d = siding.Route(siding.Message{ID: "evt-1"}, siding.FailureOf(siding.Permanent(errors.New("bad"))), p, now, 0.9)
	require.Equal(t, siding.StateDead, d.State)
	require.Equal(t, siding.ReasonPoison, d.Reason)
	require.Equal(t, 1, d.Attempt)

	m := siding.Redrive(siding.Message{
		ID: "evt-1", State: siding.StateDead, Attempt: 3, LastError: transient.Stored(), Deliveries: 3,
		Reason: siding.ReasonAttemptsExhausted, DeadAt: now,
	}, now)
	require.Equal(t, siding.Message{ID: "evt-1", State: siding.StateReady, AvailableAt: now, Deliveries: 3, Redrives: 1}, m)
}

func policies() *rapid.Generator[siding.Policy] {
	return rapid.Custom(func(t *rapid.T) siding.Policy {
		p := siding.DefaultPolicy()
		p.MaxRetries = rapid.IntRange(-2, 20).Draw(t, "retries")
		p.GrayRetries = rapid.IntRange(-2, 5).Draw(t, "gray")
		p.MaxWaits = rapid.IntRange(0, 5).Draw(t, "waits")
		p.MaxInterruptions = rapid.IntRange(0, 5).Draw(t, "interruptions")
		p.Gray = rapid.SliceOfN(rapid.SampledFrom(siding.Causes()), 0, 3).Draw(t, "gray causes")
		p.Backoff = backoffs().Draw(t, "backoff")
		return p
	})
}

func messages() *rapid.Generator[siding.Message] {
	return rapid.Custom(func(t *rapid.T) siding.Message {
		n := rapid.IntRange(0, 30)
		return siding.Message{
			ID: "evt", Attempt: n.Draw(t, "attempt"), Gray: n.Draw(t, "grays"), Waits: n.Draw(t, "waited"),
			Interruptions: n.Draw(t, "interrupted"),
		}
	})
}

func failures() *rapid.Generator[*siding.Failure] {
	return rapid.Custom(func(t *rapid.T) *siding.Failure {
		outcomes := slices.Concat(siding.Outcomes()[1:], []siding.Outcome{"nonsense", ""})
		return &siding.Failure{
			Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"), Cause: rapid.SampledFrom(siding.Causes()).Draw(t, "cause"),
			WaitCounts: rapid.Bool().Draw(t, "wait counts"),
			RetryAfter: time.Duration(rapid.Int64().Draw(t, "retry after")),
		}
	})
}

// routed draws everything that Route takes, and what it decided.
func routed(t *rapid.T) (siding.Message, *siding.Failure, siding.Policy, time.Time, siding.Decision) {
	m, f, p := messages().Draw(t, "message"), failures().Draw(t, "failure"), policies().Draw(t, "policy")
	now := time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "now"))
	rnd := rapid.Float64Range(0, 0.999999).Draw(t, "rnd")
	d := siding.Route(m, f, p, now, rnd)
	require.Equal(t, d, siding.Route(m, f, p, now, rnd), "same arguments, same decision")
	return m, f, p, now, d
}

func TestAttemptRisesByOneWhenADeliveryFailsThroughTheMessageAndByNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, _, _, _, d := routed(t)
		switch d.Outcome {
		case siding.OutcomeTransient, siding.OutcomePermanent, siding.OutcomeGray:
			require.Equal(t, m.Attempt+1, d.Attempt)
		default:
			require.Equal(t, m.Attempt, d.Attempt)
		}
		if d.Outcome == siding.OutcomeGray {
			require.Equal(t, m.Gray+1, d.Gray)
		} else {
			require.Equal(t, m.Gray, d.Gray)
		}
	})
}

func TestOnlyWhatIsUnderItsLimitGoesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, _, p, _, d := routed(t)
		require.Contains(t, []siding.State{siding.StateReady, siding.StateDead}, d.State)
		if d.State != siding.StateReady {
			require.NotEmpty(t, d.Reason)
			return
		}
		require.Empty(t, d.Reason)
		switch d.Outcome {
		case siding.OutcomePermanent, siding.OutcomeDone:
			t.Fatalf("%s went back", d.Outcome)
		case siding.OutcomeTransient:
			require.Less(t, d.Attempt, p.MaxAttempts())
		case siding.OutcomeGray:
			require.Less(t, d.Attempt, p.MaxAttempts())
			require.LessOrEqual(t, d.Gray, max(p.GrayRetries, 0))
		}
	})
}

func TestNothingGoesBackWithoutADelay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, f, _, now, d := routed(t)
		if d.State != siding.StateReady {
			return
		}
		require.True(t, d.AvailableAt.After(now))
		if f.RetryAfter > 0 && f.RetryAfter < 24*time.Hour && d.Outcome != siding.OutcomeInterrupted {
			require.False(t, d.AvailableAt.Before(now.Add(f.RetryAfter)), "never below what the service asked for")
		}
	})
}

func TestWhatIsNotTheMessagesFaultSetsNothingAsideBeforeItsOwnBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, f, p, now, d := routed(t)
		switch {
		case d.Outcome == siding.OutcomeHeld && !f.WaitCounts:
			require.Equal(t, siding.StateReady, d.State)
			require.Equal(t, m.Waits, d.Waits)
		case d.Outcome == siding.OutcomeHeld:
			require.Equal(t, d.Waits > p.MaxWaits, d.State == siding.StateDead)
		case d.Outcome != siding.OutcomeInterrupted:
			require.Equal(t, m.Interruptions, d.Interruptions)
		case f.Cause == siding.CauseShutdown, f.Cause == siding.CauseHostRestart, f.Cause == siding.CauseWorkerCrash:
			require.Equal(t, siding.StateReady, d.State)
			require.Equal(t, m.Interruptions, d.Interruptions)
			require.Equal(t, f.Cause == siding.CauseWorkerCrash, d.Suspect)
		default:
			require.Equal(t, m.Interruptions+1, d.Interruptions)
			if d.State == siding.StateReady {
				require.False(t, d.AvailableAt.Before(now.Add(time.Second)))
			}
		}
	})
}

// A message that only ever fails is delivered exactly as often as its policy says, whatever the mixture.
func TestEveryBudgetEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		m := siding.Message{ID: "evt"}
		limit := p.MaxAttempts() + max(p.MaxInterruptions, 1) + p.MaxWaits + 1
		for range limit {
			f := failures().Draw(t, "failure")
			if f.Outcome == siding.OutcomeHeld {
				f.WaitCounts = true
			}
			if f.Outcome == siding.OutcomeInterrupted {
				f.Cause = siding.CauseLeaseLost
			}
			d := siding.Route(m, f, p, time.Unix(0, 0), 0)
			if d.State == siding.StateDead {
				return
			}
			m.Attempt, m.Gray, m.Waits, m.Interruptions = d.Attempt, d.Gray, d.Waits, d.Interruptions
		}
		t.Fatal("it loops for ever")
	})
}

func TestRetriesAreDeliveriesLessOne(t *testing.T) {
	t.Parallel()
	for retries := range 5 {
		p := siding.DefaultPolicy()
		p.MaxRetries = retries
		m, deliveries := siding.Message{}, 0
		for {
			deliveries++
			d := siding.Route(m, siding.FailureOf(siding.Transient(errors.New("x"))), p, time.Unix(0, 0), 0)
			if d.State == siding.StateDead {
				break
			}
			m.Attempt = d.Attempt
		}
		require.Equal(t, retries+1, deliveries)
	}
}

func TestACauseListedAsGrayIsGray(t *testing.T) {
	t.Parallel()
	p := siding.DefaultPolicy()
	p.Gray = []siding.Cause{siding.CauseSchemaMismatch}
	f := &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseSchemaMismatch}
	d := siding.Route(siding.Message{}, f, p, time.Unix(0, 0), 0)
	require.Equal(t, siding.OutcomeGray, d.Outcome)
	require.Equal(t, siding.StateReady, d.State)
	d = siding.Route(siding.Message{Attempt: 1, Gray: 1}, f, p, time.Unix(0, 0), 0)
	require.Equal(t, siding.ReasonGrayExhausted, d.Reason)
}

func TestTheLastWaitIsATrialAlone(t *testing.T) {
	t.Parallel()
	p := siding.DefaultPolicy()
	f := &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, WaitCounts: true}
	m := siding.Message{}
	for i := 1; i <= 20; i++ {
		d := siding.Route(m, f, p, time.Unix(0, 0), 0)
		require.Equal(t, siding.StateReady, d.State)
		require.Equal(t, i == 20, d.Alone)
		m.Waits = d.Waits
	}
	require.Equal(t, siding.ReasonWaitsExhausted, siding.Route(m, f, p, time.Unix(0, 0), 0).Reason)
}

func backoffs() *rapid.Generator[siding.Backoff] {
	return rapid.Custom(func(t *rapid.T) siding.Backoff {
		odd := []float64{0, -1, 0.5, 1, 1.5, 2, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
		return siding.Backoff{
			Base:   time.Duration(rapid.Int64().Draw(t, "base")),
			Factor: rapid.OneOf(rapid.Float64(), rapid.SampledFrom(odd)).Draw(t, "factor"),
			Cap:    time.Duration(rapid.Int64().Draw(t, "cap")),
			Jitter: rapid.OneOf(rapid.Float64(), rapid.SampledFrom(odd)).Draw(t, "jitter"),
		}
	})
}

func TestADelayIsPositiveForAnyArguments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := backoffs().Draw(t, "backoff")
		n := rapid.IntRange(-10, 1_000_000).Draw(t, "n")
		floor := time.Duration(rapid.Int64().Draw(t, "floor"))
		rnd := rapid.Float64Range(0, 0.999999).Draw(t, "rnd")
		d := b.Delay(n, floor, rnd)
		require.Positive(t, d)
		require.Less(t, d, 111*365*24*time.Hour)
		require.GreaterOrEqual(t, d, min(floor, 365*24*time.Hour))
		require.False(t, time.Now().Add(d).Before(time.Now()))
	})
}

func TestDelaysGrowToTheCapAndJitterOnlyAdds(t *testing.T) {
	t.Parallel()
	b := siding.DefaultBackoff()
	want := []time.Duration{2, 4, 8, 16, 32, 60, 60, 60}
	for i, w := range want {
		require.Equal(t, w*time.Second, b.Delay(i+1, 0, 0))
		require.GreaterOrEqual(t, b.Delay(i+1, 0, 0.5), w*time.Second)
		require.LessOrEqual(t, b.Delay(i+1, 0, 0.999), time.Duration(float64(w*time.Second)*1.3))
	}
	require.Equal(t, 171*time.Second, b.Delay(1, 171*time.Second, 0), "a service's wish is not capped")
	require.EqualValues(t, 1<<53+1, b.Delay(1, 1<<53+1, 0), "nor rounded down")
	b.Factor = 1.5
	require.Equal(t, 1500*time.Millisecond, b.Delay(1, 0, 0), "a factor is not rounded")
}

func TestAPolicyIsChecked(t *testing.T) {
	t.Parallel()
	require.NoError(t, siding.DefaultPolicy().Validate())
	p := siding.Policy{MaxRetries: -1, Gray: []siding.Cause{"no-such\x1b"}, Backoff: siding.Backoff{Factor: math.NaN(), Jitter: -1}}
	err := p.Validate()
	for _, word := range []string{"max_retries", "gray lists", "on_unknown", "base", "cap", "factor", "jitter"} {
		require.ErrorContains(t, err, word)
	}
	require.NotContains(t, err.Error(), "\x1b")
}
