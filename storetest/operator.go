package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func (f *fixture) list(s siding.Selection) []siding.Listed {
	f.Helper()
	var out []siding.Listed
	for l, err := range f.store.List(f.ctx, s) {
		require.NoError(f, err)
		out = append(out, l)
	}
	return out
}

func (f *fixture) listedIDs(s siding.Selection) []string {
	f.Helper()
	var out []string
	for _, l := range f.list(s) {
		out = append(out, l.ID)
	}
	return out
}

func operatorCases() []testCase {
	return []testCase{
		{"a redrive keeps the ID and the history, and resets everything else", func(f *fixture) {
			f.policy.MaxRetries = 1
			f.fail(f.leased("a"), &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, WaitCounts: true})
			f.clock.Advance(time.Minute)
			f.leaseOne()
			f.clock.Advance(2 * time.Minute)
			f.lease(0)
			f.clock.Advance(time.Minute)
			f.fail(f.leaseOne(), gray("perhaps"))
			f.clock.Advance(time.Minute)
			f.fail(f.leaseOne(), transient("no"))
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, []int{2, 1, 1, 1}, []int{r.Attempt, r.Gray, r.Waits, r.Interruptions})

			require.NoError(f, f.redrive("a")[0])
			got := f.stateIs("a", siding.StateReady)
			require.Zero(f, got.Attempt+got.Gray+got.Waits+got.Interruptions)
			require.Nil(f, got.LastError)
			require.Empty(f, got.Reason)
			require.True(f, got.DeadAt.IsZero())
			require.Equal(f, 1, got.Redrives)
			require.Equal(f, r.History, got.History)
			require.Equal(f, r.Body, got.Body)
			require.Equal(f, r.ReceivedAt, got.ReceivedAt)
			require.Equal(f, siding.RevisionRedriven, got.Revisions[0].Kind)
			d := f.leaseOne()
			require.Equal(f, 5, d.Number)
			f.done(d, "1")
		}},
		{"a redriven message has all its attempts again", func(f *fixture) {
			f.policy.MaxRetries = 0
			f.fail(f.leased("a"), transient("no"))
			for n := range 3 {
				require.NoError(f, f.redrive("a")[0])
				f.fail(f.leaseOne(), transient("no"))
				r := f.stateIs("a", siding.StateDead)
				require.Equal(f, 1, r.Attempt)
				require.Equal(f, n+1, r.Redrives)
			}
		}},
		{"only dead messages are redriven, and each is answered for itself", func(f *fixture) {
			f.dead("dead")
			f.done(f.leased("done"), "1")
			f.leased("leased")
			f.enqueue(msg("ready"), msg("discarded"))
			f.discard("discarded")
			errs := f.redrive("done", "leased", "ready", "discarded", "nobody", "dead", "dead")
			for i := range 4 {
				require.ErrorIs(f, errs[i], siding.ErrWrongState)
			}
			require.ErrorIs(f, errs[4], siding.ErrNotFound)
			require.NoError(f, errs[5])
			require.ErrorIs(f, errs[6], siding.ErrWrongState, "twice is once")
			require.Equal(f, 1, f.get("dead").Redrives)
		}},
		{"a redrive of nothing does nothing", func(f *fixture) {
			f.dead("a")
			require.Empty(f, f.redrive())
			f.stateIs("a", siding.StateDead)
		}},
		{"a message is discarded from where it can be, with the reason", func(f *fixture) {
			f.dead("dead")
			f.done(f.leased("done"), "1")
			f.leased("leased")
			f.enqueue(msg("ready"))
			errs := f.discard("dead", "done", "leased", "ready", "nobody", "ready")
			for _, i := range []int{0, 2, 3} {
				require.NoError(f, errs[i])
			}
			require.ErrorIs(f, errs[1], siding.ErrWrongState)
			require.ErrorIs(f, errs[4], siding.ErrNotFound)
			require.ErrorIs(f, errs[5], siding.ErrWrongState)
			for _, id := range []string{"dead", "leased", "ready"} {
				r := f.stateIs(id, siding.StateDiscarded)
				require.Equal(f, "not wanted any more", r.DiscardReason)
				require.Empty(f, r.Reason)
				require.Equal(f, siding.RevisionDiscarded, r.Revisions[len(r.Revisions)-1].Kind)
			}
			require.Empty(f, f.discard())
			require.Empty(f, f.lease(5))
			f.clock.Advance(time.Hour)
			require.Empty(f, f.lease(5))
		}},
		{"a message that is discarded while leased is not brought back by its delivery", func(f *fixture) {
			d := f.leased("a")
			require.NoError(f, f.discard("a")[0])
			f.stale(d)
			errs, err := f.store.Extend(f.ctx, time.Hour, d.Token)
			require.NoError(f, err)
			require.ErrorIs(f, errs[0], siding.ErrStaleLease)
			r := f.stateIs("a", siding.StateDiscarded)
			require.Empty(f, r.Result)
			require.EqualValues(f, 1, f.stats().StaleSettles)
			require.Zero(f, f.leaseWith(f.request(0)).InFlight)
		}},
		{"nobody's message is not found", func(f *fixture) {
			f.enqueue(msg("a"))
			for _, at := range [][2]string{{f.queue, "b"}, {f.queue + "-another", "a"}, {f.queue, ""}} {
				_, err := f.store.Get(f.ctx, at[0], at[1])
				require.ErrorIs(f, err, siding.ErrNotFound)
			}
		}},
		{"a listing has the oldest first, and dead letters by when they were set aside", func(f *fixture) {
			for _, id := range []string{"c", "a", "b"} {
				f.enqueue(msg(id))
				f.clock.Advance(time.Second)
			}
			require.Equal(f, []string{"c", "a", "b"}, f.listedIDs(siding.Selection{Queue: f.queue}))
			ds := f.lease(3)
			for _, i := range []int{2, 0, 1} {
				f.fail(ds[i], permanent("no"))
				f.clock.Advance(time.Second)
			}
			dead := siding.Selection{Queue: f.queue, States: []siding.State{siding.StateDead}}
			require.Equal(f, []string{"b", "c", "a"}, f.listedIDs(dead))
			dead.Limit = 2
			require.Equal(f, []string{"b", "c"}, f.listedIDs(dead))
		}},
		{"a listing has bodies only when asked for", func(f *fixture) {
			m := msg("a")
			m.Source = source(4, "x")
			f.enqueue(m)
			l := f.list(siding.Selection{Queue: f.queue})
			require.Empty(f, l[0].Body)
			require.Equal(f, m.Source, l[0].Source)
			require.Equal(f, m.Body, f.list(siding.Selection{Queue: f.queue, Bodies: true})[0].Body)
		}},
		{"a walk over a listing may change it, and may stop", func(f *fixture) {
			for i := range 300 {
				f.enqueue(msg(fmt.Sprint(i)))
			}
			n := 0
			for l, err := range f.store.List(f.ctx, siding.Selection{Queue: f.queue, States: []siding.State{siding.StateReady}}) {
				require.NoError(f, err)
				require.NoError(f, f.discard(l.ID)[0])
				if n++; n == 290 {
					break
				}
			}
			require.EqualValues(f, 10, f.stats().Ready)
		}},
		{"a queue is counted by state", func(f *fixture) {
			f.dead("dead")
			f.done(f.leased("done"), "1")
			f.leased("leased")
			f.enqueue(msg("discarded"))
			f.discard("discarded")
			f.fail(f.leased("retrying"), transient("no"))
			f.clock.Advance(time.Second)
			received := f.now()
			late := msg("late")
			late.NotBefore = f.clock.Now().Add(time.Hour)
			f.enqueue(late, msg("ready"))
			st := f.stats()
			require.Equal(f, f.queue, st.Queue)
			require.Equal(f, []int64{3, 1, 1, 1, 1}, []int64{st.Ready, st.Leased, st.Done, st.Dead, st.Discarded})
			require.EqualValues(f, 2, st.Delayed)
			require.EqualValues(f, 1, st.Retrying)
			f.near(received.Add(-time.Second), st.OldestReady)
			require.Len(f, st.Causes, 1)
			require.EqualValues(f, 1, st.Causes[0].Count)
		}},
		{"dead letters are grouped by cause and fingerprint, the largest group first", func(f *fixture) {
			for i := range 3 {
				f.fail(f.leased(fmt.Sprint("x", i)), permanent(fmt.Sprint("bad byte at ", i)))
			}
			f.fail(f.leased("y"), permanent("something else"))
			causes := f.stats().Causes
			require.Len(f, causes, 2)
			require.EqualValues(f, 3, causes[0].Count)
			require.Equal(f, permanent("bad byte at 7").Stored().Fingerprint, causes[0].Fingerprint)
			require.Contains(f, causes[0].Sample, "bad byte at ")
			require.EqualValues(f, 1, causes[1].Count)
		}},
	}
}

// overviewCases look over several queues, and need a store of their own.
func overviewCases() []testCase {
	return []testCase{
		{"every part of a selection narrows it", func(f *fixture) {
			begin := f.clock.Now()
			f.fail(f.leased("poison"), permanent("no good"))
			f.clock.Advance(time.Minute)
			f.fail(f.leased("unknown"), &siding.Failure{
				Outcome: siding.OutcomePermanent, Cause: siding.CauseTimeout, Reason: siding.ReasonUnknownCall,
			})
			f.clock.Advance(time.Minute)
			in := f.input("key", "ready", "more")
			_, err := f.store.Enqueue(f.ctx, f.queue+"-another", siding.EnqueueOptions{}, msg("elsewhere"))
			require.NoError(f, err)
			for name, c := range map[string]struct {
				s    siding.Selection
				want []string
			}{
				"everything":  {siding.Selection{}, []string{"poison", "unknown", "ready", "more", "elsewhere"}},
				"queue":       {siding.Selection{Queue: f.queue + "-another"}, []string{"elsewhere"}},
				"no queue":    {siding.Selection{Queue: "nobody's"}, nil},
				"ids":         {siding.Selection{Queue: f.queue, IDs: []string{"more", "nobody", "poison"}}, []string{"poison", "more"}},
				"states":      {siding.Selection{Queue: f.queue, States: []siding.State{siding.StateReady}}, []string{"ready", "more"}},
				"causes":      {siding.Selection{Causes: []siding.Cause{siding.CauseTimeout}}, []string{"unknown"}},
				"reasons":     {siding.Selection{Reasons: []siding.Reason{siding.ReasonPoison}}, []string{"poison"}},
				"fingerprint": {siding.Selection{Fingerprints: []string{permanent("no good").Stored().Fingerprint}}, []string{"poison"}},
				"since":       {siding.Selection{Queue: f.queue, Since: begin.Add(30 * time.Second)}, []string{"unknown", "ready", "more"}},
				"until":       {siding.Selection{Queue: f.queue, Until: begin.Add(90 * time.Second)}, []string{"poison", "unknown"}},
				"input":       {siding.Selection{Input: in}, []string{"ready", "more"}},
				"limit":       {siding.Selection{Queue: f.queue, Limit: 1}, []string{"poison"}},
				"together": {siding.Selection{
					Queue: f.queue, States: []siding.State{siding.StateDead}, Causes: []siding.Cause{siding.CauseTimeout},
					Since: begin, Until: begin.Add(time.Hour),
				}, []string{"unknown"}},
				"nothing": {siding.Selection{States: []siding.State{siding.StateReady}, Reasons: []siding.Reason{siding.ReasonPoison}}, nil},
			} {
				require.ElementsMatch(f, c.want, f.listedIDs(c.s), name)
			}
		}},
		{"one row that cannot be read stops no listing", func(f *fixture) {
			if f.data.Corrupt == nil {
				f.Log("nothing in this store can become unreadable by itself")
				return
			}
			f.damage = true
			f.enqueue(msg("a"), msg("bad"), msg("c"))
			f.data.Corrupt(f.T, f.queue, "bad")
			var good []string
			bad := 0
			for l, err := range f.store.List(f.ctx, siding.Selection{Queue: f.queue}) {
				if err != nil {
					bad++
					continue
				}
				good = append(good, l.ID)
			}
			require.Equal(f, []string{"a", "c"}, good)
			require.Equal(f, 1, bad, "it is shown as what it is")
			seen := 0
			for _, err := range f.store.Check(f.ctx) {
				require.NoError(f, err)
				seen++
			}
			require.NotZero(f, seen)
			require.NotEmpty(f, f.lease(3), "and others are worked on")
		}},
		{"queues are counted apart, and sorted by name", func(f *fixture) {
			for _, q := range []string{"b", "c", "a"} {
				_, err := f.store.Enqueue(f.ctx, q, siding.EnqueueOptions{}, msg("x"), msg("y"))
				require.NoError(f, err)
			}
			all, err := f.store.Stats(f.ctx, "")
			require.NoError(f, err)
			require.Len(f, all, 3)
			for i, name := range []string{"a", "b", "c"} {
				require.Equal(f, name, all[i].Queue)
				require.EqualValues(f, 2, all[i].Ready)
			}
		}},
	}
}
