package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func gateCases() []testCase {
	return []testCase{
		{"open gates are in nobody's way", func(f *fixture) {
			f.numbered(0, 3)
			l := f.gated(2)
			require.Len(f, l.Deliveries, 2)
			require.Empty(f, l.Blocked)
			require.True(f, l.RetryAt.IsZero())
			for _, k := range f.keys().All() {
				require.Nil(f, f.gate(k), "looking at a gate leaves nothing behind")
			}
			out := f.through(l.Deliveries[0], nil)
			require.Nil(f, out.Failure)
			require.Equal(f, siding.StateDone, out.Decision.State)
			require.True(f, f.gate(f.keys().Recipe).Succeeded)
		}},
		{"a known fault closes the gate at first sight, and costs nothing", func(f *fixture) {
			for _, scope := range []siding.Scope{siding.ScopeAccount, siding.ScopeLane, siding.ScopeRecipe} {
				f.queue += "-" + string(scope)
				f.numbered(0, 4)
				ds := f.gated(2).Deliveries
				out := f.through(ds[0], heldFor(scope, siding.CauseCredentials, "the key\x1b[31m is not known"))
				require.Equal(f, siding.OutcomeHeld, out.Decision.Outcome)
				require.Equal(f, siding.OutcomeHeld, out.Failure.Outcome)
				l := f.shut()
				require.True(f, l.RetryAt.IsZero(), "nothing changes by itself")
				require.Equal(f, 1, l.InFlight, "what is in flight ends by itself")
				require.Len(f, l.Blocked, 1)
				require.Equal(f, scope, l.Blocked[0].Key.Scope)
				h := l.Blocked[0].Hold
				require.Equal(f, siding.HoldFault, h.Kind)
				require.Equal(f, siding.CauseCredentials, h.Cause)
				require.NotContains(f, h.Text, "\x1b")
				require.Equal(f, h, f.holdOf(l.Blocked[0].Key))
				r := f.stateIs(ds[0].ID, siding.StateReady)
				require.Zero(f, r.Attempt+r.Waits)
				f.near(f.clock.Now(), r.HeldAt)
				require.True(f, f.get(ds[1].ID).HeldAt.IsZero())
				f.through(ds[1], nil)
			}
		}},
		{"a gate is in the way of those only who name it", func(f *fixture) {
			f.numbered(0, 5)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeRecipe, siding.CauseConfiguration, "odd"))
			f.shut()
			require.Len(f, f.lease(1), 1, "who watches nothing goes on")
			r := f.request(1)
			r.Gates = f.keys()
			r.Gates.Recipe.Name += "2"
			l := f.leaseWith(r)
			require.Len(f, l.Deliveries, 1, "another recipe on the same lane goes on")
			require.Empty(f, l.Blocked)
			r.Gates = siding.GateKeys{Recipe: f.keys().Recipe}
			require.Empty(f, f.leaseWith(r).Deliveries)
			out := f.settleWith(siding.Settlement{Token: l.Deliveries[0].Token, Failure: heldFor(siding.ScopeLane, siding.CauseAccount, "x")})
			require.NoError(f, out.Err)
			require.Nil(f, f.holdOf(f.keys().Lane), "a settlement without gates closes none")
		}},
		{"queues that share a lane share its state", func(f *fixture) {
			f.numbered(0, 2)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeLane, siding.CauseModelNotFound, "no such model"))
			keys := f.keys()
			f.queue += "-other"
			f.numbered(0, 2)
			r := f.request(1)
			r.Gates.Lane = keys.Lane
			require.Empty(f, f.leaseWith(r).Deliveries)
		}},
		{"a gate outlives the processes, and is the same for all of them", func(f *fixture) {
			other := f.another()
			f.numbered(0, 3)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeAccount, siding.CauseAccount, "no credit"))
			want := f.gate(f.keys().Account)
			r := f.request(1)
			r.Gates = f.keys()
			l, err := other.Lease(f.ctx, r)
			require.NoError(f, err)
			require.Empty(f, l.Deliveries)
			require.Equal(f, []siding.Gate{*want}, l.Blocked)
			f.reopen()
			require.Equal(f, want, f.gate(f.keys().Account))
			f.shut()
		}},
		{"a rest lasts as long as the service asks, and one call ends it", func(f *fixture) {
			f.numbered(0, 10)
			ds := f.gated(3).Deliveries
			f.through(ds[1], transient("no"))
			f.through(ds[2], transient("no"))
			out := f.through(ds[0], throttled(171*time.Second))
			require.False(f, out.Failure.WaitCounts)
			f.near(f.clock.Now().Add(171*time.Second), f.shut().RetryAt)
			f.clock.Advance(170 * time.Second)
			f.shut()
			f.clock.Advance(2 * time.Second)
			l := f.gated(10)
			require.Len(f, l.Deliveries, 1, "one finds out")
			require.Equal(f, f.keys().Lane, l.Blocked[0].Key)
			require.Nil(f, l.Blocked[0].Hold)
			require.Nil(f, l.Blocked[0].Probe, "it is shown as it stood")
			require.Equal(f, l.Deliveries[0].Token, f.gate(f.keys().Lane).Probe.Token)
			require.True(f, f.shut().RetryAt.IsZero())
			f.through(l.Deliveries[0], nil)
			require.Len(f, f.gated(10).Deliveries, 9)
		}},
		{"a dated hold sends a probe when its date has come", func(f *fixture) {
			f.numbered(0, 10)
			until := f.now().Add(time.Hour)
			failure := heldFor(siding.ScopeAccount, siding.CauseAccount, "the month's limit is reached")
			failure.Until = until
			f.through(f.gated(1).Deliveries[0], failure)
			require.WithinDuration(f, until, f.shut().RetryAt, time.Microsecond)
			f.nudge()
			f.shut()
			f.clock.Advance(time.Hour + time.Second)
			d := f.probe()
			f.through(d, failure) // with a date that has passed by now
			require.True(f, f.shut().RetryAt.IsZero(), "which counts as none")
			f.nudge()
			f.through(f.probe(), nil)
			f.clock.Advance(time.Minute)
			require.Len(f, f.gated(10).Deliveries, 9)
		}},
		{"an outage sends probes one at a time, and the first success ends it", func(f *fixture) {
			f.outage()
			costs := 0
			for i := range 12 {
				costs += f.get(fmt.Sprint(900 + i)).Attempt
			}
			require.Equal(f, 4, costs, "what failed before the lane was known to be sick")
			f.clock.Advance(time.Minute)
			for n := range 4 {
				d := f.probe()
				f.shut()
				out := f.through(d, transient("no service"))
				require.Equal(f, siding.OutcomeHeld, out.Failure.Outcome)
				require.Equal(f, siding.ScopeLane, out.Failure.Scope)
				require.Equal(f, siding.OutcomeHeld, f.get(d.ID).History[d.Number-1].Outcome)
				require.Equal(f, n+1, f.holdOf(f.keys().Lane).Probes)
				require.True(f, f.shut().RetryAt.After(f.clock.Now().Add(900*time.Millisecond)))
				f.clock.Advance(20 * time.Second)
			}
			f.through(f.probe(), nil)
			require.Nil(f, f.holdOf(f.keys().Lane))
			require.Len(f, f.gated(20).Deliveries, 11)
		}},
		{"a message that has failed before says nothing of its lane", func(f *fixture) {
			f.policy.MaxRetries = 30
			d := f.leased("a")
			for n := range 15 {
				require.Equal(f, siding.OutcomeTransient, f.through(d, transient("no")).Failure.Outcome, n)
				f.clock.Advance(10 * time.Minute)
				d = f.leaseOne()
			}
			require.Equal(f, 1, f.gate(f.keys().Lane).Health.Counted)
		}},
		{"a probe is any of those that wait", func(f *fixture) {
			f.outage()
			f.numbered(0, 40)
			seen := map[string]bool{}
			for range 30 {
				f.clock.Advance(time.Minute)
				d := f.probe()
				seen[d.ID] = true
				f.through(d, transient("no service"))
			}
			require.Greater(f, len(seen), 8, "chosen by chance")
		}},
		{"a retry may be the probe too, but where untried messages go first", func(f *fixture) {
			f.policy.MaxRetries = 100
			f.outage()
			f.clock.Advance(time.Minute)
			retries := func(most int) (n int) {
				for range 30 {
					f.clock.Advance(time.Minute)
					r := f.request(5)
					r.Gates, r.Rand, r.MaxRetries = f.keys(), rand.Float64(), most
					ds := f.leaseWith(r).Deliveries
					require.Len(f, ds, 1)
					if ds[0].Attempt > 0 {
						n++
					}
					f.through(ds[0], interrupted(siding.CauseShutdown))
				}
				return n
			}
			require.NotZero(f, retries(-1)) // of twelve that wait, four have failed before
			require.Zero(f, retries(0))
		}},
		{"a message that has failed before may be the probe, where no other waits", func(f *fixture) {
			f.fail(f.leased("a"), transient("no"))
			require.NoError(f, f.store.HoldGate(f.ctx, f.keys().Lane, "x", "me"))
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Lane, false))
			f.numbered(0, 1)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeLane, siding.CauseModelNotFound, "gone"))
			require.NoError(f, f.cancelIfReady("000"))
			f.nudge()
			l := f.shut()
			require.WithinDuration(f, f.get("a").AvailableAt, l.RetryAt, 0, "when it comes due")
			f.clock.Advance(time.Minute)
			require.Equal(f, "a", f.probe().ID)
		}},
		{"a request for nothing says what is in the way, and sends no probe", func(f *fixture) {
			f.numbered(0, 2)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeLane, siding.CauseModelNotFound, "gone"))
			f.nudge()
			l := f.gated(0)
			require.Empty(f, l.Deliveries)
			require.Len(f, l.Blocked, 1)
			require.Nil(f, f.gate(f.keys().Lane).Probe)
			f.probe()
		}},
		{"a success from before the fault opens nothing", func(f *fixture) {
			f.numbered(0, 3)
			ds := f.gated(2).Deliveries
			f.clock.Advance(time.Second)
			f.through(ds[0], heldFor(siding.ScopeAccount, siding.CauseAccount, "no credit"))
			f.through(ds[1], nil)
			f.shut()
		}},
		{"what was done without a call says nothing of the service", func(f *fixture) {
			f.outage()
			f.clock.Advance(time.Minute)
			d := f.probe()
			before := *f.gate(f.keys().Lane)
			out := f.settleWith(siding.Settlement{Token: d.Token, Gates: f.keys(), NoCall: true})
			require.NoError(f, out.Err)
			require.Equal(f, siding.StateDone, out.Decision.State)
			after := *f.gate(f.keys().Lane)
			require.Equal(f, before.Health, after.Health)
			require.NotNil(f, after.Hold)
			failure := permanent("broken body")
			failure.NoCall = true
			d = f.probe() // another, at once
			f.through(d, failure)
			require.Nil(f, f.gate(f.keys().Recipe))
			f.stateIs(d.ID, siding.StateDead)
			f.probe()
		}},
		{"what another lane answered says nothing of this one", func(f *fixture) {
			f.outage()
			f.clock.Advance(time.Minute)
			before := *f.gate(f.keys().Lane)
			for _, failure := range []*siding.Failure{nil, transient("down too")} {
				d := f.probe() // another, at once
				require.NoError(f, f.settleWith(siding.Settlement{Token: d.Token, Gates: f.keys(), OtherLane: true, Failure: failure}).Err)
				after := *f.gate(f.keys().Lane)
				require.Equal(f, before.Health, after.Health)
				require.NotNil(f, after.Hold)
			}
		}},
		{"a probe whose lease is over without a settlement is forgotten", func(f *fixture) {
			f.numbered(0, 9)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeAccount, siding.CauseAccount, "no credit"))
			f.nudge()
			f.clock.Advance(time.Second)
			d := f.probe()
			f.shut()
			f.discard(d.ID)
			d = f.probe()
			f.clock.Advance(30 * time.Second)
			errs, err := f.store.Extend(f.ctx, time.Minute, d.Token)
			require.NoError(f, err)
			require.NoError(f, errs[0])
			f.clock.Advance(40 * time.Second)
			f.shut() // it is under way
			f.clock.Advance(30 * time.Second)
			d = f.probe() // the lease was lost
			// One that is settled by somebody who watches other gates has found nothing out about these.
			require.NoError(f, f.settleWith(siding.Settlement{Token: d.Token}).Err)
			f.through(f.probe(), nil)
			f.clock.Advance(2 * time.Second)
			require.Len(f, f.gated(20).Deliveries, 6)
		}},
		{"a probe that is cut off is followed by another", func(f *fixture) {
			f.numbered(0, 3)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeAccount, siding.CauseAccount, "no credit"))
			f.nudge()
			f.through(f.probe(), interrupted(siding.CauseShutdown))
			f.probe()
		}},
		{"waits are spent while the lane serves others, and the last trial is alone", func(f *fixture) {
			f.policy.MaxWaits = 2
			f.enqueue(msg("large"))
			large := f.gated(1).Deliveries[0]
			waits := func() int { return f.get("large").Waits }
			served := 0
			serve := func() {
				f.numbered(100+served, 1)
				served++
				l := f.gated(1)
				require.Len(f, l.Deliveries, 1)
				require.False(f, l.Deliveries[0].Solo)
				f.clock.Advance(time.Second)
				f.through(l.Deliveries[0], nil)
			}
			rest := func() { f.clock.Advance(20 * time.Minute) }
			f.through(large, throttled(0))
			require.Zero(f, waits(), "nobody was served meanwhile")
			rest()
			f.through(f.probe(), throttled(0))
			require.Zero(f, waits())
			require.NoError(f, f.store.HoldGate(f.ctx, f.keys().Lane, "to end the rest", "me"))
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Lane, false))
			for n := 1; n <= 2; n++ {
				serve()
				rest()
				out := f.through(f.gated(1).Deliveries[0], throttled(0))
				require.True(f, out.Failure.WaitCounts)
				require.Equal(f, n, waits())
				require.Equal(f, n == 2, f.get("large").Alone)
				require.NoError(f, f.store.HoldGate(f.ctx, f.keys().Lane, "to end the rest", "me"))
				require.NoError(f, f.store.Resume(f.ctx, f.keys().Lane, false))
			}
			serve()
			rest()
			last := f.gated(5).Deliveries
			require.Len(f, last, 1)
			require.True(f, last[0].Solo)
			f.through(last[0], throttled(0))
			require.Equal(f, siding.ReasonWaitsExhausted, f.stateIs("large", siding.StateDead).Reason)
			require.Equal(f, []error{nil}, f.redrive("large"))
			r := f.get("large")
			require.Zero(f, r.Waits)
			require.False(f, r.Alone)
			require.True(f, r.HeldAt.IsZero())
		}},
		{"settlements of one batch see each other's gates", func(f *fixture) {
			f.numbered(0, 6)
			var list []siding.Settlement
			for _, d := range f.gated(6).Deliveries {
				list = append(list, siding.Settlement{Token: d.Token, Failure: permanent("alike"), Policy: f.policy, Gates: f.keys()})
			}
			list = slices.Insert(list, 2, siding.Settlement{Token: siding.LeaseToken{Message: 1 << 40, Nonce: 1}, Gates: f.keys()})
			out, err := f.store.Settle(f.ctx, list...)
			require.NoError(f, err)
			var outcomes []siding.Outcome
			for i, one := range out {
				if i == 2 {
					require.ErrorIs(f, one.Err, siding.ErrStaleLease)
					continue
				}
				outcomes = append(outcomes, one.Failure.Outcome)
			}
			p, h := siding.OutcomePermanent, siding.OutcomeHeld
			require.Equal(f, []siding.Outcome{p, p, p, p, h, h}, outcomes)
			require.EqualValues(f, 6, f.stats().Ready)
			require.Len(f, f.gate(f.keys().Recipe).Streaks[0].Members, 6)
		}},
	}
}
