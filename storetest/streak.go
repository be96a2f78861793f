package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func streakCases() []testCase {
	member := func(i int) string { return fmt.Sprintf("%03d", i) }
	return []testCase{
		{"five that fail alike hold the recipe, and are taken back", func(f *fixture) {
			f.numbered(0, 5)
			ds := f.gated(5).Deliveries
			for i, d := range ds[:4] {
				failure := permanent("no such field")
				if i == 1 {
					failure.Outcome = siding.OutcomeGray
				}
				out := f.through(d, failure)
				require.Equal(f, failure.Outcome, out.Failure.Outcome)
			}
			f.stateIs("000", siding.StateDead)
			require.EqualValues(f, 3, f.stats().Dead)
			out := f.alike(ds[4])
			require.Equal(f, siding.OutcomeHeld, out.Failure.Outcome)
			require.Equal(f, siding.ScopeRecipe, out.Failure.Scope)
			require.Equal(f, siding.StateReady, out.Decision.State)
			now := f.now()
			for i := range 5 {
				f.letGoAs(member(i))
				if i < 4 {
					f.near(now, f.get(member(i)).AvailableAt)
				}
			}
			st := f.stats()
			require.EqualValues(f, 5, st.Ready)
			require.Zero(f, st.Dead+st.Retrying)
			require.Empty(f, st.Causes)
			require.Len(f, f.gate(f.keys().Recipe).Streaks[0].Members, 5)
		}},
		{"a member that has gone on is not taken back", func(f *fixture) {
			f.policy.GrayRetries = 3
			f.numbered(0, 5)
			ds := f.gated(5).Deliveries
			for _, d := range ds[:4] {
				f.through(d, gray("no such field"))
			}
			f.clock.Advance(30 * time.Second)
			again := map[string]*siding.Delivery{}
			for _, d := range f.lease(3) {
				again[d.ID] = d
			}
			f.fail(again["000"], interrupted(siding.CauseShutdown))
			f.fail(again["001"], gray("something else"))
			var want []*siding.Record // the third is in flight
			for i := range 3 {
				want = append(want, f.get(member(i)))
			}
			f.through(ds[4], gray("no such field"))
			require.NotNil(f, f.holdOf(f.keys().Recipe))
			for _, w := range want {
				require.Equal(f, w, f.get(w.ID))
			}
			f.letGoAs("003")
			f.letGoAs("004")
		}},
		{"one that was redriven or superseded, and not yet handed over again, is not taken back either", func(f *fixture) {
			f.numbered(0, 5)
			ds := f.gated(5).Deliveries
			for _, d := range ds[:4] {
				f.alike(d)
			}
			f.redrive(ds[0].ID)
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: ds[1].ID, Body: []byte("2")})
			f.discard(ds[2].ID)
			want := []*siding.Record{f.get(ds[0].ID), f.get(ds[1].ID), f.get(ds[2].ID)}
			f.alike(ds[4])
			for i, w := range want {
				require.Equal(f, w, f.get(ds[i].ID))
			}
			f.letGoAs(ds[3].ID)
			// And what is held for none of it is convicted of none of it.
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Recipe, true))
			for i, w := range want {
				require.Equal(f, w, f.get(ds[i].ID))
			}
			f.convicted(ds[3].ID, siding.OutcomePermanent)
		}},
		{"one that was superseded by a body set aside at once keeps that body's fault", func(f *fixture) {
			f.numbered(0, 5)
			ds := f.gated(5).Deliveries
			for _, d := range ds[:4] {
				f.alike(d)
			}
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{
				ID: ds[0].ID, Body: []byte("3"), Dead: permanent("a fault of its own"),
			})
			want := f.get(ds[0].ID)
			f.alike(ds[4])
			require.Equal(f, want, f.get(ds[0].ID))
			f.letGoAs(ds[1].ID)
		}},
		{"one that has expired since stays so", func(f *fixture) {
			f.numbered(1, 4)
			m := msg("000")
			m.ExpiresAt = f.clock.Now().Add(time.Second)
			f.enqueue(m)
			byID := map[string]*siding.Delivery{}
			for _, d := range f.gated(5).Deliveries {
				byID[d.ID] = d
			}
			f.through(byID["000"], &siding.Failure{
				Outcome: siding.OutcomeGray, Cause: siding.CauseInvalidRequest, Err: permanent("no such field").Err,
			})
			f.clock.Advance(2 * time.Second)
			f.lease(0)
			want := f.stateIs("000", siding.StateDead)
			require.Equal(f, siding.ReasonExpired, want.Reason)
			for i := 1; i < 5; i++ {
				f.alike(byID[member(i)])
			}
			require.Equal(f, want, f.get("000"))
			f.letGoAs("001")
		}},
		{"a failure that the policy calls gray is taken back and counted as one", func(f *fixture) {
			f.policy.Gray = []siding.Cause{siding.CauseInvalidRequest}
			f.numbered(0, 6)
			ds := f.gated(5).Deliveries
			for _, d := range ds {
				f.alike(d)
			}
			for i := range 5 {
				f.letGoAs(member(i))
			}
			f.through(f.probe(), nil)
			for i := range 5 {
				f.convicted(member(i), siding.OutcomeGray)
			}
		}},
		{"probes are messages that nobody has tried, and a success convicts the members", func(f *fixture) {
			f.numbered(100, 1)
			f.fail(f.leaseOne(), transient("no"))
			f.systemic(1)
			f.clock.Advance(time.Minute)
			d := f.probe()
			require.Equal(f, "005", d.ID)
			f.shut()
			f.clock.Advance(time.Second)
			f.through(d, nil)
			require.Nil(f, f.holdOf(f.keys().Recipe))
			for i := range 5 {
				o := siding.OutcomePermanent
				if i == 1 || i == 2 {
					o = siding.OutcomeGray
				}
				f.convicted(member(i), o)
			}
			st := f.stats()
			require.EqualValues(f, 3, st.Dead)
			require.EqualValues(f, 3, st.Retrying)
			require.EqualValues(f, 3, st.Causes[0].Count)
			require.Equal(f, []string{"100"}, ids(f.gated(9).Deliveries))
		}},
		{"a member that has gone on is not convicted", func(f *fixture) {
			expiring := msg("expires")
			expiring.ExpiresAt = f.clock.Now().Add(10 * time.Second)
			f.numbered(0, 4)
			f.enqueue(expiring)
			ds := f.gated(5).Deliveries
			for _, d := range ds {
				f.alike(d)
			}
			f.clock.Advance(3 * time.Second)
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "000", Body: []byte("2")})
			f.discard("001")
			in := f.lease(2) // by somebody who watches no gates
			require.Len(f, in, 2)
			for _, d := range in {
				if d.ID == "002" {
					f.fail(d, interrupted(siding.CauseShutdown))
				} else {
					f.done(d, "1")
				}
			}
			f.clock.Advance(20 * time.Second)
			f.lease(0)
			f.stateIs("expires", siding.StateDead)
			var want []*siding.Record
			for _, d := range ds {
				if d.ID != "003" {
					want = append(want, f.get(d.ID))
				}
			}
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Recipe, true))
			for _, w := range want {
				require.Equal(f, w, f.get(w.ID))
			}
		}},
		{"after probes that failed too, a success lets the members go", func(f *fixture) {
			f.systemic(2)
			f.alike(f.probe())
			f.clock.Advance(time.Minute)
			f.through(f.probe(), nil)
			require.Nil(f, f.holdOf(f.keys().Recipe))
			for i := range 5 {
				f.letGoAs(member(i))
			}
			f.clock.Advance(time.Minute)
			require.Len(f, f.gated(9).Deliveries, 6)
		}},
		{"a recipe that has never succeeded stays held after twenty probes, and nothing is set aside", func(f *fixture) {
			f.systemic(40)
			for range 20 {
				f.alike(f.probe())
			}
			l := f.shut()
			require.True(f, l.RetryAt.IsZero())
			h := f.holdOf(f.keys().Recipe)
			require.True(f, h.Stuck)
			require.Equal(f, 20, h.Probes)
			f.clock.Advance(24 * time.Hour)
			f.shut()
			st := f.stats()
			require.EqualValues(f, 45, st.Ready)
			require.Zero(f, st.Dead+st.Retrying)

			f.nudge() // a new start finds out whether it is mended
			f.alike(f.probe())
			f.shut()
			f.nudge()
			f.through(f.probe(), nil)
			require.EqualValues(f, 44, f.stats().Ready)
			f.clock.Advance(time.Minute)
			require.Len(f, f.gated(50).Deliveries, 44)
		}},
		{"when the untried are used up, a recipe that has succeeded goes on without its members", func(f *fixture) {
			f.succeeded()
			f.numbered(100, 1)
			f.fail(f.leaseOne(), transient("no"))
			f.systemic(2)
			f.alike(f.probe())
			require.True(f, f.shut().RetryAt.After(f.now()))
			f.clock.Advance(time.Minute)
			f.alike(f.probe())
			f.clock.Advance(time.Minute)
			l := f.gated(9)
			require.Equal(f, []string{"100"}, ids(l.Deliveries), "at once")
			require.Empty(f, l.Blocked)
			require.Nil(f, f.holdOf(f.keys().Recipe))
			for i, o := range []siding.Outcome{"", "g", "g", "", "", "", ""} {
				if o == "" {
					f.convicted(member(i), siding.OutcomePermanent)
				} else {
					f.convicted(member(i), siding.OutcomeGray)
				}
			}
		}},
		{"when the untried are used up, a recipe that has never succeeded stays held", func(f *fixture) {
			f.systemic(1)
			f.alike(f.probe())
			l := f.shut()
			require.True(f, l.RetryAt.IsZero())
			require.True(f, l.Blocked[0].Hold.Stuck)
			require.EqualValues(f, 6, f.stats().Ready)
		}},
		{"nothing is concluded while a message is in flight or still to come", func(f *fixture) {
			f.succeeded()
			f.numbered(100, 1)
			out := f.gated(1).Deliveries
			late := msg("late")
			late.NotBefore = f.clock.Now().Add(time.Hour)
			f.enqueue(late)
			f.systemic(0)
			l := f.shut()
			require.WithinDuration(f, f.get("late").AvailableAt, l.RetryAt, 0)
			f.discard("late")
			require.True(f, f.shut().RetryAt.IsZero())
			require.NotNil(f, f.holdOf(f.keys().Recipe))
			f.alike(out[0])
			late.ID = "later"
			f.enqueue(late)
			require.WithinDuration(f, f.get("later").AvailableAt, f.shut().RetryAt, 0)
			require.NotNil(f, f.holdOf(f.keys().Recipe), "it may say whether the fault has ended")
			f.discard("later")
			require.NotEmpty(f, f.gated(0).Blocked, "and a request for nothing concludes nothing")
			require.NotNil(f, f.holdOf(f.keys().Recipe))
			l = f.gated(9)
			require.Nil(f, f.holdOf(f.keys().Recipe))
			require.Empty(f, l.Deliveries)
			f.stateIs("100", siding.StateDead)
		}},
		{"a gray probe that ends the hold is charged once", func(f *fixture) {
			f.succeeded()
			f.systemic(30)
			var last *siding.Delivery
			for range 20 {
				last = f.probe()
				failure := permanent("no such field")
				failure.Outcome = siding.OutcomeGray
				out := f.through(last, failure)
				f.clock.Advance(time.Minute)
				if out.Failure.Outcome == siding.OutcomeGray {
					break
				}
				f.letGoAs(last.ID)
			}
			r := f.get(last.ID)
			require.Equal(f, 1, r.Attempt)
			require.Equal(f, 1, r.Gray)
			require.Nil(f, f.holdOf(f.keys().Recipe))
			require.EqualValues(f, 3, f.stats().Dead)
			require.EqualValues(f, 22, f.stats().Retrying)
		}},
		{"an operator may call them poison, once and for all", func(f *fixture) {
			f.systemic(6)
			d := f.probe()
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Recipe, true))
			require.Nil(f, f.holdOf(f.keys().Recipe))
			f.convicted("000", siding.OutcomePermanent)
			f.convicted("001", siding.OutcomeGray)
			out := f.alike(d)
			require.Equal(f, siding.OutcomePermanent, out.Failure.Outcome)
			for _, d := range f.gated(9).Deliveries {
				f.alike(d)
				f.stateIs(d.ID, siding.StateDead)
			}
			require.Nil(f, f.holdOf(f.keys().Recipe))
		}},
		{"an operator may let them go", func(f *fixture) {
			f.systemic(1)
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Recipe, false))
			for i := range 5 {
				f.letGoAs(member(i))
			}
			f.clock.Advance(time.Minute)
			require.Len(f, f.gated(9).Deliveries, 6)
		}},
		{"a relapse after a redrive holds nothing", func(f *fixture) {
			for i := range 6 {
				f.dead(member(i))
			}
			for i := range 6 {
				f.redrive(member(i))
			}
			for _, d := range f.gated(6).Deliveries {
				require.Equal(f, siding.OutcomePermanent, f.alike(d).Failure.Outcome)
			}
			require.Nil(f, f.holdOf(f.keys().Recipe))
		}},
		{"a hold of one recipe stops no other on the same lane", func(f *fixture) {
			f.systemic(3)
			f.probe()
			f.shut()
			r := f.request(2)
			r.Gates = f.keys()
			r.Gates.Recipe.Name = f.queue + "@d2"
			require.Len(f, f.leaseWith(r).Deliveries, 2)
		}},
	}
}
