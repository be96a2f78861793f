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

func TestAnOutcomeThatCannotBeWrittenIsKeptAndNothingElseIsLeased(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{siding.ErrDiskFull, siding.ErrReadOnly, errGone} {
		t.Run(fault.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(5)
				c := newCalls()
				f.gate.fail("Settle", fault)
				time.AfterFunc(10*time.Minute, func() {
					require.EqualValues(t, 2, f.stats().Leased)
					require.Len(t, c.all(), 2)
					f.gate.fail("Settle", nil)
				})
				faults := 0
				f.drain(worker.Config{Concurrency: 2, Observe: func(e worker.Event) {
					if e, ok := e.(worker.StoreFault); ok {
						require.Equal(t, "settle", e.Op)
						require.ErrorIs(t, e.Err, fault)
						faults++
					}
				}, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
					c.add(d)
					return nil
				})})
				require.Len(t, c.all(), 5)
				require.EqualValues(t, 5, f.stats().Done)
				require.Greater(t, faults, 50)
				for i := range 5 {
					require.Equal(t, 1, f.get(fmt.Sprint("m", i)).Deliveries)
				}
			})
		})
	}
}

// The message stays where it was while the write that sets it aside fails, and is set aside once; also when it is only
// the store's reply that gets lost.
func TestAMessageWhoseSettingAsideFailsStaysWhereItWas(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("the write is kept: %v", kept), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.put("poison")
				times := 0
				fault := func(op string) error {
					if op != "Settle" || times == 3 {
						return nil
					}
					if times++; !kept {
						require.Equal(t, siding.StateLeased, f.get("poison").State)
					}
					return errGone
				}
				if kept {
					f.gate.set(nil, fault)
				} else {
					f.gate.set(fault, nil)
				}
				unsure := false
				f.drain(worker.Config{Observe: func(e worker.Event) {
					if e, ok := e.(worker.Lost); ok {
						unsure = e.Unsure
					}
				}, Handler: handler(func(context.Context, *siding.Delivery) error {
					return siding.Permanent(errPoison)
				})})
				r := f.get("poison")
				require.Equal(t, siding.StateDead, r.State)
				require.Equal(t, 1, r.Attempt)
				require.Len(t, r.History, 1)
				require.Equal(t, kept, unsure)
			})
		})
	}
}

func TestFaultsOfTheStoreAreShownAndTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		f.gate.fail("Lease", siding.ErrDiskFull)
		time.AfterFunc(time.Hour, func() { f.gate.fail("Lease", nil) })
		faults := 0
		f.drain(worker.Config{Observe: func(e worker.Event) {
			if e, ok := e.(worker.StoreFault); ok {
				require.Positive(t, e.Again)
				require.LessOrEqual(t, e.Again, 7*time.Second)
				faults++
			}
		}, Handler: handler(func(context.Context, *siding.Delivery) error { return nil })})
		require.InDelta(t, 3600/5.75, faults, 100)
		require.Equal(t, siding.StateDone, f.get("a").State)
	})
}

func TestTheWorkerGivesUpWhenTheStoreHasFailedForSoLong(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Lease", "Settle"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.put("a")
				f.gate.fail(op, siding.ErrDiskFull)
				begin := time.Now()
				err := f.worker(worker.Config{GiveUp: time.Minute, Handler: handler(func(context.Context, *siding.Delivery) error {
					return nil
				})}).Run(t.Context())
				require.ErrorIs(t, err, siding.ErrDiskFull)
				require.GreaterOrEqual(t, time.Since(begin), time.Minute)
				require.LessOrEqual(t, time.Since(begin), 2*time.Minute)
				if op == "Settle" {
					require.ErrorContains(t, err, "1 outcomes could not be written")
				}
			})
		})
	}
}

func TestAClosedStoreEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(3)
		cause := make(chan error, 3)
		end := start(t.Context(), f.worker(worker.Config{Concurrency: 2, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID == "m0" {
				time.Sleep(time.Second)
				return nil
			}
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil
		})}))
		synctest.Wait()
		require.NoError(t, f.store.Close())
		begin := time.Now()
		require.ErrorIs(t, <-end, siding.ErrClosed)
		require.LessOrEqual(t, time.Since(begin), time.Second)
		require.Equal(t, siding.ErrShutdown, <-cause)
	})
}

// One outcome that the store refuses keeps neither its own message nor the others for ever.
func TestAnOutcomeThatTheStoreRefusesBecomesAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(20)
		w, err := worker.New(&picky{f.store, false}, worker.Config{
			Queue: queue, Drain: true, Policy: exact(0), Concurrency: 2,
			Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
				if d.ID == "m3" {
					return siding.Result{Body: []byte(`"bad"`)}, nil
				}
				return siding.Result{Body: []byte(`"good"`)}, nil
			}),
		})
		require.NoError(t, err)
		require.NoError(t, w.Run(t.Context()))
		require.EqualValues(t, 19, f.stats().Done)
		r := f.get("m3")
		require.Equal(t, siding.StateDead, r.State)
		require.Contains(t, r.LastError.Text, "does not like it")
	})
}

// Not even its failure is taken: the lease runs out, which the store counts, and the others go on.
func TestAMessageThatTheStoreNeverTakesDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(20)
		w, err := worker.New(&picky{f.store, true}, worker.Config{
			Queue: queue, Drain: true, Policy: exact(0), Concurrency: 2,
			Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
				if d.ID == "m3" {
					return siding.Result{Body: []byte(`"bad"`)}, nil
				}
				return siding.Result{}, nil
			}),
		})
		require.NoError(t, err)
		require.NoError(t, w.Run(t.Context()))
		require.EqualValues(t, 19, f.stats().Done)
		require.Equal(t, siding.ReasonInterruptionsExhausted, f.get("m3").Reason)
	})
}

// picky refuses a certain result, and when it is thorough any failure too.
type picky struct {
	worker.Store
	thorough bool
}

func (p *picky) Settle(ctx context.Context, all ...siding.Settlement) ([]siding.Settled, error) {
	out := make([]siding.Settled, len(all))
	for i, s := range all {
		if string(s.Result) == `"bad"` || p.thorough && s.Failure != nil {
			out[i].Err = errors.New("does not like it")
			continue
		}
		one, err := p.Store.Settle(ctx, s)
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	return out, nil
}

func TestAStoreThatHangsDoesNotHangTheStop(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Lease", "Settle"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.put("a")
				w, err := worker.New(&hanging{f.store, op}, worker.Config{
					Queue: queue, Handler: handler(func(context.Context, *siding.Delivery) error { return nil }),
				})
				require.NoError(t, err)
				end := start(t.Context(), w)
				time.Sleep(time.Second)
				begin := time.Now()
				w.Stop()
				err = <-end
				require.LessOrEqual(t, time.Since(begin), worker.DefaultSettleTimeout+time.Second)
				if op == "Settle" {
					require.ErrorContains(t, err, "could not be written")
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

// hanging does not answer one operation before its context ends.
type hanging struct {
	worker.Store
	op string
}

func (h *hanging) Lease(ctx context.Context, r siding.LeaseRequest) (siding.Leased, error) {
	if h.op == "Lease" {
		<-ctx.Done()
		return siding.Leased{}, ctx.Err()
	}
	return h.Store.Lease(ctx, r)
}

func (h *hanging) Settle(ctx context.Context, s ...siding.Settlement) ([]siding.Settled, error) {
	if h.op == "Settle" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Store.Settle(ctx, s...)
}
