package worker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// Thirty processes are told to wait by one service: the first call after the rest is alone, and neither do the others
// ask for work together before it, nor call together after it.
func TestThirtyWorkersDoNotWakeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(150)
		s := newService(func(_ *siding.Delivery, at time.Duration) *siding.Failure {
			if at < time.Minute {
				return failureOf(limited(171 * time.Second))
			}
			return nil
		})
		s.latency = 5 * time.Second // so that what each calls first is seen apart
		var mu sync.Mutex
		asked := map[int][]time.Duration{}
		var ends []<-chan error
		for i := range 30 {
			f.gate.set(func(op string) error {
				if op == "Lease" {
					mu.Lock()
					defer mu.Unlock()
					asked[i] = append(asked[i], time.Since(s.start))
				}
				return nil
			}, nil)
			w := f.worker(worker.Config{Gates: watched, Wait: waiting, Handler: s, Concurrency: 2})
			ends = append(ends, start(t.Context(), w))
			f.reopen()
		}
		for _, end := range ends {
			require.NoError(t, <-end)
		}
		require.EqualValues(t, 150, f.stats().Done)

		calls := s.calls(time.Minute, always)
		rest := 171*time.Second + s.latency
		require.GreaterOrEqual(t, calls[0].at, rest)
		require.GreaterOrEqual(t, calls[1].at, calls[0].end, "the first is alone")
		woken := s.calls(calls[0].end, calls[0].end+s.latency)
		require.GreaterOrEqual(t, len(woken), 30)
		require.LessOrEqual(t, most(woken, func(c served) time.Duration { return c.at }), 12, "calls within 100 ms")

		var first []time.Duration // the first question of each after the rest
		for _, all := range asked {
			for _, at := range all {
				if at >= calls[0].at {
					first = append(first, at)
					break
				}
			}
		}
		require.Len(t, first, 30)
		require.LessOrEqual(t, most(first, func(at time.Duration) time.Duration { return at }), 12, "questions within 100 ms")
		// And nobody asks all the time meanwhile.
		for _, all := range asked {
			require.Less(t, len(all), 2*250+100)
		}
	})
}

func failureOf(err error) *siding.Failure { return siding.FailureOf(err) }

// most gives how many of all lie within one span of 100 ms.
func most[T any](all []T, at func(T) time.Duration) (most int) {
	times := make([]time.Duration, len(all))
	for i := range all {
		times[i] = at(all[i])
	}
	slices.Sort(times)
	for i := range times {
		n := 0
		for n < len(times)-i && times[i+n] < times[i]+100*time.Millisecond {
			n++
		}
		most = max(most, n)
	}
	return most
}

// A rest of which nobody sees the end: the delays stay in their bounds however often it is prolonged, and the message
// pays nothing for it.
func TestAHoldOfManyWaitsOverflowsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const waits = 200
		f := setup(t)
		f.put("a")
		s := newService(nil)
		n := 0
		s.answer = func(*siding.Delivery, time.Duration) *siding.Failure {
			if n++; n <= waits {
				return failureOf(limited(0))
			}
			return nil
		}
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: s})
		calls := s.calls(0, always)
		require.Len(t, calls, waits+1)
		for i := 10; i < len(calls); i++ {
			gap := calls[i].at - calls[i-1].end
			require.GreaterOrEqual(t, gap, 15*time.Second)
			require.LessOrEqual(t, gap, 22*time.Second)
		}
		r := f.get("a")
		require.Equal(t, siding.StateDone, r.State)
		require.Equal(t, waits+1, r.Deliveries)
		require.Zero(t, r.Waits+r.Attempt+r.Interruptions)
	})
}

func TestTheNudgeIsTriedUntilTheStoreTakesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(3)
		f.gate.fail("Nudge", siding.ErrDiskFull)
		c := newCalls()
		end := start(t.Context(), f.worker(worker.Config{Gates: watched, Handler: counted(c)}))
		time.Sleep(time.Minute)
		require.Empty(t, c.all())
		f.gate.fail("", nil)
		require.NoError(t, <-end)
		require.Len(t, c.all(), 3)
	})
}

// What a call of before the fault brings back is no leave to begin another.
func TestWhatIsLeasedWhileAFaultShowsGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(50)
		n := 0
		f.gate.set(func(op string) error {
			if op == "Lease" {
				if n++; n > 1 {
					time.Sleep(2 * time.Second) // the fault shows while the request is under way
				}
			}
			return nil
		}, nil)
		c := newCalls()
		err := f.worker(worker.Config{Gates: watched, Wait: waiting, Concurrency: 4, Handler: handler(func(_ context.Context, d *siding.Delivery) error {
			c.add(d)
			if d.ID == "m0" {
				time.Sleep(500 * time.Millisecond)
				return nil
			}
			time.Sleep(time.Second)
			return &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseCredentials, Scope: siding.ScopeAccount}
		})}).Run(t.Context())
		require.Error(t, err)
		require.Len(t, c.all(), 4)
		for i := range 50 {
			r := f.get(fmt.Sprint("m", i))
			require.Zero(t, r.Attempt+r.Interruptions+r.Waits)
		}
	})
}
