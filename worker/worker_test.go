package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

func TestAWorkerDrainsItsQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(100)
		var running, most atomic.Int64
		c := newCalls()
		f.drain(worker.Config{Concurrency: 7, Digest: "d1", Name: "me", Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old; old = most.Load() {
				most.CompareAndSwap(old, n)
			}
			c.add(d)
			time.Sleep(time.Second)
			return siding.Result{Body: []byte(`"ok"`)}, nil
		})})
		require.EqualValues(t, 100, f.stats().Done)
		require.EqualValues(t, 7, most.Load())
		require.Len(t, c.all(), 100)
		r := f.get("m42")
		require.Equal(t, `"ok"`, string(r.Result))
		require.Equal(t, "d1", r.Digest)
		require.Len(t, r.History, 1)
		require.Equal(t, "me", r.History[0].Worker)
	})
}

type resultHandler func(ctx context.Context, d *siding.Delivery) (siding.Result, error)

func (h resultHandler) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	return h(ctx, d)
}

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := worker.New(nil, worker.Config{})
	require.ErrorContains(t, err, "store")
	f := setup(t)
	bad := siding.DefaultPolicy()
	bad.MaxRetries = -1
	_, err = worker.New(f.store, worker.Config{
		Concurrency: -1, Lease: time.Millisecond, Poll: -1, GiveUp: -1, SettleTimeout: -1, Policy: bad,
	})
	for _, name := range []string{"Queue", "Handler", "Concurrency", "Lease", "Poll", "GiveUp", "SettleTimeout", "max_retries"} {
		require.ErrorContains(t, err, name)
	}
	h := handler(func(context.Context, *siding.Delivery) error { return nil })
	_, err = worker.New(f.store, worker.Config{Queue: queue, Handler: h, BatchHandler: batch(nil)})
	require.ErrorContains(t, err, "exactly one")
	_, err = worker.New(f.store, worker.Config{Queue: queue, BatchHandler: batch(nil), Concurrency: 1000, BatchSize: 1001})
	require.ErrorContains(t, err, "BatchSize")
	_, err = worker.New(f.store, worker.Config{Queue: queue, Handler: h, BatchSize: 5, Grace: -1})
	require.NoError(t, err)
}

func TestAWorkerRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		w := f.worker(worker.Config{Handler: handler(func(context.Context, *siding.Delivery) error { return nil })})
		require.NoError(t, w.Run(t.Context()))
		require.ErrorContains(t, w.Run(t.Context()), "before")
	})
}

func TestADelayedRetryOccupiesNoSlotAndComesAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("failing")
		c, healthy := newCalls(), newCalls()
		f.drain(worker.Config{Concurrency: 1, Policy: exact(3), Poll: time.Hour, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID != "failing" {
				healthy.add(d)
				return nil
			}
			if c.add(d) == 1 {
				f.put("healthy")
			}
			return siding.Transient(errPoison)
		})})
		require.Equal(t, []time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second}, c.whole())
		require.Equal(t, []time.Duration{0}, healthy.whole())
	})
}

// Whatever else is in flight, and however seldom the store is asked otherwise.
func TestARetryIsFetchedAtItsTimeWhileOthersRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("long", "failing")
		c := newCalls()
		f.drain(worker.Config{Concurrency: 3, Policy: exact(1), Poll: 24 * time.Hour, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID == "long" {
				time.Sleep(time.Hour)
				return nil
			}
			c.add(d)
			time.Sleep(time.Minute)
			return errPoison
		})})
		require.Equal(t, []time.Duration{0, 62 * time.Second}, c.whole())
		require.InDelta(t, 3600, time.Since(c.start).Seconds(), 0.1, "and the end is seen at once")
	})
}

func TestAMessageWithALaterTimeIsFetchedAtThatTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		c := newCalls()
		_, err := f.store.Enqueue(t.Context(), queue, siding.EnqueueOptions{}, siding.NewMessage{ID: "later", NotBefore: time.Now().Add(1234 * time.Millisecond)})
		require.NoError(t, err)
		f.drain(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			return nil
		})})
		require.Len(t, c.all(), 1)
		require.InDelta(t, 1234, c.all()[0].Milliseconds(), 2)
	})
}

func TestWakeAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		c := newCalls()
		w, err := worker.New(f.store, worker.Config{Queue: queue, Poll: time.Hour, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			return nil
		})})
		require.NoError(t, err)
		end := start(t.Context(), w)
		time.Sleep(time.Minute)
		f.put("new")
		w.Wake()
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Minute}, c.whole())
		w.Stop()
		require.NoError(t, <-end)
	})
}

func TestDrainWaitsForWhatOthersHaveLeased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a", "b")
		slow := handler(func(ctx context.Context, d *siding.Delivery) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		begin := time.Now()
		first := start(t.Context(), f.worker(worker.Config{Concurrency: 2, Handler: slow}))
		synctest.Wait()
		f.drain(worker.Config{Handler: handler(func(context.Context, *siding.Delivery) error {
			t.Error("nothing is left for the second worker")
			return nil
		})})
		require.GreaterOrEqual(t, time.Since(begin), 10*time.Second)
		require.NoError(t, <-first)
		require.EqualValues(t, 2, f.stats().Done)
	})
}

func TestOnlyMembersOfTheInputAreWorked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("other")
		in, err := f.store.BeginInput(t.Context(), queue, "k")
		require.NoError(t, err)
		_, err = f.store.Enqueue(t.Context(), queue, siding.EnqueueOptions{Input: in}, siding.NewMessage{
			ID: "member", Source: &siding.Source{File: "f", Line: 1},
		})
		require.NoError(t, err)
		require.NoError(t, f.store.SealInput(t.Context(), in))
		c := newCalls()
		f.drain(worker.Config{Input: in, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			return nil
		})})
		require.Equal(t, 1, c.of("member"))
		require.Equal(t, 0, c.of("other"))
	})
}

func TestTheObserverSeesWhatHappensInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		var seen []worker.Event
		f.drain(worker.Config{Policy: exact(3), Observe: func(e worker.Event) {
			seen = append(seen, e)
			panic("an observer that panics changes nothing")
		}, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.Number == 1 {
				return siding.Transient(errPoison)
			}
			return nil
		})})
		require.Len(t, seen, 5)
		require.Equal(t, "a", seen[0].(worker.Started).Delivery.ID)
		first := seen[1].(worker.Settled)
		require.Equal(t, siding.OutcomeTransient, first.Decision.Outcome)
		require.Equal(t, siding.CauseHandlerError, first.Failure.Cause)
		require.ErrorIs(t, first.Failure, errPoison)
		require.InDelta(t, 2000, seen[2].(worker.Idle).Next.Milliseconds(), 1)
		require.IsType(t, worker.Started{}, seen[3])
		last := seen[4].(worker.Settled)
		require.Equal(t, siding.OutcomeDone, last.Decision.Outcome)
		require.Nil(t, last.Failure)
	})
}
