package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func gateRaceCases() []testCase {
	settle := func(f *fixture, s siding.Store, token siding.LeaseToken, failure *siding.Failure) (siding.Outcome, error) {
		out, err := s.Settle(f.ctx, siding.Settlement{Token: token, Failure: failure, Policy: f.policy, Gates: f.keys()})
		if err != nil {
			return "", err
		}
		return out[0].Decision.Outcome, out[0].Err
	}
	return []testCase{
		{"however many settle at once, the gate sees each of them", func(f *fixture) {
			f.numbered(0, contestants)
			ds := f.gated(contestants).Deliveries
			got := contest(f, func(s siding.Store, i int) (siding.Outcome, error) {
				return settle(f, s, ds[i].Token, permanent("no such field"))
			})
			require.Equal(f, map[siding.Outcome]int{siding.OutcomePermanent: 4, siding.OutcomeHeld: contestants - 4}, tally(got))
			g := f.gate(f.keys().Recipe)
			require.NotNil(f, g.Hold)
			require.Len(f, g.Streaks, 1)
			require.Len(f, g.Streaks[0].Members, contestants)
			for _, d := range ds {
				f.letGoAs(d.ID)
			}
			require.Equal(f, contestants, f.gate(f.keys().Lane).Health.Counted)
		}},
		{"of all who ask, one gets the probe", func(f *fixture) {
			f.numbered(0, contestants+1)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeAccount, siding.CauseAccount, "no credit"))
			f.nudge()
			got := contest(f, func(s siding.Store, _ int) ([]*siding.Delivery, error) {
				r := f.request(3)
				r.Gates = f.keys()
				l, err := s.Lease(f.ctx, r)
				return l.Deliveries, err
			})
			var all []*siding.Delivery
			for _, ds := range got {
				all = append(all, ds...)
			}
			require.Len(f, all, 1)
			require.Equal(f, all[0].Token, f.gate(f.keys().Account).Probe.Token)
		}},
		{"a success and a streak that end at once leave every message charged or not, and none in between", func(f *fixture) {
			f.numbered(0, contestants)
			ds := f.gated(contestants).Deliveries
			contest(f, func(s siding.Store, i int) (siding.Outcome, error) {
				if i == 0 {
					return settle(f, s, ds[i].Token, nil)
				}
				return settle(f, s, ds[i].Token, permanent("no such field"))
			})
			held := f.holdOf(f.keys().Recipe) != nil
			for _, d := range ds[1:] {
				r := f.get(d.ID)
				require.Equal(f, r.State == siding.StateDead, r.Attempt == 1)
				require.Equal(f, r.State == siding.StateReady, r.History[0].Outcome == siding.OutcomeHeld)
				if held {
					require.NotNil(f, f.gate(f.keys().Recipe).Streaks)
				}
			}
		}},
		{"a hold is resumed by one, and its members are convicted once", func(f *fixture) {
			f.systemic(0)
			got := contest(f, func(s siding.Store, _ int) (string, error) {
				return outcome(s.Resume(f.ctx, f.keys().Recipe, true)), nil
			})
			require.Equal(f, map[string]int{"won": 1, siding.ErrNotFound.Error(): contestants - 1}, tally(got))
			f.convicted("000", siding.OutcomePermanent)
			f.convicted("001", siding.OutcomeGray)
		}},
		{"the budget is kept by all together", func(f *fixture) {
			f.numbered(0, contestants)
			ds := f.lease(contestants)
			got := contest(f, func(s siding.Store, i int) (string, error) {
				r := ask(ds[i], 1)
				r.Budget = 3500 // for three at most
				out, err := s.StartCall(f.ctx, r)
				if out.Held {
					return "held", err
				}
				return fmt.Sprint(out.Call != 0), err
			})
			require.Equal(f, map[string]int{"true": 3, "held": contestants - 3}, tally(got))
		}},
		{"with everything at once and gates in the way, every message ends once", func(f *fixture) { storm(f, f.keys(), meddleWithGates) }},
	}
}

func aloneRaceCases() []testCase {
	return []testCase{
		{"of all who ask, one in each process gets a suspect", func(f *fixture) {
			f.suspects("a", "b", "c", "d", "e")
			got := contest(f, func(s siding.Store, _ int) (int, error) {
				l, err := s.Lease(f.ctx, f.request(3))
				return len(l.Deliveries), err
			})
			require.Equal(f, map[int]int{1: 2, 0: contestants - 2}, tally(got))
			require.Equal(f, 1, got[0]+got[2]+got[4]+got[6])
		}},
	}
}
