package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func processCases() []testCase {
	return []testCase{
		{"what a dead process had leased is free at once, and uncounted", func(f *fixture) {
			f.enqueue(msg("a"), msg("b"), msg("waiting"))
			ds := f.lease(2)
			f.kill()
			for _, d := range ds {
				r := f.stateIs(d.ID, siding.StateReady)
				require.Zero(f, r.Attempt+r.Interruptions)
				require.True(f, r.Suspect)
				require.Nil(f, r.LastError)
				require.Len(f, r.History, 1)
				require.Equal(f, siding.OutcomeInterrupted, r.History[0].Outcome)
				require.Equal(f, siding.CauseWorkerCrash, r.History[0].Error.Cause)
				f.stale(d)
			}
			require.False(f, f.get("waiting").Suspect)
			f.clock.Advance(time.Second)
			for range 3 {
				d := f.leaseOne()
				f.done(d, "1")
				require.False(f, f.get(d.ID).Suspect, "what settles is cleared")
			}
		}},
		{"another process that was open all the time frees them when it looks", func(f *fixture) {
			next := f.survivor()
			other := next()
			d := f.leased("a")
			n, err := other.Reap(f.ctx)
			require.NoError(f, err)
			require.Zero(f, n, "its process lives")
			f.stateIs("a", siding.StateLeased)

			f.dies(next)
			n, err = other.Reap(f.ctx)
			require.NoError(f, err)
			require.Equal(f, 1, n)
			n, err = other.Reap(f.ctx)
			require.NoError(f, err)
			require.Zero(f, n)
			f.stateIs("a", siding.StateReady)
			f.stale(d)
		}},
		{"only the dead process's messages are freed", func(f *fixture) {
			other := f.another()
			f.enqueue(msg("a"), msg("b"))
			out, err := other.Lease(f.ctx, f.request(1))
			require.NoError(f, err)
			mine := f.lease(1)[0]
			f.kill()
			f.stateIs(mine.ID, siding.StateReady)
			theirs := out.Deliveries[0]
			f.stateIs(theirs.ID, siding.StateLeased)
			settled, err := other.Settle(f.ctx, siding.Settlement{Token: theirs.Token, Policy: f.policy})
			require.NoError(f, err)
			require.NoError(f, settled[0].Err)
		}},
		{"a lease of a process that lives is lost, and makes no suspect", func(f *fixture) {
			other := f.another()
			f.leased("a")
			f.clock.Advance(2 * time.Minute)
			r := f.request(0)
			_, err := other.Lease(f.ctx, r)
			require.NoError(f, err)
			got := f.stateIs("a", siding.StateReady)
			require.Equal(f, 1, got.Interruptions)
			require.False(f, got.Suspect)
		}},
		{"a lease of a dead process that runs out before anybody looks is no lost lease", func(f *fixture) {
			next := f.survivor()
			f.leased("a")
			f.dies(next)
			f.clock.Advance(time.Hour)
			f.lease(0)
			r := f.stateIs("a", siding.StateReady)
			require.Zero(f, r.Interruptions)
			require.Equal(f, siding.CauseWorkerCrash, r.History[0].Error.Cause)
		}},
		{"a call of a dead process holds up nobody, also where its lease ran out first", func(f *fixture) {
			next := f.survivor()
			r := ask(f.leased("a"), 1)
			r.Deadline = 10 * time.Minute
			f.start(r)
			f.dies(next)
			out := f.startWith(ask(f.again(), 1))
			require.NotZero(f, out.Call)
			require.Equal(f, 1, out.Unknown)
		}},
		{"a restart of the machine costs nothing and makes no suspect", func(f *fixture) {
			if f.data.Restart == nil {
				f.Skip("this store's harness cannot restart the machine")
			}
			d := f.leased("a")
			f.data.Restart(f.T)
			f.store = f.data.Open(f.T)
			r := f.stateIs("a", siding.StateReady)
			require.Zero(f, r.Attempt+r.Interruptions)
			require.False(f, r.Suspect)
			require.Equal(f, siding.CauseHostRestart, r.History[0].Error.Cause)
			f.stale(d)
		}},
		{"what a closed store had leased comes back when the lease has run out at the latest", func(f *fixture) {
			f.leased("a")
			f.reopen()
			f.clock.Advance(2 * time.Minute)
			f.lease(0)
			f.clock.Advance(time.Minute)
			d := f.leaseOne()
			require.Zero(f, d.Attempt)
			f.done(d, "1")
		}},
		{"a closed store says so", func(f *fixture) {
			f.enqueue(msg("a"))
			other := f.another()
			f.open = nil
			require.NoError(f, other.Close())
			_, err := other.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg("b"))
			require.ErrorIs(f, err, siding.ErrClosed)
			_, err = other.Lease(f.ctx, f.request(1))
			require.ErrorIs(f, err, siding.ErrClosed)
			_, err = other.Get(f.ctx, f.queue, "a")
			require.ErrorIs(f, err, siding.ErrClosed)
			for _, err := range other.List(f.ctx, siding.Selection{}) {
				require.ErrorIs(f, err, siding.ErrClosed)
			}
			require.Len(f, f.lease(1), 1, "others go on")
		}},
		{"two processes see each other's writes", func(f *fixture) {
			other := f.another()
			f.enqueue(msg("a"))
			out, err := other.Lease(f.ctx, f.request(1))
			require.NoError(f, err)
			require.Len(f, out.Deliveries, 1)
			require.Empty(f, f.lease(1))
			f.done(out.Deliveries[0], `"by the other's token"`)
			r, err := other.Get(f.ctx, f.queue, "a")
			require.NoError(f, err)
			require.Equal(f, siding.StateDone, r.State)
		}},
	}
}

func clockCases() []testCase {
	return []testCase{
		{"the store's time never stands still", func(f *fixture) {
			last := f.now()
			for i := range 20 {
				f.enqueue(msg(string(rune('a' + i))))
				now := f.now()
				require.True(f, now.After(last))
				last = now
			}
			f.near(f.clock.Now(), last)
		}},
		{"when the wall clock jumps back, the store's time goes on from where it was", func(f *fixture) {
			f.clock.Advance(time.Hour)
			before := f.now()
			f.clock.Advance(-time.Hour)
			require.True(f, f.now().After(before))
			f.near(before, f.now())
			f.clock.Advance(10 * time.Second)
			f.near(before.Add(10*time.Second), f.now())
			f.reopen()
			f.near(before.Add(10*time.Second), f.now())
			f.clock.Advance(-time.Hour)
			f.clock.Advance(5 * time.Second)
			now := f.now()
			require.False(f, now.Before(before.Add(10*time.Second)))
			f.clock.Advance(5 * time.Second)
			f.near(now.Add(5*time.Second), f.now())
		}},
		{"a clock that jumps back while the store is closed does not turn its time back", func(f *fixture) {
			before := f.now()
			require.NoError(f, f.store.Close())
			f.clock.Advance(-time.Hour)
			f.store = f.data.Open(f.T)
			require.False(f, f.now().Before(before))
		}},
		{"leases and delays end in spite of a clock that jumps", func(f *fixture) {
			f.fail(f.leased("retry"), transient("no"))
			f.leased("lost")
			f.clock.Advance(-time.Hour)
			require.Empty(f, f.lease(5))
			f.clock.Advance(3 * time.Second)
			require.Equal(f, []string{"retry"}, ids(f.lease(5)))
			f.clock.Advance(time.Minute)
			f.lease(0)
			require.Equal(f, 1, f.get("lost").Interruptions)
			f.clock.Advance(time.Hour)
			f.lease(0)
			require.Equal(f, 1, f.get("retry").Interruptions)
		}},
		{"processes whose clocks jump together agree", func(f *fixture) {
			other := f.another()
			f.clock.Advance(time.Hour)
			before := f.now()
			f.clock.Advance(-30 * time.Minute)
			now, err := other.Now(f.ctx)
			require.NoError(f, err)
			require.False(f, now.Before(before))
			f.near(now, f.now())
		}},
	}
}
