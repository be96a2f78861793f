package worker_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// number gives the n of message mn.
func number(d *siding.Delivery) int {
	n, err := strconv.Atoi(d.ID[1:])
	if err != nil {
		panic(err)
	}
	return n
}

// dead gives the numbers of the messages that are set aside.
func (f *fix) dead() (out []int) {
	f.Helper()
	for m, err := range f.store.List(f.Context(), siding.Selection{Queue: queue, States: []siding.State{siding.StateDead}}) {
		require.NoError(f, err)
		out = append(out, number(&siding.Delivery{Message: m.Message}))
	}
	return out
}

func TestTenThatFailAlikeAreSetAsideAndNoOthers(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int{"at the top": 0, "at the end": 790, "in the middle": 400} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.many(800)
				s := newService(func(d *siding.Delivery, _ time.Duration) *siding.Failure {
					if n := number(d); n >= first && n < first+10 {
						return unreadable()
					}
					return nil
				})
				f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: s})
				dead := f.dead()
				require.Len(t, dead, 10)
				for _, n := range dead {
					require.True(t, n >= first && n < first+10)
					require.Equal(t, 1, f.get(fmt.Sprint("m", n)).Attempt)
				}
				require.EqualValues(t, 790, f.stats().Done)
				require.Less(t, len(s.calls(0, always)), 800+10)
			})
		})
	}
}

func TestEightHundredThatAllFailAlikeAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(800)
		mended := false
		s := newService(func(*siding.Delivery, time.Duration) *siding.Failure {
			if mended {
				return nil
			}
			return unreadable()
		})
		cfg := worker.Config{Gates: watched, Wait: waiting, Handler: s}
		err := f.worker(cfg).Run(t.Context())
		var held *worker.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, siding.HoldSystemic, held.Holds[0].Hold.Kind)
		require.True(t, held.Holds[0].Hold.Stuck)
		require.ErrorContains(t, err, "cannot be read")
		require.LessOrEqual(t, len(s.calls(0, always)), 8+5+20)
		require.EqualValues(t, 800, f.stats().Ready)
		require.Zero(t, f.get("m0").Attempt)

		mended = true
		f.drain(cfg)
		require.EqualValues(t, 800, f.stats().Done)
	})
}

func TestFortyBrokenLinesInARowHoldNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(100)
		s := newService(func(d *siding.Delivery, _ time.Duration) *siding.Failure {
			if number(d) < 40 {
				return &siding.Failure{
					Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidJSON, NoCall: true, Err: errors.New("broken"),
				}
			}
			return nil
		})
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: s, Observe: func(e worker.Event) {
			if _, ok := e.(worker.Held); ok {
				t.Error("held")
			}
		}})
		require.Len(t, f.dead(), 40)
		require.EqualValues(t, 60, f.stats().Done)
	})
}

// Nobody knows this fault; it looks like that of each message, and ends by itself. Meanwhile another recipe on the same
// lane goes on.
func TestAFaultThatNobodyKnowsSetsNothingAsideAndStopsNoOtherRecipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(1000)
		f.putInto("others", 1500)
		from, to := 10*time.Second, 70*time.Second
		s := newService(func(d *siding.Delivery, at time.Duration) *siding.Failure {
			if d.Queue == queue && at > from && at < to {
				return &siding.Failure{
					Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Status: 400, Err: errors.New("something new"),
				}
			}
			return nil
		})
		keys := watched
		keys.Recipe.Name = "others@d2"
		end := start(t.Context(), f.worker(worker.Config{Gates: watched, Wait: waiting, Handler: s}))
		f.drainOf("others", worker.Config{Gates: keys, Wait: waiting, Handler: s})
		others := time.Since(s.start)
		require.NoError(t, <-end)
		require.Empty(t, f.dead())
		require.EqualValues(t, 1000, f.stats().Done)
		require.Less(t, others.Seconds(), 1500.0/8*0.3+2, "at its own speed throughout")
		var during int
		for _, call := range s.calls(from+time.Second, to) {
			if call.queue == queue {
				during++
			}
		}
		require.LessOrEqual(t, during, 20, "probes only")
	})
}

func TestAnOperatorMayCallThemTheMessagesOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(60)
		s := newService(func(*siding.Delivery, time.Duration) *siding.Failure { return unreadable() })
		cfg := worker.Config{Gates: watched, Wait: waiting, Handler: s}
		require.Error(t, f.worker(cfg).Run(t.Context()))
		require.Empty(t, f.dead())
		require.NoError(t, f.store.Resume(t.Context(), watched.Recipe, true))
		f.drain(cfg)
		require.Len(t, f.dead(), 60)
	})
}
