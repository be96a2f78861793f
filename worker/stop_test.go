package worker_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

func TestAGracefulStopLetsHandlersFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(10)
		ctx, cancel := context.WithCancel(t.Context())
		end := start(ctx, f.worker(worker.Config{Concurrency: 3, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			time.Sleep(20 * time.Second)
			return ctx.Err()
		})}))
		time.Sleep(5 * time.Second)
		cancel()
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		require.EqualValues(t, 3, f.stats().Done)
		require.EqualValues(t, 7, f.stats().Ready)
		require.Zero(t, f.stats().Leased)
	})
}

func TestAStopWithoutDrainIsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		w, err := worker.New(f.store, worker.Config{Queue: queue, Handler: handler(func(context.Context, *siding.Delivery) error { return nil })})
		require.NoError(t, err)
		w.Stop()
		w.Stop()
		require.NoError(t, w.Run(t.Context()))
	})
}

func TestAResultThatComesAfterTheCancelCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("done", "answered", "echo")
		w := f.worker(worker.Config{Grace: -1, Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
			<-ctx.Done()
			switch d.ID {
			case "done":
				return siding.Result{Body: []byte("1")}, nil
			case "answered": // the service's answer condemns it
				return siding.Result{}, &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Status: 400}
			}
			return siding.Result{}, siding.Permanent(ctx.Err())
		})})
		end := start(t.Context(), w)
		synctest.Wait()
		w.Stop()
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		require.Equal(t, siding.StateDone, f.get("done").State)
		require.Equal(t, siding.StateDead, f.get("answered").State)
		require.Equal(t, siding.StateReady, f.get("echo").State)
		require.Zero(t, f.get("echo").Attempt)
	})
}

func TestAHandlerThatIgnoresItsContextDoesNotHangTheStop(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		t.Run(fmt.Sprintf("at once: %v", now), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.put("a")
				release := make(chan struct{})
				abandoned := 0
				w := f.worker(worker.Config{Grace: 20 * time.Second, Observe: func(e worker.Event) {
					if _, ok := e.(worker.Abandoned); ok {
						abandoned++
					}
				}, Handler: handler(func(context.Context, *siding.Delivery) error {
					<-release
					return siding.Permanent(errPoison)
				})})
				end := start(t.Context(), w)
				synctest.Wait()
				begin := time.Now()
				want := 25 * time.Second // the grace time, and half of the settle timeout
				if now {
					want = 500 * time.Millisecond
					w.StopNow()
				} else {
					w.Stop()
				}
				require.ErrorIs(t, <-end, siding.ErrShutdown)
				require.Equal(t, want, time.Since(begin))
				require.Equal(t, 1, abandoned)
				close(release)
				synctest.Wait()
				r := f.get("a")
				require.Equal(t, siding.StateReady, r.State)
				require.Zero(t, r.Attempt)
				require.Equal(t, siding.CauseShutdown, r.History[0].Error.Cause)
			})
		})
	}
}

func TestTheFirstSignalStopsGracefullyAndTheSecondAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		signals := make(chan os.Signal, 2)
		ctx, release := worker.SignalsFrom(t.Context(), signals)
		defer release()
		end := start(ctx, f.worker(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			<-ctx.Done()
			return ctx.Err()
		})}))
		synctest.Wait()
		signals <- os.Interrupt
		time.Sleep(10 * time.Second)
		require.ErrorContains(t, context.Cause(ctx), "interrupt")
		require.Empty(t, end)
		begin := time.Now()
		signals <- syscall.SIGTERM
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		require.LessOrEqual(t, time.Since(begin), time.Second)
		require.Zero(t, f.get("a").Attempt)
	})
}

// No t.Parallel: the signal goes to the whole process.
func TestRealSignalsAreHeard(t *testing.T) {
	ctx, release := worker.Signals(t.Context())
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		require.Fail(t, "not heard")
	}
	release()
	release()
}

// The store is written when the worker's own context, and the caller's, are long cancelled.
func TestOutcomesAreWrittenAfterTheContextHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a", "b")
		ctx, cancel := context.WithCancel(t.Context())
		f.gate.fail("Settle", errGone)
		end := start(ctx, f.worker(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID == "b" {
				return siding.Permanent(errPoison)
			}
			return nil
		})}))
		time.Sleep(time.Second)
		cancel()
		time.Sleep(5 * time.Second)
		f.gate.fail("Settle", nil)
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		require.Equal(t, siding.StateDone, f.get("a").State)
		require.Equal(t, siding.StateDead, f.get("b").State)
	})
}
