package worker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

type batch func(ctx context.Context, items []*siding.BatchItem) error

func (b batch) HandleBatch(ctx context.Context, items []*siding.BatchItem) error {
	return b(ctx, items)
}

func TestTenMessagesOnePoisonNineDoneOnceOneSetAside(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() error{
		"an error":           func() error { return siding.Permanent(errPoison) },
		"an unmarked error":  func() error { return errPoison },
		"a panic":            func() error { panic("poison") },
		"an ended goroutine": func() error { runtime.Goexit(); return nil },
	} {
		for _, settles := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the handler settles each: %v", name, settles), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := setup(t)
					f.many(10)
					done := newCalls()
					sizes := []int{}
					f.drain(worker.Config{BatchSize: 10, Concurrency: 1, Policy: exact(0), BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
						sizes = append(sizes, len(items))
						for _, item := range items {
							if item.ID == "m4" {
								return fault()
							}
							if settles {
								done.add(item.Delivery)
								item.Done(siding.Result{Body: []byte("1")})
							}
						}
						return nil
					})})
					require.EqualValues(t, 9, f.stats().Done)
					require.EqualValues(t, 1, f.stats().Dead)
					for i := range 10 {
						r := f.get(fmt.Sprint("m", i))
						require.Equal(t, 1, r.Deliveries, r.ID)
						if i == 4 {
							require.Equal(t, siding.StateDead, r.State)
							require.Equal(t, 1, r.Attempt)
							continue
						}
						require.Equal(t, siding.StateDone, r.State)
						require.Zero(t, r.Attempt)
						if settles {
							require.Equal(t, 1, done.of(r.ID))
						}
					}
					if settles {
						require.Equal(t, []int{10, 1, 1, 1, 1, 1, 1}, sizes) // m4 to m9 alone
					} else {
						require.Equal(t, []int{10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, sizes)
					}
				})
			})
		}
	}
}

func TestTheOnlyUnsettledMessageOfABatchHasItsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(3)
		n := 0
		f.drain(worker.Config{BatchSize: 3, Concurrency: 1, BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
			n++
			items[0].Done(siding.Result{})
			items[2].Fail(siding.Permanent(errors.New("its own")))
			return siding.Permanent(errors.New("the batch's"))
		})})
		require.Equal(t, 1, n)
		require.Equal(t, siding.StateDone, f.get("m0").State)
		require.Equal(t, "the batch's", f.get("m1").LastError.Text)
		require.Equal(t, "its own", f.get("m2").LastError.Text)
	})
}

func TestAHeldBatchIsNotTriedMessageByMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(10)
		n := 0
		var held *worker.HeldError
		err := f.worker(worker.Config{BatchSize: 5, Concurrency: 1, BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
			n++
			return siding.Held(siding.ScopeAccount, errors.New("no credit"))
		})}).Run(t.Context())
		require.ErrorAs(t, err, &held)
		require.Equal(t, 1, n)
		require.EqualValues(t, 10, f.stats().Ready)
	})
}

func TestABatchThatIsStoppedGoesBackUnharmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(4)
		w := f.worker(worker.Config{BatchSize: 4, Concurrency: 1, Grace: -1, BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
			items[1].Done(siding.Result{})
			<-ctx.Done()
			return siding.Permanent(ctx.Err())
		})})
		end := start(t.Context(), w)
		time.Sleep(time.Second)
		w.Stop()
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		require.EqualValues(t, 1, f.stats().Done)
		require.EqualValues(t, 3, f.stats().Ready)
		require.Zero(t, f.get("m0").Attempt)
		require.Equal(t, siding.CauseShutdown, f.get("m0").History[0].Error.Cause)
	})
}

func TestAStopGivesBackWhatABatchHasLeftToTryAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(4)
		w := f.worker(worker.Config{BatchSize: 4, Concurrency: 1, BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
			if len(items) > 1 {
				return errPoison
			}
			time.Sleep(10 * time.Second)
			return nil
		})})
		end := start(t.Context(), w)
		time.Sleep(15 * time.Second) // the second one runs
		w.Stop()
		synctest.Wait()
		require.EqualValues(t, 2, f.stats().Ready)
		require.ErrorIs(t, <-end, siding.ErrShutdown)
		require.EqualValues(t, 2, f.stats().Done)
		require.Zero(t, f.get("m3").Attempt)
	})
}

func TestABatchEndsItsContextOnlyWhenAllItsLeasesAreLost(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all: %v", all), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(3)
				end := start(t.Context(), f.worker(worker.Config{BatchSize: 3, Concurrency: 1, BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
					select {
					case <-ctx.Done():
						if !all || context.Cause(ctx) != siding.ErrLeaseLost {
							t.Error("the context ended with", context.Cause(ctx))
						}
					case <-time.After(time.Hour):
					}
					return nil
				})}))
				synctest.Wait()
				taken := []string{"m1"}
				if all {
					taken = []string{"m0", "m1", "m2"}
				}
				_, err := f.store.Discard(t.Context(), queue, "given up", taken...)
				require.NoError(t, err)
				require.NoError(t, <-end)
				require.EqualValues(t, 3-len(taken), f.stats().Done)
				require.EqualValues(t, len(taken), f.stats().Discarded)
			})
		})
	}
}

// A message that is tried alone and loses its lease has no part in what becomes of the next; one that has lost it before
// its turn is not handed over.
func TestALeaseThatIsLostAmongMessagesTriedAloneConcernsOnlyItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(4)
		c := newCalls()
		end := start(t.Context(), f.worker(worker.Config{BatchSize: 4, Concurrency: 1, Policy: exact(0), BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
			if len(items) > 1 {
				return errPoison
			}
			c.add(items[0].Delivery)
			switch items[0].ID {
			case "m0":
				<-ctx.Done()
				return ctx.Err()
			case "m3":
				return errPoison
			}
			return ctx.Err()
		})}))
		synctest.Wait()
		_, err := f.store.Discard(t.Context(), queue, "given up", "m0", "m2")
		require.NoError(t, err)
		require.NoError(t, <-end)
		require.Equal(t, siding.StateDiscarded, f.get("m0").State)
		require.Equal(t, siding.StateDone, f.get("m1").State)
		require.Equal(t, siding.StateDiscarded, f.get("m2").State)
		require.Equal(t, siding.StateDead, f.get("m3").State)
		require.Zero(t, f.get("m3").Interruptions)
		require.Zero(t, c.of("m2"))
	})
}

func TestThrottlingKeepsTheRestOfABatchFromBeingTriedAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(4)
		var at []time.Duration
		begin := time.Now()
		f.drain(worker.Config{Gates: watched, BatchSize: 4, Concurrency: 1, BatchHandler: batch(func(ctx context.Context, items []*siding.BatchItem) error {
			at = append(at, time.Since(begin).Truncate(time.Second))
			if len(at) == 1 {
				items[0].Fail(limited(time.Minute))
				return errPoison
			}
			return nil
		})})
		require.GreaterOrEqual(t, at[1], time.Minute)
		for i := range 4 {
			r := f.get(fmt.Sprint("m", i))
			require.Zero(t, r.Attempt)
			require.Contains(t, r.History[0].Error.Text, "too many requests")
		}
	})
}
