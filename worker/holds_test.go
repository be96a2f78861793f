package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// Each known fault holds at first sight: nothing is set aside, the run ends and says why, the same run again costs one
// call while the fault lasts, and finishes once it is mended.
func TestAKnownFaultIsFoundOutOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]siding.Failure{
		"a bad key":          {Cause: siding.CauseCredentials, Scope: siding.ScopeAccount, Status: 401},
		"no credit":          {Cause: siding.CauseAccount, Scope: siding.ScopeAccount, Status: 400},
		"an unknown model":   {Cause: siding.CauseModelNotFound, Scope: siding.ScopeLane, Status: 404},
		"a refused schema":   {Cause: siding.CauseConfiguration, Scope: siding.ScopeRecipe, Status: 400},
		"an exceeded budget": {Cause: siding.CauseBudget, Scope: siding.ScopeRecipe, NoCall: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(100)
				fault.Outcome, fault.Err = siding.OutcomeHeld, errors.New("no more: "+name)
				mended := false
				tried := 0
				s := newService(func(*siding.Delivery, time.Duration) *siding.Failure {
					tried++
					if mended {
						return nil
					}
					g := fault
					return &g
				})
				cfg := worker.Config{Gates: watched, Wait: waiting, Concurrency: 20, Handler: s}
				err := f.worker(cfg).Run(t.Context())
				var held *worker.HeldError
				require.ErrorAs(t, err, &held)
				require.Len(t, held.Holds, 1)
				require.Equal(t, fault.Scope, held.Holds[0].Key.Scope)
				require.Equal(t, fault.Cause, held.Failure.Cause)
				require.ErrorContains(t, err, "no more: "+name)
				require.ErrorContains(t, err, held.Holds[0].Key.String()+" held ("+string(fault.Cause)+")")
				require.LessOrEqual(t, tried, 20, "at most one call for each slot")
				require.EqualValues(t, 100, f.stats().Ready)

				tried = 0
				require.ErrorAs(t, f.worker(cfg).Run(t.Context()), &held)
				require.Equal(t, 1, tried, "each start of a run finds out once")

				mended = true
				f.drain(cfg)
				require.EqualValues(t, 100, f.stats().Done)
				require.Zero(t, f.get("m0").Attempt+f.get("m0").Waits)
			})
		})
	}
}

func TestAHoldWithADateIsWaitedForWhereThatIsInReach(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		until, wait time.Duration
		ends        bool
	}{
		{20 * time.Minute, 24 * time.Minute, true},
		{20 * time.Minute, -1, false},
		{20 * time.Minute, 0, false},
		{25 * time.Minute, 24 * time.Minute, false},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(30)
				begin := time.Now()
				until := begin.Add(test.until).Truncate(time.Second)
				s := newService(func(_ *siding.Delivery, at time.Duration) *siding.Failure {
					if time.Now().Before(until) {
						return &siding.Failure{
							Outcome: siding.OutcomeHeld, Cause: siding.CauseAccount, Scope: siding.ScopeAccount, Until: until,
							Err: errors.New("spend limit"),
						}
					}
					return nil
				})
				err := f.worker(worker.Config{Gates: watched, Handler: s, Wait: func(h siding.Hold) time.Duration {
					return test.wait
				}}).Run(t.Context())
				require.LessOrEqual(t, len(s.calls(0, test.until)), 8)
				if !test.ends {
					require.ErrorContains(t, err, "until "+until.UTC().Format(time.RFC3339))
					require.Less(t, time.Since(begin), time.Minute, "what is out of reach is not waited for")
					return
				}
				require.NoError(t, err)
				require.Less(t, time.Since(begin)-test.until, 10*time.Second)
				require.EqualValues(t, 30, f.stats().Done)
			})
		})
	}
}

func TestAWaitHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(30)
		begin := time.Now()
		s := newService(func(*siding.Delivery, time.Duration) *siding.Failure { return unavailable() })
		err := f.worker(worker.Config{Gates: watched, Handler: s, Wait: func(siding.Hold) time.Duration {
			return 10 * time.Minute
		}}).Run(t.Context())
		var held *worker.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, siding.HoldOutage, held.Holds[0].Hold.Kind)
		require.InDelta(t, 600, time.Since(begin).Seconds(), 5)
		require.EqualValues(t, 30, f.stats().Ready)
	})
}

func TestAllHoldsInTheWayAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(3)
		for _, key := range watched.All() {
			require.NoError(t, f.store.HoldGate(t.Context(), key, "wait for me", "ann"))
		}
		c := newCalls()
		var told []*worker.HeldError
		err := f.worker(worker.Config{Gates: watched, Wait: waiting, Handler: counted(c), Observe: func(e worker.Event) {
			if e, ok := e.(worker.Held); ok {
				told = append(told, e.Err)
			}
		}}).Run(t.Context())
		var held *worker.HeldError
		require.ErrorAs(t, err, &held)
		require.Len(t, held.Holds, 3)
		require.ErrorContains(t, err, watched.Account.String()+" held (manual): wait for me; "+watched.Lane.String()+" held (manual)")
		require.Empty(t, c.all())
		require.Len(t, told, 1, "once, and not at every look")
		require.Len(t, told[0].Holds, 3)
	})
}

func TestWorkGoesOnWhenAHoldIsResumedByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(30)
		require.NoError(t, f.store.HoldGate(t.Context(), watched.Lane, "maintenance", "ann"))
		c := newCalls()
		end := start(t.Context(), f.worker(worker.Config{Gates: watched, Handler: counted(c)})) // waits for ever
		time.Sleep(time.Hour)
		require.Empty(t, c.all())
		require.NoError(t, f.store.Resume(t.Context(), watched.Lane, false))
		require.NoError(t, <-end)
		require.LessOrEqual(t, c.all()[29], time.Hour+2*time.Second)
	})
}

func TestAHoldOfOneRecipeDoesNotStopAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(100)
		f.putInto("others", 2000)
		keys := watched
		keys.Recipe.Name = "others@d2"
		s := newService(func(d *siding.Delivery, _ time.Duration) *siding.Failure {
			if d.Queue == queue {
				return &siding.Failure{
					Outcome: siding.OutcomeHeld, Cause: siding.CauseConfiguration, Scope: siding.ScopeRecipe, Err: errors.New("bad schema"),
				}
			}
			return nil
		})
		end := start(t.Context(), f.worker(worker.Config{Gates: watched, Handler: s})) // waits for ever
		begin := time.Now()
		f.drainOf("others", worker.Config{Gates: keys, Wait: waiting, Handler: s})
		require.Less(t, time.Since(begin).Seconds(), 2000.0/8*0.3+2)
		select {
		case <-end:
			require.Fail(t, "it should still wait")
		default:
		}
		require.NoError(t, f.store.Close())
		require.ErrorIs(t, <-end, siding.ErrClosed)
	})
}

// Without gates a fault that nobody watches for stops the run, and a throttled message waits alone.
func TestWithoutGatesNothingIsWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(30)
		c := newCalls()
		f.drain(worker.Config{Policy: exact(0), Handler: handler(func(_ context.Context, d *siding.Delivery) error {
			if c.add(d) == 1 && d.ID == "m0" {
				return limited(time.Minute)
			}
			return nil
		})})
		require.Equal(t, []time.Duration{0, time.Minute}, c.whole()[29:])
		gates, err := f.store.Gates(t.Context())
		require.NoError(t, err)
		require.Empty(t, gates)
	})
}
