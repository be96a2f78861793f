package worker

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

// gated gives a core that has sent its nudge, with so many slots.
func gated(t *testing.T, slots int, wait func(siding.Hold) time.Duration) *core {
	t.Helper()
	cfg, err := Config{
		Queue: "q", Name: "w", Handler: siding.HandlerFunc(nil), Concurrency: slots, Gates: everything, Wait: wait, Drain: true,
	}.withDefaults()
	require.NoError(t, err)
	c := newCore(cfg, 1)
	out := c.step(0)
	require.Equal(t, []cmdNudge{{everything}}, find[cmdNudge](out))
	require.Empty(t, find[cmdLease](out), "the nudge comes first")
	require.Len(t, find[cmdLease](c.step(0, newsNudged{})), 1)
	return c
}

func deliveries(n int) []*siding.Delivery {
	all := make([]*siding.Delivery, n)
	for i := range all {
		all[i] = &siding.Delivery{Token: siding.LeaseToken{Message: int64(i + 1), Nonce: 1}}
	}
	return all
}

// Forty thousand answers that all say to wait, over a week: it asks about once a second, never sooner than half of one,
// and nothing overflows.
func TestAWaitOfFortyThousandAnswers(t *testing.T) {
	t.Parallel()
	c := gated(t, 8, func(siding.Hold) time.Duration { return forever })
	now := time.Duration(0)
	start := time.Unix(1000, 0)
	hold := siding.Hold{Kind: siding.HoldOutage, Since: start}
	for i := range 40_000 {
		at := start.Add(now)
		hold.NextProbe = at.Add(15 * time.Second)
		out := c.step(now, newsLeased{leased: siding.Leased{
			Now: at, NextAt: at, RetryAt: hold.NextProbe, Blocked: []siding.Gate{{Key: everything.Lane, Hold: &hold}},
		}})
		if len(find[cmdFinish](out)) > 0 {
			t.Fatalf("after %d answers it gives up", i)
		}
		due := c.leaseDue()
		if due-now < blockedPoll/2 || due-now > blockedPoll {
			t.Fatalf("after %d answers it asks again in %v", i, due-now)
		}
		now = due
		if len(find[cmdLease](c.step(now, newsTime{}, newsReaped{}))) != 1 {
			t.Fatalf("after %d answers it does not ask again", i)
		}
	}
}

// The same with the store's own gates: a message is throttled thousands of times, and pays nothing.
func TestThousandsOfRestsOfAStore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	store := memory.Open(memory.Options{Clock: func() time.Time { return now }})
	_, err := store.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
	require.NoError(t, err)
	policy := siding.DefaultPolicy()
	for range 10_000 {
		leased, err := store.Lease(t.Context(), siding.LeaseRequest{
			Queue: "q", Max: 1, MaxRetries: -1, Duration: time.Minute, Policy: policy, Gates: everything,
		})
		require.NoError(t, err)
		if len(leased.Deliveries) == 0 {
			require.True(t, leased.RetryAt.After(now) || leased.NextAt.After(now))
			now = latest(leased.RetryAt, leased.NextAt)
			continue
		}
		settled, err := store.Settle(t.Context(), siding.Settlement{
			Token: leased.Deliveries[0].Token, Policy: policy, Gates: everything, Rand: 0.5, Failure: &siding.Failure{
				Outcome: siding.OutcomeHeld, Cause: siding.CauseOverloaded, Scope: siding.ScopeLane,
			},
		})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		require.Equal(t, siding.StateReady, settled[0].Decision.State)
		require.Less(t, settled[0].Decision.AvailableAt.Sub(now), time.Minute)
	}
	r, err := store.Get(t.Context(), "q", "a")
	require.NoError(t, err)
	require.Greater(t, r.Deliveries, 3_000)
	require.Zero(t, r.Waits+r.Attempt)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestAMessageThatIsAloneStaysAlone(t *testing.T) {
	t.Parallel()
	c := gated(t, 8, nil)
	one := deliveries(1)
	one[0].Solo = true
	out := c.step(1, newsLeased{leased: siding.Leased{Deliveries: one}})
	require.Len(t, find[cmdStart](out), 1)
	require.Equal(t, forever, c.leaseDue(), "nothing is asked for beside it")
	require.Empty(t, find[cmdLease](c.step(time.Second, newsWake{})))
	c.step(2*time.Second, newsEnded{call: 1, items: make([]itemEnd, 1)})
	require.Equal(t, forever, c.leaseDue(), "nor before it is settled")
	require.Len(t, find[cmdLease](c.step(3*time.Second, newsSettled{settled: make([]siding.Settled, 1)})), 1)
}

// After a rest there is one call at a time: it is not always a retry's.
func TestRetriesDoNotKeepTheOnlyCallAfterARest(t *testing.T) {
	t.Parallel()
	c := gated(t, 64, nil)
	require.Zero(t, c.maxRetries(1))
	require.Equal(t, 2, c.maxRetries(8))
	c.lease.untried = 3
	require.Equal(t, 1, c.maxRetries(1))
}

// The store gives nothing, so that the suspect may have the process alone: it is asked again at the usual pace.
func TestAnEmptyAnswerForTheSakeOfASuspectIsNoReasonToSpin(t *testing.T) {
	t.Parallel()
	c := gated(t, 8, nil)
	c.step(1, newsLeased{leased: siding.Leased{Deliveries: deliveries(7)}})
	now := time.Unix(1000, 0)
	require.Empty(t, find[cmdLease](c.step(2, newsLeased{leased: siding.Leased{Now: now, NextAt: now.Add(-time.Hour), InFlight: 7}})))
}

func TestTheStoreHearsOfAFaultBeforeItIsAskedForMore(t *testing.T) {
	t.Parallel()
	c := gated(t, 8, nil)
	c.step(1, newsLeased{leased: siding.Leased{Deliveries: deliveries(2)}})
	c.step(2, newsWake{})
	c.step(3, newsLeased{})
	fault := &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseCredentials, Scope: siding.ScopeAccount}
	out := c.step(time.Second, newsWake{}, newsEnded{call: 1, items: make([]itemEnd, 1), failure: fault})
	require.Empty(t, find[cmdLease](out))
	require.Equal(t, everything, find[cmdSettle](out)[0].settlements[0].Gates)
	require.Len(t, find[cmdLease](c.step(2*time.Second, newsSettled{settled: make([]siding.Settled, 1)})), 1)
}

// What says whether a delivery told something of the service.
func TestSettlementsSayWhetherTheServiceWasAsked(t *testing.T) {
	t.Parallel()
	held := func(f siding.Failure) *siding.Failure { f.Outcome = siding.OutcomeHeld; return &f }
	for name, test := range map[string]struct {
		result  siding.Result
		failure *siding.Failure
		noCall  bool
		other   bool
	}{
		"done":                     {},
		"another lane":             {result: siding.Result{OtherLane: true}, other: true},
		"done from the journal":    {siding.Result{NoCall: true}, nil, true, false},
		"alone":                    {siding.Result{}, held(siding.Failure{RetryAfter: time.Minute, NoCall: true}), true, false},
		"the budget":               {siding.Result{NoCall: true}, held(siding.Failure{Scope: siding.ScopeRecipe, NoCall: true}), false, false},
		"throttled":                {siding.Result{}, held(siding.Failure{Cause: siding.CauseRateLimited}), false, false},
		"an answer in the journal": {siding.Result{NoCall: true}, &siding.Failure{Outcome: siding.OutcomeGray}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := gated(t, 8, nil)
			c.step(1, newsLeased{leased: siding.Leased{Deliveries: deliveries(1)}})
			out := c.step(2, newsEnded{call: 1, items: []itemEnd{{result: test.result}}, failure: test.failure})
			settlement := find[cmdSettle](out)[0].settlements[0]
			require.Equal(t, test.noCall, settlement.NoCall)
			require.Equal(t, test.other, settlement.OtherLane)
		})
	}
}

func TestHoldsThatCannotBeWaitedForEndTheRun(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	soon, day := now.Add(time.Second), now.Add(24*time.Hour)
	for name, test := range map[string]struct {
		hold  siding.Hold
		probe *siding.Probe
		wait  time.Duration
		ends  bool
	}{
		"undated":                         {siding.Hold{Kind: siding.HoldFault}, nil, 0, true},
		"undated, with patience":          {siding.Hold{Kind: siding.HoldFault}, nil, time.Hour, false},
		"about to be tried":               {siding.Hold{Kind: siding.HoldFault, NextProbe: now}, nil, 0, false},
		"being tried by another":          {siding.Hold{Kind: siding.HoldFault}, &siding.Probe{}, 0, false},
		"dated, in reach":                 {siding.Hold{Kind: siding.HoldFault, Until: soon}, nil, time.Hour, false},
		"dated, out of reach":             {siding.Hold{Kind: siding.HoldFault, Until: day}, nil, time.Hour, true},
		"the date has come":               {siding.Hold{Kind: siding.HoldFault, Until: now, NextProbe: now}, nil, 0, false},
		"an outage":                       {siding.Hold{Kind: siding.HoldOutage, NextProbe: soon}, nil, forever, false},
		"an outage, without patience":     {siding.Hold{Kind: siding.HoldOutage, NextProbe: soon}, nil, -1, true},
		"systemic, still probed":          {siding.Hold{Kind: siding.HoldSystemic, NextProbe: soon}, nil, 0, false},
		"systemic, and nobody knows more": {siding.Hold{Kind: siding.HoldSystemic, Stuck: true}, nil, 0, true},
		"by hand":                         {siding.Hold{Kind: siding.HoldManual}, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := gated(t, 8, func(siding.Hold) time.Duration { return test.wait })
			out := c.step(1, newsLeased{leased: siding.Leased{
				Now: now, NextAt: now, Blocked: []siding.Gate{{Key: everything.Recipe, Hold: &test.hold, Probe: test.probe}},
			}})
			end := find[cmdFinish](out)
			if !test.ends {
				require.Empty(t, end)
				return
			}
			require.Len(t, end, 1)
			var held *HeldError
			require.ErrorAs(t, end[0].err, &held)
			require.Equal(t, everything.Recipe, held.Holds[0].Key)
		})
	}
}

func TestNoAnswerMakesTheWaitOverflow(t *testing.T) {
	t.Parallel()
	c := gated(t, 8, func(siding.Hold) time.Duration { return time.Duration(math.MinInt64) })
	out := c.step(forever-1, newsLeased{leased: siding.Leased{
		Now: time.Unix(1, 0), NextAt: time.Unix(1, 0), RetryAt: time.Unix(1<<40, 0), Blocked: []siding.Gate{{Key: everything.Account, Hold: &siding.Hold{
			Kind: siding.HoldFault, Until: time.Unix(1<<40, 0), Text: "\x1b[2J",
		}}},
	}})
	end := find[cmdFinish](out)
	require.Len(t, end, 1)
	require.NotContains(t, end[0].err.Error(), "\x1b")
	require.NotErrorIs(t, end[0].err, siding.ErrClosed)
}
