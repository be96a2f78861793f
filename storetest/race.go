package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// contestants is how many goroutines try the same write at once, half of them in another process.
const contestants = 8

// contest has all contestants try at once. It gives what each of them got.
func contest[T any](f *fixture, try func(s siding.Store, i int) (T, error)) []T {
	f.Helper()
	stores := []siding.Store{f.store, f.another()}
	out, errs := make([]T, contestants), make([]error, contestants)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range contestants {
		wg.Go(func() {
			<-start
			out[i], errs[i] = try(stores[i%2], i)
		})
	}
	close(start)
	wg.Wait()
	require.NoError(f, errors.Join(errs...))
	return out
}

// tally counts equal answers.
func tally[T comparable](list []T) map[T]int {
	out := map[T]int{}
	for _, v := range list {
		out[v]++
	}
	return out
}

// outcome names errors, so that they can be counted.
func outcome(err error) string {
	for _, known := range []error{
		siding.ErrStaleLease, siding.ErrWrongState, siding.ErrConflict, siding.ErrFull, siding.ErrNotFound,
		siding.ErrInvalidID, siding.ErrNoBody, errInjected,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return err.Error()
	}
	return "won"
}

var (
	lostStale = siding.ErrStaleLease.Error()
	lostState = siding.ErrWrongState.Error()
)

func raceCases() []testCase {
	settle := func(f *fixture, s siding.Store, one siding.Settlement) (string, error) {
		one.Policy = f.policy
		out, err := s.Settle(f.ctx, one)
		if err != nil {
			return "", err
		}
		return outcome(out[0].Err), nil
	}
	return []testCase{
		{"a message is leased by one", func(f *fixture) {
			for i := range 3 * contestants {
				f.enqueue(msg(fmt.Sprint(i)))
			}
			got := contest(f, func(s siding.Store, _ int) ([]*siding.Delivery, error) {
				var all []*siding.Delivery
				for {
					l, err := s.Lease(f.ctx, f.request(2))
					if err != nil || len(l.Deliveries) == 0 {
						return all, err
					}
					all = append(all, l.Deliveries...)
				}
			})
			seen := map[string]bool{}
			tokens := map[siding.LeaseToken]bool{}
			for _, ds := range got {
				for _, d := range ds {
					require.False(f, seen[d.ID], "%s was leased twice", d.ID)
					seen[d.ID], tokens[d.Token] = true, true
					require.Equal(f, 1, d.Number)
				}
			}
			require.Len(f, seen, 3*contestants)
			require.Len(f, tokens, 3*contestants)
		}},
		{"a delivery is settled by one", func(f *fixture) {
			d := f.leased("a")
			got := contest(f, func(s siding.Store, _ int) (string, error) {
				return settle(f, s, siding.Settlement{Token: d.Token, Failure: transient("no")})
			})
			require.Equal(f, map[string]int{"won": 1, lostStale: contestants - 1}, tally(got))
			require.Equal(f, 1, f.get("a").Attempt)
			require.EqualValues(f, contestants-1, f.stats().StaleSettles)
		}},
		{"a lease that has run out is settled or lost, and not both", func(f *fixture) {
			d := f.leased("a")
			f.clock.Advance(time.Hour)
			got := contest(f, func(s siding.Store, i int) (string, error) {
				if i < contestants/2 {
					_, err := s.Lease(f.ctx, f.request(0))
					return "looked", err
				}
				return settle(f, s, siding.Settlement{Token: d.Token})
			})
			won := tally(got)["won"]
			r := f.get("a")
			require.Equal(f, 1, won+r.Interruptions)
			require.Equal(f, won == 1, r.State == siding.StateDone)
			require.Len(f, r.History, 1)
		}},
		{"a lease that has run out is extended or lost, and not both", func(f *fixture) {
			d := f.leased("a")
			f.clock.Advance(time.Hour)
			got := contest(f, func(s siding.Store, i int) (string, error) {
				if i < contestants/2 {
					_, err := s.Lease(f.ctx, f.request(0))
					return "looked", err
				}
				errs, err := s.Extend(f.ctx, time.Hour, d.Token)
				if err != nil {
					return "", err
				}
				return outcome(errs[0]), nil
			})
			r := f.get("a")
			if tally(got)["won"] > 0 {
				require.Equal(f, siding.StateLeased, r.State)
				require.Zero(f, r.Interruptions)
				f.done(d, "1")
			} else {
				require.Equal(f, 1, r.Interruptions)
			}
		}},
		{"a dead letter is redriven by one", func(f *fixture) {
			f.dead("a")
			got := contest(f, func(s siding.Store, _ int) (string, error) {
				errs, err := s.Redrive(f.ctx, f.queue, "a")
				if err != nil {
					return "", err
				}
				return outcome(errs[0]), nil
			})
			require.Equal(f, map[string]int{"won": 1, lostState: contestants - 1}, tally(got))
			require.Equal(f, 1, f.get("a").Redrives)
		}},
		{"a dead letter is redriven or superseded, and is worked once", func(f *fixture) {
			f.dead("a")
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				if i%2 == 0 {
					_, err := s.Redrive(f.ctx, f.queue, "a")
					return struct{}{}, err
				}
				n := siding.NewMessage{ID: "a", Body: []byte("2")}
				_, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Supersede: true}, n)
				return struct{}{}, err
			})
			require.Equal(f, "2", string(f.leaseOne().Body))
		}},
		{"a message is discarded by one", func(f *fixture) {
			f.enqueue(msg("a"))
			got := contest(f, func(s siding.Store, _ int) (string, error) {
				errs, err := s.Discard(f.ctx, f.queue, "why", "a")
				if err != nil {
					return "", err
				}
				return outcome(errs[0]), nil
			})
			require.Equal(f, map[string]int{"won": 1, lostState: contestants - 1}, tally(got))
			require.Len(f, f.get("a").Revisions, 1)
		}},
		{"a leased message is settled or discarded, and not both", func(f *fixture) {
			d := f.leased("a")
			got := contest(f, func(s siding.Store, i int) (string, error) {
				if i%2 == 0 {
					return settle(f, s, siding.Settlement{Token: d.Token})
				}
				errs, err := s.Discard(f.ctx, f.queue, "why", "a")
				if err != nil {
					return "", err
				}
				return outcome(errs[0]), nil
			})
			require.Equal(f, 1, tally(got)["won"])
			require.Len(f, f.get("a").History, 1)
		}},
		{"a new message is taken from one", func(f *fixture) {
			got := contest(f, func(s siding.Store, _ int) (siding.EnqueueStatus, error) {
				out, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg("a"))
				if err != nil {
					return "", err
				}
				return out[0].Status, out[0].Err
			})
			require.Equal(f, map[siding.EnqueueStatus]int{
				siding.EnqueueNew: 1, siding.EnqueueUnchanged: contestants - 1,
			}, tally(got))
			require.Len(f, f.lease(2), 1)
		}},
		{"of different bodies under one ID, one is taken", func(f *fixture) {
			got := contest(f, func(s siding.Store, i int) (string, error) {
				out, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte(fmt.Sprint(i))})
				if err != nil {
					return "", err
				}
				return outcome(out[0].Err), nil
			})
			require.Equal(f, map[string]int{"won": 1, siding.ErrConflict.Error(): contestants - 1}, tally(got))
			for i, what := range got {
				if what == "won" {
					require.Equal(f, fmt.Sprint(i), string(f.get("a").Body))
				}
			}
		}},
		{"a queue takes no more than its limit from all together", func(f *fixture) {
			got := contest(f, func(s siding.Store, i int) (int, error) {
				taken := 0
				for n := range 3 {
					out, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{MaxDepth: 5}, msg(fmt.Sprint(i, "-", n)))
					if err != nil {
						return 0, err
					}
					if out[0].Err == nil {
						taken++
					}
				}
				return taken, nil
			})
			sum := 0
			for _, n := range got {
				sum += n
			}
			require.Equal(f, 5, sum)
			require.EqualValues(f, 5, f.stats().Ready)
		}},
		{"a record of an input is counted once, whoever reads it", func(f *fixture) {
			in := f.begin("key")
			contest(f, func(s siding.Store, _ int) (struct{}, error) {
				_, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Input: in}, record(0, "a", "1"))
				return struct{}{}, err
			})
			require.EqualValues(f, 1, f.inputStats(in).Enqueued)
		}},
		{"a request is sent by one", func(f *fixture) {
			d := f.leased("a")
			got := contest(f, func(s siding.Store, _ int) (string, error) {
				out, err := s.StartCall(f.ctx, ask(d, 1))
				switch {
				case err != nil:
					return "", err
				case out.Call != 0:
					return "sends", nil
				case !out.BusyUntil.IsZero():
					return "waits", nil
				}
				return "odd", nil
			})
			require.Equal(f, map[string]int{"sends": 1, "waits": contestants - 1}, tally(got))
			require.Len(f, f.calls("a"), 1)
		}},
		{"a call ends once", func(f *fixture) {
			id := f.start(ask(f.leased("a"), 1))
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				e := answered(id, fmt.Sprint(i))
				e.Cost = siding.Money(i)
				return struct{}{}, s.EndCall(f.ctx, e)
			})
			body, err := f.store.Answer(f.ctx, id)
			require.NoError(f, err)
			require.Equal(f, string(body), fmt.Sprint(int64(f.calls("a")[0].Cost)), "answer and cost are of the same end")
			require.Equal(f, f.calls("a")[0].Cost, f.stats().Cost)
		}},
		{"an answer is adopted anew by one", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, true, nil)
			got := contest(f, func(s siding.Store, i int) (string, error) {
				j := siding.Judgement{Call: id, Accepted: true, Digest: "d2"}
				return outcome(s.Readopt(f.ctx, f.queue, "a", j, []byte(fmt.Sprint(i)))), nil
			})
			require.Equal(f, map[string]int{"won": 1, lostState: contestants - 1}, tally(got))
			require.Len(f, f.get("a").Revisions, 1)
		}},
		{"members are asked again once", func(f *fixture) {
			in := f.input("key", "a", "b", "c")
			f.work(in, "d1")
			got := contest(f, func(s siding.Store, _ int) (int64, error) { return s.Reask(f.ctx, in, "d2") })
			var sum int64
			for _, n := range got {
				sum += n
			}
			require.EqualValues(f, 3, sum)
			require.Len(f, f.get("a").Revisions, 1)
		}},
		{"what a dead process has left is freed once", func(f *fixture) {
			next := f.survivor()
			dying := f.store
			f.enqueue(msg("a"), msg("b"), msg("c"))
			l, err := dying.Lease(f.ctx, f.request(3))
			require.NoError(f, err)
			require.Len(f, l.Deliveries, 3)
			survivors := []siding.Store{next(), f.another()}
			f.dies(next)
			contest(f, func(_ siding.Store, i int) (int, error) { return survivors[i%2].Reap(f.ctx) })
			for _, id := range []string{"a", "b", "c"} {
				require.Len(f, f.stateIs(id, siding.StateReady).History, 1)
			}
		}},
		{"with everything at once, every message ends once", func(f *fixture) { storm(f, siding.GateKeys{}, meddleNot) }},
	}
}
