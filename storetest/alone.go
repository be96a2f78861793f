package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// suspects has messages be in flight when their process dies.
func (f *fixture) suspects(ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.enqueue(msg(id))
	}
	require.Len(f, f.lease(len(ids)), len(ids))
	f.kill()
	for _, id := range ids {
		require.True(f, f.get(id).Suspect)
	}
	f.clock.Advance(time.Second)
}

// aloneWith leases a message that must be alone.
func (f *fixture) aloneWith(id string) *siding.Delivery {
	f.Helper()
	d := f.leaseOne()
	require.Equal(f, id, d.ID)
	require.True(f, d.Solo)
	return d
}

func aloneCases() []testCase {
	return []testCase{
		{"a suspect is given alone, after ordinary work, and nothing beside it", func(f *fixture) {
			f.suspects("a", "b")
			f.numbered(0, 2)
			ds := f.lease(10)
			require.Equal(f, []string{"000", "001"}, ids(ds))
			require.False(f, ds[0].Solo)
			f.done(ds[0], "1")
			require.Empty(f, f.lease(10), "something is in flight")
			f.done(ds[1], "1")
			a := f.aloneWith("a")
			f.numbered(2, 1)
			require.Empty(f, f.lease(10), "nothing until it is settled")
			queue := f.queue
			f.queue += "-other"
			f.numbered(0, 1)
			require.Empty(f, f.lease(10), "of no queue")
			f.queue = queue
			f.done(a, "1")
			require.Equal(f, []string{"002"}, ids(f.lease(10)))
		}},
		{"what another queue has in flight in the process counts too", func(f *fixture) {
			f.suspects("a")
			queue := f.queue
			f.queue += "-other"
			d := f.leased("x")
			other := f.queue
			f.queue = queue
			require.Empty(f, f.lease(10))
			f.queue = other
			f.done(d, "1")
			f.queue = queue
			f.aloneWith("a")
		}},
		{"a lease that has run out in a queue that nobody works keeps no suspect waiting", func(f *fixture) {
			f.suspects("a")
			queue := f.queue
			f.queue += "-other"
			f.leased("x")
			f.queue = queue
			f.clock.Advance(2 * time.Minute)
			f.aloneWith("a")
		}},
		{"alone is alone in its process: others go on", func(f *fixture) {
			f.suspects("a", "b")
			f.aloneWith("a")
			f.numbered(0, 3)
			other := f.another()
			l, err := other.Lease(f.ctx, f.request(2))
			require.NoError(f, err)
			require.Len(f, l.Deliveries, 2)
			require.Equal(f, 3, l.InFlight)
		}},
		{"each process may have one alone", func(f *fixture) {
			f.suspects("a", "b")
			f.aloneWith("a")
			l, err := f.another().Lease(f.ctx, f.request(5))
			require.NoError(f, err)
			require.Equal(f, []string{"b"}, ids(l.Deliveries))
			require.True(f, l.Deliveries[0].Solo)
		}},
		{"a suspect that has waited for five minutes waits for the process to be empty, and then for nothing", func(f *fixture) {
			f.suspects("a")
			f.numbered(0, 9)
			ds := f.lease(2)
			require.Len(f, ds, 2)
			errs, err := f.store.Extend(f.ctx, time.Hour, ds[0].Token, ds[1].Token)
			require.NoError(f, err)
			require.Equal(f, []error{nil, nil}, errs)
			f.clock.Advance(4 * time.Minute)
			f.done(ds[0], "1")
			require.Len(f, f.lease(1), 1)
			f.clock.Advance(time.Minute)
			f.lease(0) // the third's lease was lost
			require.Empty(f, f.lease(5), "the process is being emptied")
			l := f.leaseWith(f.request(5))
			require.False(f, l.NextAt.IsZero())
			require.False(f, l.NextAt.After(l.Now))
			f.done(ds[1], "1")
			a := f.aloneWith("a")
			require.Empty(f, f.lease(5))
			f.fail(a, transient("no"))
			require.Len(f, f.lease(5), 5)
		}},
		{"one whose five minutes are not over is not taken for one whose are", func(f *fixture) {
			f.suspects("old")
			f.clock.Advance(4 * time.Minute)
			f.enqueue(msg("young"))
			f.numbered(0, 2)
			l := f.request(1)
			l.Input = f.begin("one")
			f.enqueueWith(siding.EnqueueOptions{Input: l.Input}, msg("young"))
			require.Equal(f, []string{"young"}, ids(f.leaseWith(l).Deliveries))
			f.kill()
			f.clock.Advance(2 * time.Minute)
			f.done(f.aloneWith("old"), "1")
			require.Equal(f, []string{"000", "001"}, ids(f.lease(9)))
		}},
		{"ordinary work that is not of the request's input does not delay a suspect", func(f *fixture) {
			in := f.begin("key")
			f.enqueueWith(siding.EnqueueOptions{Input: in}, msg("a"))
			f.seal(in) // what is not, is gone with the process that read it
			f.leaseOne()
			f.kill()
			f.clock.Advance(time.Second)
			f.numbered(0, 1)
			r := f.request(5)
			r.Input = in
			l := f.leaseWith(r)
			require.Equal(f, []string{"a"}, ids(l.Deliveries))
			require.True(f, l.Deliveries[0].Solo)
		}},
		{"fewest solo crashes come first", func(f *fixture) {
			f.suspects("a", "b")
			f.aloneWith("a")
			f.kill()
			require.Equal(f, 1, f.get("a").SoloCrashes)
			f.clock.Advance(time.Second)
			f.aloneWith("b")
			f.kill()
			f.clock.Advance(time.Second)
			f.done(f.aloneWith("a"), "1")
			f.done(f.aloneWith("b"), "1")
		}},
		{"three deaths around it alone convict a message, and those with others do not", func(f *fixture) {
			f.numbered(0, 10)
			for range 4 { // with everything in flight
				f.clock.Advance(time.Minute)
				f.lease(10)
				f.kill()
				f.clock.Advance(time.Second)
				for i := range 10 {
					if r := f.get(fmt.Sprintf("%03d", i)); r.SoloCrashes > 1 {
						f.Fatalf("%s has %d solo crashes", r.ID, r.SoloCrashes)
					}
				}
			}
			// From now on one kills its process whenever it runs, and is always alone then.
			deaths := 0
			for f.get("007").State == siding.StateReady {
				d := f.leaseOne()
				require.True(f, d.Solo)
				if d.ID == "007" {
					deaths++
					f.kill()
				} else {
					f.done(d, "1")
				}
				f.clock.Advance(time.Second)
				require.Less(f, deaths, 9)
			}
			r := f.stateIs("007", siding.StateDead)
			require.Equal(f, siding.ReasonCrash, r.Reason)
			require.Equal(f, siding.CauseWorkerCrash, r.LastError.Cause)
			require.Equal(f, siding.MaxSoloCrashes, r.SoloCrashes)
			for len(f.lease(0)) == 0 && f.stats().Ready > 0 {
				f.done(f.leaseOne(), "1")
			}
			st := f.stats()
			require.EqualValues(f, 9, st.Done)
			require.EqualValues(f, 1, st.Dead)
			for i := range 10 {
				r := f.get(fmt.Sprintf("%03d", i))
				require.Zero(f, r.Attempt+r.Interruptions)
			}
		}},
		{"a death that is noticed only when the lease has run out is one all the same", func(f *fixture) {
			f.suspects("a")
			next := f.survivor()
			f.aloneWith("a")
			f.dies(next)
			f.clock.Advance(time.Hour)
			f.lease(0)
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, 1, r.SoloCrashes)
			require.True(f, r.Suspect)
			require.Zero(f, r.Interruptions)
		}},
		{"any end of its own clears a suspect, also a late one", func(f *fixture) {
			for i, failure := range []*siding.Failure{transient("no"), gray("no"), heldFor(siding.ScopeLane, siding.CauseAccount, "no"), nil} {
				id := fmt.Sprint(i)
				f.suspects(id)
				f.aloneWith(id)
				f.kill()
				require.Equal(f, 1, f.get(id).SoloCrashes)
				f.clock.Advance(time.Second)
				d := f.aloneWith(id)
				f.clock.Advance(time.Hour)
				require.NoError(f, f.settleWith(siding.Settlement{Token: d.Token, Failure: failure}).Err)
				r := f.get(id)
				require.False(f, r.Suspect)
				require.Zero(f, r.SoloCrashes)
				if failure != nil {
					f.clock.Advance(time.Minute)
					d := f.leaseOne()
					require.False(f, d.Solo)
					f.done(d, "1")
				}
			}
		}},
		{"an interruption leaves the suspicion as it was", func(f *fixture) {
			f.suspects("a")
			f.aloneWith("a")
			f.kill()
			f.clock.Advance(time.Second)
			d := f.aloneWith("a")
			f.fail(d, interrupted(siding.CauseShutdown))
			f.clock.Advance(time.Second)
			f.aloneWith("a")
			f.clock.Advance(2 * time.Minute)
			f.lease(0) // the lease was lost
			r := f.stateIs("a", siding.StateReady)
			require.True(f, r.Suspect)
			require.Equal(f, 1, r.SoloCrashes)
			require.Equal(f, 1, r.Interruptions)
			f.clock.Advance(2 * time.Second)
			f.aloneWith("a")
		}},
		{"a restart of the machine is no death around a message", func(f *fixture) {
			if f.data.Restart == nil {
				f.Skip("this store's harness cannot restart the machine")
			}
			f.suspects("a")
			f.aloneWith("a")
			f.data.Restart(f.T)
			f.store = f.data.Open(f.T)
			r := f.stateIs("a", siding.StateReady)
			require.Zero(f, r.SoloCrashes)
			require.True(f, r.Suspect)
		}},
		{"stopping again and again makes no suspects", func(f *fixture) {
			f.numbered(0, 4)
			for range 10 {
				for _, d := range f.lease(4) {
					require.False(f, d.Solo)
					f.fail(d, interrupted(siding.CauseShutdown))
				}
				f.clock.Advance(time.Second)
			}
			for i := range 4 {
				r := f.get(fmt.Sprintf("%03d", i))
				require.False(f, r.Suspect)
				require.Zero(f, r.Attempt+r.Interruptions)
			}
		}},
		{"a convict that is redriven comes back as a suspect, with a clean sheet", func(f *fixture) {
			f.suspects("a")
			for range siding.MaxSoloCrashes {
				f.aloneWith("a")
				f.kill()
				f.clock.Advance(time.Second)
			}
			f.stateIs("a", siding.StateDead)
			require.Equal(f, []error{nil}, f.redrive("a"))
			r := f.get("a")
			require.True(f, r.Suspect)
			require.Zero(f, r.SoloCrashes)
			f.numbered(0, 1)
			ds := f.lease(5)
			require.Equal(f, []string{"000"}, ids(ds))
			f.done(ds[0], "1")
			f.done(f.aloneWith("a"), "1")
		}},
		{"another body is another message, and no suspect", func(f *fixture) {
			f.suspects("a")
			f.aloneWith("a")
			f.kill()
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "a", Body: []byte("2")})
			r := f.get("a")
			require.False(f, r.Suspect)
			require.Zero(f, r.SoloCrashes)
			f.clock.Advance(time.Second)
			require.False(f, f.leaseOne().Solo)
		}},
		{"the trial of a message that is held again and again is cut short, and comes again", func(f *fixture) {
			f.policy.MaxWaits = 1
			d := f.leased("a")
			failure := throttled(0)
			failure.WaitCounts = true
			f.fail(d, failure)
			require.True(f, f.get("a").Alone)
			f.clock.Advance(time.Minute)
			f.numbered(0, 2)
			ds := f.lease(10)
			require.Equal(f, []string{"000", "001"}, ids(ds), "ordinary work comes first")
			f.done(ds[0], "1")
			f.done(ds[1], "1")
			f.fail(f.aloneWith("a"), interrupted(siding.CauseShutdown))
			require.True(f, f.get("a").Alone)
			f.clock.Advance(time.Minute)
			f.fail(f.aloneWith("a"), throttled(0)) // while the lane serves nobody
			f.clock.Advance(time.Minute)
			f.fail(f.aloneWith("a"), failure)
			require.Equal(f, siding.ReasonWaitsExhausted, f.stateIs("a", siding.StateDead).Reason)
		}},
		{"where only suspects wait, one of them is the probe, and is alone too", func(f *fixture) {
			f.suspects("a", "b")
			f.numbered(0, 2)
			ds := f.gated(2).Deliveries
			require.Len(f, ds, 2)
			f.through(ds[0], heldFor(siding.ScopeLane, siding.CauseModelNotFound, "gone"))
			f.discard(ds[0].ID)
			f.nudge()
			require.Empty(f, f.gated(5).Deliveries, "something is in flight")
			f.through(ds[1], interrupted(siding.CauseShutdown))
			f.discard(ds[1].ID)
			d := f.probe()
			require.True(f, d.Solo)
			f.shut()
			f.kill() // and takes its process with it
			f.clock.Advance(time.Second)
			d = f.probe()
			require.True(f, d.Solo)
			f.through(d, nil)
			require.Len(f, f.gated(5).Deliveries, 1)
		}},
	}
}
