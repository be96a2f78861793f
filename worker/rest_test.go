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

func limited(after time.Duration) error {
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, Scope: siding.ScopeLane, Lane: "claude/x", Status: 429,
		RetryAfter: after, Err: errors.New("too many requests"),
	}
}

func TestNoCallComesBeforeTheTimeThatTheServiceNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(30)
		c := newCalls()
		f.drain(worker.Config{Gates: watched, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			time.Sleep(time.Second)
			if time.Since(c.start) < 171*time.Second {
				return limited(171 * time.Second)
			}
			return nil
		})})
		times := c.all()
		require.Len(t, times, 8+30)
		require.GreaterOrEqual(t, times[8], 172*time.Second)
		require.LessOrEqual(t, times[8], 172*time.Second+171*time.Second*3/10+time.Second)
		whole := c.whole()
		require.GreaterOrEqual(t, times[9], times[8]+time.Second, "the first after the rest is alone")
		require.Equal(t, whole[9], whole[10], "its success wakes two")
		require.Less(t, whole[10], whole[11])
		require.Equal(t, whole[11], whole[15], "and theirs those for which there seemed to be room: %v", whole)
		for i := range 30 {
			r := f.get(fmt.Sprint("m", i))
			require.Equal(t, siding.StateDone, r.State)
			require.Zero(t, r.Attempt+r.Waits+r.Interruptions)
		}
	})
}

func TestWithoutATimeTheRestsDoubleUpToFifteenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(20)
		c := newCalls()
		var rests []time.Duration
		f.drain(worker.Config{Gates: watched, Policy: exact(0), Poll: time.Millisecond, Observe: func(e worker.Event) {
			if e, ok := e.(worker.Throttled); ok {
				rests = append(rests, e.For)
			}
		}, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			if time.Since(c.start) < time.Minute {
				return limited(0)
			}
			return nil
		})})
		s := time.Second
		for i, want := range []time.Duration{s, 2 * s, 4 * s, 8 * s, 15 * s, 15 * s} {
			require.GreaterOrEqual(t, rests[i], want)
			require.LessOrEqual(t, rests[i], want*13/10)
		}
		require.InDelta(t, 7, len(rests), 1)
		require.Len(t, c.all(), 8+len(rests)-1+20)
		require.EqualValues(t, 20, f.stats().Done)
	})
}

// Without a scope it is nobody else's affair, for instance the same request under way from another process.
func TestAHeldMessageWithoutAScopeWaitsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(10)
		c := newCalls()
		f.drain(worker.Config{Gates: watched, Concurrency: 1, Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if c.add(d) == 1 && d.ID == "m0" {
				return &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseTimeout, RetryAfter: time.Minute, NoCall: true}
			}
			return nil
		})})
		want := make([]time.Duration, 11)
		want[10] = time.Minute
		require.Equal(t, want, c.whole())
	})
}

func TestTheLargestRequestedRestCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(3)
		c := newCalls()
		f.drain(worker.Config{Gates: watched, Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			if len(c.all()) > 3 {
				return nil
			}
			switch d.ID {
			case "m0":
				return limited(10 * time.Second)
			case "m1":
				time.Sleep(time.Second)
				return limited(30 * time.Second)
			}
			time.Sleep(2 * time.Second)
			return limited(5 * time.Second)
		})})
		require.GreaterOrEqual(t, c.all()[3], 31*time.Second)
	})
}

func TestACallFromBeforeARestSaysNothingAboutItsEnd(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"a success": nil, "a throttled one": limited(0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(4)
				c := newCalls()
				f.drain(worker.Config{Gates: watched, Concurrency: 2, Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
					c.add(d)
					switch {
					case len(c.all()) > 2:
						return nil
					case d.ID == "m0":
						return limited(10 * time.Second)
					}
					time.Sleep(9500 * time.Millisecond)
					return late
				})})
				require.GreaterOrEqual(t, c.all()[2], 10*time.Second)
				require.LessOrEqual(t, c.all()[2], 13500*time.Millisecond)
			})
		})
	}
}

// The service has answered: that one message is condemned does not keep the others waiting. A fault that was found
// without asking it proves nothing.
func TestAnAnswerEndsARestEvenIfItCondemnsTheMessage(t *testing.T) {
	t.Parallel()
	for _, noCall := range []bool{false, true} {
		t.Run(fmt.Sprintf("without a call: %v", noCall), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(10)
				c := newCalls()
				f.drain(worker.Config{Gates: watched, Concurrency: 3, Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
					c.add(d)
					if time.Since(c.start) < time.Second {
						return limited(time.Minute)
					}
					if len(c.all()) == 4 {
						return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, NoCall: noCall}
					}
					time.Sleep(time.Second)
					return nil
				})})
				order := c.whole()[4:]
				require.Equal(t, !noCall, order[0] == order[1], "%v", order)
			})
		})
	}
}

func TestAFaultOfTheAccountStopsTheWorkAtOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []*siding.Failure{
		{Outcome: siding.OutcomeHeld, Cause: siding.CauseAccount, Scope: siding.ScopeAccount, Until: time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)},
		{Outcome: siding.OutcomeHeld, Cause: siding.CauseConfiguration, Scope: siding.ScopeRecipe},
		{Outcome: siding.OutcomeHeld, Cause: siding.CauseModelNotFound, Scope: siding.ScopeLane, Lane: "claude/y"},
	} {
		t.Run(string(fault.Scope), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(300)
				fault.Err = errors.New("no more")
				c := newCalls()
				err := f.worker(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
					c.add(d)
					if d.ID == "m20" {
						return fault
					}
					time.Sleep(time.Hour) // what is in flight ends, however long it takes
					return nil
				}), Concurrency: 21}).Run(t.Context())
				var held *worker.HeldError
				require.ErrorAs(t, err, &held)
				require.Equal(t, fault.Scope, held.Failure.Scope)
				require.Equal(t, fault.Cause, held.Failure.Cause)
				require.ErrorIs(t, err, fault.Err)
				require.ErrorContains(t, err, "no more")
				if !fault.Until.IsZero() {
					require.ErrorContains(t, err, "until 2026-12-24")
				}
				require.Len(t, c.all(), 21)
				s := f.stats()
				require.EqualValues(t, 20, s.Done)
				require.EqualValues(t, 280, s.Ready)
				require.Zero(t, s.Dead)
				require.Zero(t, f.get("m20").Attempt)
				require.Equal(t, fault.Cause, f.get("m20").LastError.Cause)
				f.sound()
			})
		})
	}
}

func TestTheFirstHoldIsTheOneThatIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(2)
		told := 0
		err := f.worker(worker.Config{Concurrency: 2, Observe: func(e worker.Event) {
			if _, ok := e.(worker.Held); ok {
				told++
			}
		}, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID == "m0" {
				time.Sleep(time.Second)
			}
			return siding.Held(siding.ScopeAccount, errors.New(d.ID))
		})}).Run(t.Context())
		require.ErrorContains(t, err, "m1")
		require.NotContains(t, err.Error(), "m0")
		require.Equal(t, 1, told)
		require.EqualValues(t, 2, f.stats().Ready)
	})
}

func TestManyThatFailTogetherDoNotComeBackTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(30)
		w := f.worker(worker.Config{Concurrency: 30, Handler: handler(func(context.Context, *siding.Delivery) error {
			return siding.After(errPoison, 600*time.Second)
		})})
		begin := time.Now()
		end := start(t.Context(), w)
		time.Sleep(time.Second)
		w.Stop()
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		seconds := map[time.Duration]int{}
		for i := range 30 {
			d := f.get(fmt.Sprint("m", i)).AvailableAt.Sub(begin)
			require.GreaterOrEqual(t, d, 600*time.Second)
			require.LessOrEqual(t, d, 781*time.Second)
			seconds[d.Truncate(time.Second)]++
		}
		require.Greater(t, len(seconds), 15)
	})
}
