package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

func TestAnOutageOfTenMinutesSetsNothingAsideAndCostsOnlyProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 50
		f := setup(t)
		f.many(10_000)
		from, to := 20*time.Second, 620*time.Second
		s := newService(func(_ *siding.Delivery, at time.Duration) *siding.Failure {
			if at >= from && at < to {
				return unavailable()
			}
			return nil
		})
		var told []string
		f.drain(worker.Config{Gates: watched, Wait: waiting, Concurrency: slots, Handler: s, Observe: func(e worker.Event) {
			switch e := e.(type) {
			case worker.Held:
				told = append(told, "held: "+string(e.Err.Holds[0].Hold.Kind))
			case worker.Resumed:
				told = append(told, "resumed")
			}
		}})
		stats := f.stats()
		require.EqualValues(t, 10_000, stats.Done)
		require.Zero(t, stats.Dead)
		require.Equal(t, []string{"held: outage", "resumed"}, told)

		// What was in flight when it began, and then one at a time.
		begin := s.calls(from, from+2*s.latency)
		require.LessOrEqual(t, len(begin), 2*slots)
		during := s.calls(from+2*s.latency, to)
		require.InDelta(t, 600/15, len(during), 10, "probes, up to 15 s apart")
		for i := range during[1:] {
			require.GreaterOrEqual(t, during[i+1].at, during[i].end, "one at a time")
		}
		var first served
		for _, call := range s.calls(to, always) {
			if call.ok {
				first = call
				break
			}
		}
		full := float64(slots) / s.latency.Seconds()
		second := s.calls(first.end+2*time.Second, first.end+3*time.Second)
		require.GreaterOrEqual(t, float64(len(second)), full*0.85, "at full speed within two seconds")
		require.LessOrEqual(t, first.at, to+16*time.Second)
	})
}

func TestABrownoutSetsNoHealthyMessageAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(1_000)
		rng := rand.New(rand.NewPCG(7, 7))
		s := newService(func(_ *siding.Delivery, at time.Duration) *siding.Failure {
			if at < time.Hour && rng.IntN(2) == 0 {
				return unavailable()
			}
			return nil
		})
		s.latency = 20 * time.Second
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: s})
		require.EqualValues(t, 1_000, f.stats().Done)
	})
}

// A call that hangs on since before an outage keeps nobody from finding out that it is over.
func TestCallsFromBeforeAnOutageTakeNoPlaceFromProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(100)
		s := newService(func(_ *siding.Delivery, at time.Duration) *siding.Failure {
			if at < 10*time.Second {
				return unavailable()
			}
			return nil
		})
		hanging := resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
			if d.ID == "m0" && d.Number == 1 {
				time.Sleep(10 * time.Minute)
			}
			return s.Handle(ctx, d)
		})
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: hanging, Concurrency: 8})
		require.EqualValues(t, 100, f.stats().Done)
		require.Greater(t, len(s.calls(0, time.Minute)), 100)
	})
}

// A second queue on the same lane waits with the first, and a second lane does not.
func TestAnOutageConcernsItsLaneOnly(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("the same lane: %v", same), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(200)
				f.putInto("others", 200)
				s := newService(func(d *siding.Delivery, at time.Duration) *siding.Failure {
					if at < time.Minute && (same || d.Queue == queue) {
						return unavailable()
					}
					return nil
				})
				keys := watched
				keys.Recipe.Name = "others@d2"
				if !same {
					keys.Lane.Name = "service/another@0123abcd"
				}
				end := start(t.Context(), f.worker(worker.Config{Gates: watched, Wait: waiting, Handler: s}))
				begin := time.Now()
				f.drainOf("others", worker.Config{Gates: keys, Wait: waiting, Handler: s})
				took := time.Since(begin)
				require.NoError(t, <-end)
				require.Equal(t, same, took > time.Minute, "%v", took)
				require.Less(t, took, 90*time.Second)
				require.Less(t, time.Since(begin), 90*time.Second)
			})
		})
	}
}
