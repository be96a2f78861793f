package worker_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// What kills its process each time is found out alone, and nobody else pays for having been in flight with it.
func TestAMessageThatKillsItsProcessIsSetAsideAlone(t *testing.T) {
	t.Parallel()
	for name, killers := range map[string][]string{
		"one killer": {"m4"}, "two killers": {"m2", "m7"}, "the last": {"m9"}, "a killer behind others": {"m35"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				n := 10
				if name == "a killer behind others" {
					n = 40
				}
				f.many(n)
				var err error
				restarts := 0
				for ; restarts < 20; restarts++ {
					if err = f.killed(10, killers); err == nil {
						break
					}
					f.reopen()
				}
				require.NoError(t, err)
				require.LessOrEqual(t, restarts, 1+len(killers)*siding.MaxSoloCrashes)
				f.sound()
				for i := range n {
					r := f.get(fmt.Sprint("m", i))
					if slices.Contains(killers, r.ID) {
						require.Equal(t, siding.StateDead, r.State)
						require.Equal(t, siding.ReasonCrash, r.Reason)
						require.Equal(t, siding.MaxSoloCrashes, r.SoloCrashes)
					} else {
						require.Equal(t, siding.StateDone, r.State)
					}
					require.Zero(t, r.Attempt+r.Interruptions+r.Waits)
				}
			})
		})
	}
}

// killed works until the queue is drained or a killer has killed the process; then the worker finds its store gone, as
// if it had died with it.
func (f *fix) killed(slots int, killers []string) error {
	store := f.store
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	w := f.worker(worker.Config{Gates: watched, Wait: waiting, Concurrency: slots, SettleTimeout: time.Second, Handler: handler(
		func(ctx context.Context, d *siding.Delivery) error {
			if slices.Contains(killers, d.ID) {
				time.Sleep(50 * time.Millisecond)
				store.Kill()
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			return nil
		},
	)})
	return w.Run(ctx)
}

func TestSIGTERMTenTimesMakesNoSuspects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(10)
		for range 10 {
			w := f.worker(worker.Config{Gates: watched, Wait: waiting, Concurrency: 10, Grace: -1, Handler: handler(
				func(ctx context.Context, _ *siding.Delivery) error {
					<-ctx.Done()
					return ctx.Err()
				},
			)})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			require.ErrorIs(t, w.Run(ctx), siding.ErrShutdown)
			cancel()
			require.NoError(t, f.store.Close())
			f.reopen()
			for i := range 10 {
				r := f.get(fmt.Sprint("m", i))
				require.False(t, r.Suspect)
				require.Zero(t, r.Attempt+r.SoloCrashes+r.Interruptions)
			}
		}
		f.drain(worker.Config{Gates: watched, Handler: handler(func(context.Context, *siding.Delivery) error { return nil })})
		require.Greater(t, f.get("m0").Deliveries, 5)
	})
}

// A suspect has waited long enough, and the process is never idle by itself: it is emptied, and nothing runs beside it.
func TestASuspectDoesNotStarveBehindOrdinaryWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("suspect")
		require.ErrorIs(t, f.killed(1, []string{"suspect"}), siding.ErrClosed)
		f.reopen()
		require.True(t, f.get("suspect").Suspect)
		f.many(250)
		c := newCalls()
		running, beside := 0, 0
		var suspectAt time.Duration
		leases := 0
		f.gate.set(func(op string) error {
			if op == "Lease" {
				leases++
			}
			return nil
		}, nil)
		f.drain(worker.Config{Gates: watched, Wait: waiting, Concurrency: 4, Handler: handler(func(_ context.Context, d *siding.Delivery) error {
			c.mu.Lock()
			running++
			if d.ID == "suspect" {
				suspectAt = time.Since(c.start)
				beside = running - 1
			}
			c.mu.Unlock()
			time.Sleep(time.Duration(7000+10*number7(d)) * time.Millisecond)
			c.mu.Lock()
			defer c.mu.Unlock()
			running--
			if d.ID == "suspect" && running > 0 {
				beside = running
			}
			return nil
		})})
		require.Zero(t, beside, "nothing else runs")
		require.GreaterOrEqual(t, suspectAt, 5*time.Minute)
		require.LessOrEqual(t, suspectAt, 5*time.Minute+30*time.Second)
		require.Equal(t, siding.StateDone, f.get("suspect").State)
		require.Less(t, leases, 3*10*60*5, "no busy waiting")
	})
}

// number7 spreads the lengths of calls, so that the process is never idle by chance.
func number7(d *siding.Delivery) int { return len(d.ID)*13 + int(d.ID[len(d.ID)-1])%7*31 }
