package storetest

import (
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func moneyCases() []testCase {
	return []testCase{
		{"what calls cost adds up exactly, by queue and by input", func(f *fixture) {
			in := f.begin("key")
			f.enqueueWith(siding.EnqueueOptions{Input: in}, msg("a"), msg("b"))
			f.enqueue(msg("outside"))
			byID := map[string]*siding.Delivery{}
			for _, d := range f.lease(3) {
				byID[d.ID] = d
			}
			for n, id := range []string{"a", "a", "b", "outside"} {
				e := answered(f.start(ask(byID[id], byte(n))), "x")
				e.Cost = siding.Money(math.MaxInt32)*1000 + siding.Money(n)
				f.end(e)
			}
			st, sum := f.stats(), f.inputStats(in)
			each := siding.Money(math.MaxInt32) * 1000
			require.Equal(f, 4*each+0+1+2+3, st.Cost)
			require.EqualValues(f, 4, st.Calls)
			require.Equal(f, 3*each+0+1+2, sum.Cost)
			require.EqualValues(f, 3, sum.Calls)
			require.Equal(f, siding.Usage{Input: 30, Output: 15}, sum.Usage)
			require.Zero(f, st.UnknownCalls+st.UnpricedCalls+sum.UnknownCalls+sum.UnpricedCalls)
			require.Zero(f, st.UnknownMax+sum.UnknownMax)
			members := f.members(in, siding.MemberOptions{})
			require.Equal(f, 2*each+1, members[0].Cost)
			require.EqualValues(f, 2, members[0].Calls)
			require.Equal(f, siding.Usage{Input: 20, Output: 10}, members[0].Usage)
		}},
		{"a call that may have been billed counts with its worst case", func(f *fixture) {
			in := f.begin("key")
			f.enqueueWith(siding.EnqueueOptions{Input: in}, msg("a"))
			d := f.leaseOne()
			id := f.start(ask(d, 1))
			check := func(unknown int64, most siding.Money) {
				f.Helper()
				st, sum := f.stats(), f.inputStats(in)
				require.Equal(f, unknown, st.UnknownCalls)
				require.Equal(f, unknown, sum.UnknownCalls)
				require.Equal(f, most, st.UnknownMax)
				require.Equal(f, most, sum.UnknownMax)
			}
			check(1, 1000) // it is under way, and nobody knows yet
			f.end(siding.CallEnd{Call: id, Fate: siding.FateUnknown})
			check(1, 1000)
			second := f.start(ask(d, 1))
			f.end(siding.CallEnd{Call: second, Fate: siding.FateUnknown})
			check(2, 2000)
			f.end(answered(second, "x"))
			check(1, 1000)
			require.EqualValues(f, 300, f.stats().Cost)
		}},
		{"what was refused or not sent costs nothing", func(f *fixture) {
			d := f.leased("a")
			for n, fate := range []siding.Fate{siding.FateRefused, siding.FateUnsent} {
				f.end(siding.CallEnd{Call: f.start(ask(d, byte(n))), Fate: fate})
			}
			st := f.stats()
			require.EqualValues(f, 2, st.Calls)
			require.Zero(f, st.Cost+st.UnknownMax)
			require.Zero(f, st.UnknownCalls+st.UnpricedCalls)
		}},
		{"what has no price is counted, and is in no sum", func(f *fixture) {
			in := f.begin("key")
			f.enqueueWith(siding.EnqueueOptions{Input: in}, msg("a"))
			d := f.leaseOne()
			r := ask(d, 1)
			r.Priced = false
			e := answered(f.start(r), "x")
			e.Priced, e.Cost = false, 12345
			f.end(e)
			r = ask(d, 2)
			r.Priced = false
			f.end(siding.CallEnd{Call: f.start(r), Fate: siding.FateUnknown})
			st, sum := f.stats(), f.inputStats(in)
			for _, got := range [][4]int64{
				{st.UnpricedCalls, st.UnknownCalls, int64(st.Cost), int64(st.UnknownMax)},
				{sum.UnpricedCalls, sum.UnknownCalls, int64(sum.Cost), int64(sum.UnknownMax)},
			} {
				require.Equal(f, [4]int64{1, 1, 0, 0}, got)
			}
			require.EqualValues(f, 1, f.members(in, siding.MemberOptions{})[0].UnpricedCalls)
		}},
		{"the calls of a message stay in the sums whatever becomes of it", func(f *fixture) {
			for n, end := range []func(d *siding.Delivery, id siding.CallID){
				func(d *siding.Delivery, id siding.CallID) { f.judged(d, id, true, nil) },
				func(d *siding.Delivery, id siding.CallID) {
					f.judged(d, id, false, permanent("no"))
					f.redrive(d.ID)
					f.discard(d.ID)
				},
				func(d *siding.Delivery, id siding.CallID) {
					f.judged(d, id, false, permanent("no"))
					f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: d.ID, Body: []byte("2")})
					f.discard(d.ID)
				},
			} {
				d := f.leased(fmt.Sprint(n))
				end(d, f.asked(ask(d, 1), "x"))
			}
			require.EqualValues(f, 900, f.stats().Cost)
			require.EqualValues(f, 3, f.stats().Calls)
		}},
	}
}
