package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func leaseCases() []testCase {
	return []testCase{
		{"a delivery has all that a handler and a worker need", func(f *fixture) {
			m := msg("a")
			m.Source = &siding.Source{Ordinal: 2, File: "in.jsonl", Line: 3, Offset: 40, SourceHash: siding.Hash{9}}
			f.enqueue(m)
			f.clock.Advance(time.Second)
			l := f.leaseWith(f.request(1))
			require.Len(f, l.Deliveries, 1)
			d := l.Deliveries[0]
			require.Equal(f, "a", d.ID)
			require.Equal(f, f.queue, d.Queue)
			require.Equal(f, 1, d.Number)
			require.Equal(f, siding.StateLeased, d.State)
			require.NotZero(f, d.Token.Nonce)
			require.Equal(f, m.Source, d.Source)
			f.near(f.clock.Now(), l.Now)
			f.near(f.clock.Now(), d.StartedAt)
			f.near(f.clock.Now().Add(time.Minute), d.LeasedUntil)
			require.Equal(f, 1, l.InFlight)
			require.True(f, l.NextAt.IsZero())
			r := f.stateIs("a", siding.StateLeased)
			require.Equal(f, "w", r.Worker)
			require.True(f, d.LeasedUntil.Equal(r.LeasedUntil))
			require.Equal(f, 1, r.Deliveries)
		}},
		{"untried messages come by priority and then by age", func(f *fixture) {
			for i, p := range []int16{0, -5, 7, 0, 32767, -32768, 7} {
				m := msg(fmt.Sprint(i))
				m.Priority = p
				f.enqueue(m)
				f.clock.Advance(time.Second)
			}
			var got []string
			for range 7 {
				got = append(got, f.lease(1)[0].ID)
			}
			require.Equal(f, []string{"4", "2", "6", "0", "3", "1", "5"}, got)
		}},
		{"never more than asked for", func(f *fixture) {
			for i := range 5 {
				f.enqueue(msg(fmt.Sprint(i)))
			}
			require.Empty(f, f.lease(0))
			require.Len(f, f.lease(2), 2)
			l := f.leaseWith(f.request(2))
			require.Len(f, l.Deliveries, 2)
			require.Equal(f, 4, l.InFlight)
			require.False(f, l.NextAt.IsZero())
			require.False(f, l.NextAt.After(l.Now), "one could have been given")
			require.Len(f, f.lease(2), 1)
			require.Empty(f, f.lease(2), "a leased message is not leased again")
		}},
		{"a queue that nobody has written to is empty", func(f *fixture) {
			f.enqueue(msg("a"))
			r := f.request(1)
			r.Queue = f.queue + "-another"
			l := f.leaseWith(r)
			require.Empty(f, l.Deliveries)
			require.Zero(f, l.InFlight)
			require.True(f, l.NextAt.IsZero())
		}},
		{"while untried messages wait, retries are as few as asked for", func(f *fixture) {
			tried := map[string]bool{}
			for i := range 4 {
				id := fmt.Sprint("tried", i)
				tried[id] = true
				f.fail(f.leased(id), transient("no"))
			}
			f.clock.Advance(time.Minute)
			for i := range 10 {
				f.enqueue(msg(fmt.Sprint("new", i)))
			}
			for _, allowed := range []int{0, 1} {
				r := f.request(4)
				r.MaxRetries = allowed
				retries := 0
				ds := f.leaseWith(r).Deliveries
				require.Len(f, ds, 4)
				for _, d := range ds {
					if tried[d.ID] {
						retries++
					}
				}
				require.LessOrEqual(f, retries, allowed)
			}
		}},
		{"when no untried message waits, retries may use every slot", func(f *fixture) {
			for i := range 4 {
				f.fail(f.leased(fmt.Sprint(i)), transient("no"))
			}
			late := msg("late")
			late.NotBefore = f.clock.Now().Add(time.Hour)
			f.enqueue(late)
			f.clock.Advance(time.Minute)
			r := f.request(4)
			r.MaxRetries = 0
			require.Len(f, f.leaseWith(r).Deliveries, 4)
		}},
		{"a delayed retry is said to come due, and is given then", func(f *fixture) {
			f.fail(f.leased("a"), transient("no"))
			l := f.leaseWith(f.request(1))
			require.Empty(f, l.Deliveries)
			f.near(f.clock.Now().Add(2*time.Second), l.NextAt)
			f.clock.Advance(2*time.Second + time.Millisecond)
			d := f.leaseOne()
			require.Equal(f, 2, d.Number)
			require.Equal(f, 1, d.Attempt)
			require.Equal(f, "no", d.LastError.Text)
		}},
		{"an extended lease does not run out at its old time", func(f *fixture) {
			d := f.leased("a")
			f.clock.Advance(50 * time.Second)
			errs, err := f.store.Extend(f.ctx, time.Minute, d.Token)
			require.NoError(f, err)
			require.Equal(f, []error{nil}, errs)
			f.near(f.clock.Now().Add(time.Minute), f.get("a").LeasedUntil)
			f.clock.Advance(50 * time.Second)
			f.lease(0)
			f.stateIs("a", siding.StateLeased)
			f.clock.Advance(11 * time.Second)
			f.lease(0)
			f.stateIs("a", siding.StateReady)
		}},
		{"extending answers for each token on its own", func(f *fixture) {
			a := f.leased("a")
			b := f.leased("b")
			f.done(a, "1")
			wrong := b.Token
			wrong.Nonce++
			errs, err := f.store.Extend(f.ctx, time.Hour, a.Token, siding.LeaseToken{}, wrong, b.Token)
			require.NoError(f, err)
			require.Len(f, errs, 4)
			for i := range 3 {
				require.ErrorIs(f, errs[i], siding.ErrStaleLease)
			}
			require.NoError(f, errs[3])
			f.near(f.clock.Now().Add(time.Hour), f.get("b").LeasedUntil)
		}},
		{"a lost lease costs an interruption, and not an attempt", func(f *fixture) {
			d := f.leased("a")
			f.clock.Advance(time.Minute + time.Second)
			l := f.leaseWith(f.request(5))
			require.Empty(f, l.Deliveries, "not at once")
			require.Zero(f, l.InFlight)
			require.False(f, l.NextAt.Before(l.Now.Add(time.Second)), "ready after a second at the earliest")
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, 1, r.Interruptions)
			require.Zero(f, r.Attempt)
			require.Nil(f, r.LastError)
			require.False(f, r.Suspect)
			require.Len(f, r.History, 1)
			require.Equal(f, siding.OutcomeInterrupted, r.History[0].Outcome)
			require.Equal(f, siding.CauseLeaseLost, r.History[0].Error.Cause)
			require.True(f, d.StartedAt.Equal(r.History[0].StartedAt))
			f.stale(d)
			f.clock.Advance(2 * time.Second)
			require.NotEqual(f, d.Token, f.leaseOne().Token)
		}},
		{"leases that are lost again and again set the message aside at the limit", func(f *fixture) {
			f.policy.MaxInterruptions = 3
			f.enqueue(msg("a"))
			for n := 1; n <= 3; n++ {
				require.Len(f, f.lease(1), 1, n)
				f.clock.Advance(time.Minute + time.Second)
				f.lease(0)
				f.clock.Advance(time.Minute)
			}
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, siding.ReasonInterruptionsExhausted, r.Reason)
			require.Equal(f, siding.CauseLeaseLost, r.LastError.Cause)
			require.Equal(f, 3, r.Interruptions)
			require.Zero(f, r.Attempt)
		}},
		{"a settlement with the current token counts after its lease ran out", func(f *fixture) {
			d := f.leased("a")
			f.clock.Advance(time.Hour)
			f.done(d, `"slow"`)
			f.lease(0)
			r := f.stateIs("a", siding.StateDone)
			require.Zero(f, r.Interruptions)
			require.Zero(f, f.stats().StaleSettles)
		}},
		{"a settlement whose message was leased anew changes nothing, and is counted", func(f *fixture) {
			old := f.leased("a")
			f.clock.Advance(2 * time.Minute)
			f.lease(0)
			f.clock.Advance(2 * time.Second)
			d := f.leaseOne()
			before := f.get("a")
			f.stale(old)
			require.ErrorIs(f, f.settleWith(siding.Settlement{Token: old.Token, Failure: permanent("late")}).Err, siding.ErrStaleLease)
			require.Equal(f, before, f.get("a"))
			require.EqualValues(f, 2, f.stats().StaleSettles)
			f.done(d, `"r"`)
		}},
		{"a delivery settles once", func(f *fixture) {
			d := f.leased("a")
			f.fail(d, transient("no"))
			f.stale(d)
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, 1, r.Attempt)
			require.Len(f, r.History, 1)
			require.EqualValues(f, 1, f.stats().StaleSettles)
		}},
		{"a token that nobody was given settles nothing", func(f *fixture) {
			d := f.leased("a")
			wrong := d.Token
			wrong.Nonce++
			for _, token := range []siding.LeaseToken{{}, wrong, {Message: d.Token.Message}, {Message: -1, Nonce: d.Token.Nonce}} {
				require.ErrorIs(f, f.settleWith(siding.Settlement{Token: token}).Err, siding.ErrStaleLease)
			}
			f.stateIs("a", siding.StateLeased)
		}},
	}
}
