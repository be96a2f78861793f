package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

var errGone = errors.New("connection lost")

func TestALeaseIsExtendedWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		var extended atomic.Int64
		f.gate.set(nil, func(op string) error {
			if op == "Extend" {
				extended.Add(1)
			}
			return nil
		})
		h := handler(func(ctx context.Context, d *siding.Delivery) error {
			time.Sleep(10 * time.Minute)
			return ctx.Err()
		})
		other := start(t.Context(), f.worker(worker.Config{Handler: h})) // which would take what is not extended
		f.drain(worker.Config{Handler: h})
		require.NoError(t, <-other)
		r := f.get("a")
		require.Equal(t, 1, r.Deliveries)
		require.Equal(t, siding.StateDone, r.State)
		require.InDelta(t, 29, extended.Load(), 1)
	})
}

func TestALostLeaseCancelsTheHandlerAndItsResultChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a", "b")
		var lost []worker.Event
		end := start(t.Context(), f.worker(worker.Config{Observe: func(e worker.Event) {
			if _, ok := e.(worker.Lost); ok {
				lost = append(lost, e)
			}
		}, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID == "b" {
				return nil
			}
			<-ctx.Done()
			if context.Cause(ctx) != siding.ErrLeaseLost {
				t.Error("the cause is", context.Cause(ctx))
			}
			return nil // done, it says
		})}))
		time.Sleep(time.Second)
		_, err := f.store.Discard(t.Context(), queue, "given up", "a")
		require.NoError(t, err)
		require.NoError(t, <-end)
		r := f.get("a")
		require.Equal(t, siding.StateDiscarded, r.State)
		require.Nil(t, r.Result)
		require.EqualValues(t, 1, f.stats().StaleSettles)
		require.Len(t, lost, 1)
		require.Equal(t, siding.StateDone, f.get("b").State)
		f.sound()
	})
}

func TestALeaseThatCannotBeExtendedIsKeptUntilItHasRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		f.gate.fail("Extend", errGone)
		begin := time.Now()
		ended := time.Duration(0)
		f.drain(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.Number > 1 {
				return nil
			}
			<-ctx.Done()
			ended = time.Since(begin)
			require.Equal(t, siding.ErrLeaseLost, context.Cause(ctx))
			return ctx.Err()
		})})
		require.Equal(t, time.Minute, ended)
		r := f.get("a")
		require.Equal(t, siding.StateDone, r.State)
		require.Zero(t, r.Attempt)
		require.Equal(t, 1, r.Interruptions)
		require.Equal(t, siding.CauseLeaseLost, r.History[0].Error.Cause)
	})
}

func TestAnExtensionThatFailsForAWhileLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		f.gate.fail("Extend", errGone)
		time.AfterFunc(55*time.Second, func() { f.gate.fail("Extend", nil) })
		f.drain(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			time.Sleep(5 * time.Minute)
			return ctx.Err()
		})})
		r := f.get("a")
		require.Equal(t, 1, r.Deliveries)
		require.Zero(t, r.Interruptions)
	})
}

func TestALateFailureDoesNotOverwriteTheEndOfTheNextDelivery(t *testing.T) {
	t.Parallel()
	for _, late := range []error{nil, errPoison, siding.Permanent(errPoison)} {
		synctest.Test(t, func(t *testing.T) {
			f := setup(t)
			f.put("a")
			release := make(chan struct{})
			w, err := worker.New(f.gate, worker.Config{Queue: queue, Lease: 10 * time.Second, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
				f.gate.fail("", errGone)
				<-release // it does not look at its context
				return late
			})})
			require.NoError(t, err)
			end := start(t.Context(), w)
			time.Sleep(30 * time.Second)
			other, err := worker.New(f.store, worker.Config{Queue: queue, Drain: true, Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
				return siding.Result{Body: []byte("2")}, nil
			})})
			require.NoError(t, err)
			require.NoError(t, other.Run(t.Context()))
			f.gate.fail("", nil)
			close(release)
			time.Sleep(30 * time.Second)
			w.Stop()
			require.NoError(t, <-end)
			r := f.get("a")
			require.Equal(t, siding.StateDone, r.State)
			require.Equal(t, "2", string(r.Result))
			require.Zero(t, r.Attempt)
			require.Equal(t, 1, r.Interruptions)
			require.Len(t, r.History, 2)
			require.EqualValues(t, 1, f.stats().StaleSettles)
		})
	}
}

// An outcome whose lease ran out counts, as long as nobody else has leased the message.
func TestALateSettlementCountsWhenNobodyElseHasTheMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		w, err := worker.New(f.gate, worker.Config{Queue: queue, Drain: true, Lease: 10 * time.Second, Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
			f.gate.fail("", errGone)
			return siding.Result{Body: []byte("1")}, nil
		})})
		require.NoError(t, err)
		end := start(t.Context(), w)
		time.Sleep(time.Minute)
		f.gate.fail("", nil)
		require.NoError(t, <-end)
		r := f.get("a")
		require.Equal(t, siding.StateDone, r.State)
		require.Equal(t, 1, r.Deliveries)
	})
}
