package storetest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func budgetCases() []testCase {
	within := func(d *siding.Delivery, n byte, budget siding.Money) siding.CallRequest {
		r := ask(d, n) // 1000 at most, 300 when answered
		r.Budget = budget
		return r
	}
	return []testCase{
		{"a call that could exceed the budget is held, and one that reaches it is not", func(f *fixture) {
			d := f.leased("a")
			out := f.startWith(within(d, 1, 999))
			require.True(f, out.Held)
			require.Zero(f, out.Spent)
			require.Empty(f, f.calls("a"), "nothing was reserved")
			require.Zero(f, f.stats().UnknownMax)
			f.asked(within(d, 1, 1000), "x")
			out = f.startWith(within(d, 2, 1299))
			require.True(f, out.Held)
			require.EqualValues(f, 300, out.Spent)
			f.asked(within(d, 2, 1300), "x")
		}},
		{"calls that are under way or unknown count with their worst case, and refused ones do not", func(f *fixture) {
			d := f.leased("a")
			id := f.start(within(d, 1, 1000))
			out := f.startWith(within(d, 2, 1999))
			require.True(f, out.Held)
			require.EqualValues(f, 1000, out.Spent)
			f.end(siding.CallEnd{Call: id, Fate: siding.FateUnknown})
			require.True(f, f.startWith(within(d, 2, 1999)).Held)
			f.end(answered(id, "x"))
			second := f.start(within(d, 2, 1999))
			f.end(siding.CallEnd{Call: second, Fate: siding.FateRefused})
			f.start(within(d, 2, 1300))
		}},
		{"the budget is the queue's, whatever message spends it", func(f *fixture) {
			f.asked(ask(f.leased("a"), 1), "x")
			b := f.leased("b")
			require.True(f, f.startWith(within(b, 1, 1299)).Held)
			queue := f.queue
			f.queue += "-other"
			f.start(within(f.leased("c"), 1, 1000))
			f.queue = queue
			f.start(within(b, 1, 1300))
			f.discard("a")
			require.EqualValues(f, 1300, f.startWith(within(b, 2, 1)).Spent, "what is gone was paid all the same")
		}},
		{"an answer that is there costs nothing", func(f *fixture) {
			d := f.leased("a")
			f.asked(ask(d, 1), "x")
			require.NotNil(f, f.startWith(within(d, 1, 1)).Answer)
			r := within(d, 1, 1)
			r.Rejected = []siding.CallID{f.calls("a")[0].ID}
			require.True(f, f.startWith(r).Held)
			require.Equal(f, siding.VerdictRejected, f.calls("a")[0].Verdict, "and is judged all the same")
		}},
		{"a request that is under way, or whose fate forbids it, is told as such", func(f *fixture) {
			d := f.leased("a")
			id := f.start(ask(d, 1))
			require.False(f, f.startWith(within(d, 1, 1)).BusyUntil.IsZero())
			f.end(siding.CallEnd{Call: id, Fate: siding.FateUnknown})
			r := within(d, 1, 1)
			r.OnUnknown = siding.UnknownQuarantine
			out := f.startWith(r)
			require.Equal(f, 1, out.Unknown)
			require.False(f, out.Held)
			require.True(f, f.startWith(within(d, 1, 1)).Held)
		}},
		{"no budget is no limit, and what has no price is in no sum", func(f *fixture) {
			d := f.leased("a")
			r := within(d, 1, 0)
			r.WorstCost = math.MaxInt64
			f.end(siding.CallEnd{Call: f.start(r), Fate: siding.FateUnknown})
			out := f.startWith(within(d, 2, math.MaxInt64-1))
			require.True(f, out.Held)
			require.EqualValues(f, math.MaxInt64, out.Spent)
			f.queue += "-other"
			d = f.leased("b")
			r = within(d, 1, 10)
			r.Priced = false
			f.end(siding.CallEnd{Call: f.start(r), Fate: siding.FateAnswered, Answer: []byte("x"), Priced: false})
			r = within(d, 2, 1000)
			f.start(r)
		}},
		{"a lease that is not held asks for nothing, whatever the budget", func(f *fixture) {
			d := f.leased("a")
			f.done(d, "1")
			_, err := f.store.StartCall(f.ctx, within(d, 1, 1))
			require.ErrorIs(f, err, siding.ErrStaleLease)
		}},
	}
}
