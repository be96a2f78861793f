package worker_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

func TestNRetriesAreNPlusOneDeliveries(t *testing.T) {
	t.Parallel()
	for n := range 5 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.put("a")
				c := newCalls()
				f.drain(worker.Config{Policy: exact(n), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
					c.add(d)
					require.Equal(t, c.of("a")-1, d.Attempt)
					return errPoison
				})})
				require.Equal(t, n+1, c.of("a"))
				r := f.get("a")
				require.Equal(t, siding.StateDead, r.State)
				require.Equal(t, siding.ReasonAttemptsExhausted, r.Reason)
				require.Equal(t, n+1, r.Attempt)
				require.Len(t, r.History, n+1)
			})
		})
	}
}

func TestStoppingTenTimesInMidJobSpendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		for range 10 {
			signals := make(chan os.Signal, 1)
			ctx, release := worker.SignalsFrom(t.Context(), signals)
			end := start(ctx, f.worker(worker.Config{Grace: time.Second, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
				<-ctx.Done()
				require.Equal(t, siding.ErrShutdown, context.Cause(ctx))
				return siding.Permanent(fmt.Errorf("the service: %w", ctx.Err())) // even so
			})}))
			time.Sleep(10 * time.Second)
			signals <- syscall.SIGTERM
			require.ErrorIs(t, <-end, siding.ErrShutdown)
			release()
		}
		r := f.get("a")
		require.Equal(t, siding.StateReady, r.State)
		require.Zero(t, r.Attempt)
		require.Zero(t, r.Interruptions)
		require.Nil(t, r.LastError)
		require.Len(t, r.History, 10)
		for _, d := range r.History {
			require.Equal(t, siding.OutcomeInterrupted, d.Outcome)
			require.Equal(t, siding.CauseShutdown, d.Error.Cause)
		}
		f.drain(worker.Config{Handler: handler(func(context.Context, *siding.Delivery) error { return nil })})
		require.Equal(t, siding.StateDone, f.get("a").State)
	})
}

func TestAKilledWorkerSpendsNothingEvenWithoutRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		end := start(t.Context(), f.worker(worker.Config{Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			<-ctx.Done()
			return ctx.Err()
		})}))
		synctest.Wait()
		f.store.Kill()
		err := <-end
		require.ErrorIs(t, err, siding.ErrClosed)
		f.reopen()
		c := newCalls()
		f.drain(worker.Config{Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			return nil
		})})
		r := f.get("a")
		require.Equal(t, siding.StateDone, r.State)
		require.Equal(t, 1, c.of("a"))
		require.Zero(t, r.Attempt)
	})
}

func TestWhatADeadProcessLeftIsFreedWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		other := f.store.Another()
		_, err := other.Lease(t.Context(), siding.LeaseRequest{Queue: queue, Max: 1, Duration: time.Hour, Policy: exact(0)})
		require.NoError(t, err)
		c := newCalls()
		end := start(t.Context(), f.worker(worker.Config{Poll: time.Hour, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			return nil
		})}))
		time.Sleep(time.Minute)
		require.Zero(t, c.of("a"))
		other.Kill()
		require.NoError(t, <-end)
		require.Equal(t, 1, c.of("a"))
		require.LessOrEqual(t, c.all()[0], time.Minute+6*time.Second)
	})
}

func TestTwoWorkersShareAQueueWithoutADoubleDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(200)
		c := newCalls()
		h := handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			time.Sleep(time.Duration(len(d.ID)) * time.Millisecond)
			return nil
		})
		one := start(t.Context(), f.worker(worker.Config{Handler: h}))
		two := start(t.Context(), f.worker(worker.Config{Handler: h}))
		require.NoError(t, <-one)
		require.NoError(t, <-two)
		require.Len(t, c.all(), 200)
		for i := range 200 {
			r := f.get(fmt.Sprint("m", i))
			require.Equal(t, siding.StateDone, r.State)
			require.Equal(t, 1, r.Deliveries)
			require.Zero(t, r.Attempt+r.Interruptions)
		}
	})
}

// However long a handler takes, and however many messages wait behind it: what is not handed over is not leased.
func TestNothingIsLeasedBeyondTheFreeSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(50)
		end := start(t.Context(), f.worker(worker.Config{Concurrency: 3, Lease: time.Second, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			time.Sleep(time.Minute)
			return nil
		})}))
		for range 20 {
			time.Sleep(7 * time.Second)
			synctest.Wait()
			require.LessOrEqual(t, f.stats().Leased, int64(3))
		}
		require.NoError(t, <-end)
		for i := range 50 {
			require.Equal(t, 1, f.get(fmt.Sprint("m", i)).Deliveries)
		}
	})
}

func TestAPermanentFailureIsOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(200)
		c := newCalls()
		f.drain(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			c.add(d)
			if poisoned(d.ID) {
				return fmt.Errorf("item: %w", siding.Permanent(errPoison))
			}
			return nil
		})})
		require.Len(t, c.all(), 200)
		s := f.stats()
		require.EqualValues(t, 180, s.Done)
		require.EqualValues(t, 20, s.Dead)
		require.Equal(t, "item: cannot be done", f.get("m0").LastError.Text)
	})
}

// poisoned is one message in ten.
func poisoned(id string) bool { return id[len(id)-1] == '0' }

// First deliveries have three quarters of the slots at least, so that poison which holds a slot on each of its retries
// does not slow them.
func TestSlowPoisonDoesNotCrowdOutHealthyMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			slots   = 20
			healthy = 100 * time.Millisecond
			slow    = 500 * time.Millisecond
			window  = 10 * time.Second
		)
		f := setup(t)
		f.many(1300)
		var mu sync.Mutex
		done, failed := 0, 0
		begin := time.Now()
		w := f.worker(worker.Config{Concurrency: slots, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if poisoned(d.ID) {
				time.Sleep(slow)
				mu.Lock()
				defer mu.Unlock()
				failed++
				return errPoison
			}
			time.Sleep(healthy)
			mu.Lock()
			defer mu.Unlock()
			if time.Since(begin) <= window {
				done++
			}
			return nil
		})})
		require.NoError(t, w.Run(t.Context()))
		require.Equal(t, 4*130, failed)
		// Of ten first deliveries nine take 100 ms and one takes 500 ms, and 15 slots are theirs.
		allowed := 15 * window.Seconds() * 9 / (9*healthy + slow).Seconds()
		require.GreaterOrEqual(t, float64(done), 0.9*allowed)
		f.sound()
	})
}

// With fewer than four slots, one delivery in four may be a retry while untried messages wait.
func TestASingleSlotServesUntriedMessagesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(100)
		var order []bool // retries
		f.drain(worker.Config{Concurrency: 1, Policy: exact(1), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			order = append(order, d.Attempt > 0)
			time.Sleep(time.Second)
			return errPoison
		})})
		require.Len(t, order, 200)
		untried, last := 0, 0
		for i, retry := range order {
			switch {
			case !retry:
				untried++
			case untried < 100:
				require.GreaterOrEqual(t, i-last, 3)
				last = i + 1
			}
		}
		require.Positive(t, last)
	})
}
