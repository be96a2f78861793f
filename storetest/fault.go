package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// faultyWrite is a write that is made to fail, and what of the store shows whether it was done.
type faultyWrite struct {
	op string
	// ready brings about what the write needs, and gives the write. Called again after a fault, the write must come to its
	// end; repeated says that its reply may have been lost, so that it may find its work done.
	ready func(f *fixture) func(repeated bool) error
	// shows gives something that is different once the write has been done.
	shows func(f *fixture) any
}

// faultyWrites has every method that writes.
func faultyWrites() []faultyWrite {
	first := func(errs []error, err error, allowed error, repeated bool) error {
		if err != nil {
			return err
		}
		if repeated && outcome(errs[0]) == allowed.Error() {
			return nil
		}
		return errs[0]
	}
	message := func(f *fixture) any {
		r := f.get("a")
		r.AvailableAt, r.LeasedUntil = time.Time{}, time.Time{}
		return r
	}
	campaigns := func(f *fixture) any {
		all, err := f.store.Campaigns(f.ctx)
		require.NoError(f, err)
		st := f.stats()
		out := []any{st.Ready, st.Dead}
		for _, c := range all {
			if c.Plan.Selection.Queue == f.queue {
				out = append(out, c, f.membersOf(c.ID))
			}
		}
		return out
	}
	streak := func(f *fixture) any {
		out := []any{f.gate(f.keys().Recipe)}
		for i := range 5 {
			out = append(out, f.get(fmt.Sprintf("%03d", i)))
		}
		return out
	}
	leaseGated := func(f *fixture) func(bool) error {
		return func(bool) error {
			r := f.request(5)
			r.Gates = f.keys()
			_, err := f.store.Lease(f.ctx, r)
			return err
		}
	}
	return []faultyWrite{
		{"Enqueue", func(f *fixture) func(bool) error {
			f.enqueue(msg("other"))
			return func(bool) error {
				out, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg("a"), msg("b"))
				if err != nil {
					return err
				}
				return out[0].Err
			}
		}, func(f *fixture) any { return f.listedIDs(siding.Selection{Queue: f.queue}) }},
		{"Enqueue", func(f *fixture) func(bool) error { // into an input, with everything that can happen there
			f.in = f.begin("key")
			return func(bool) error {
				_, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Input: f.in},
					record(0, "a", "1"), record(1, "a", "2"), record(2, "", "3"), record(3, "", "3"), record(4, "a", "1"))
				return err
			}
		}, func(f *fixture) any {
			return []any{f.listedIDs(siding.Selection{Queue: f.queue}), f.members(f.in, siding.MemberOptions{}), f.inputStats(f.in)}
		}},
		{"Lease", func(f *fixture) func(bool) error {
			f.enqueue(msg("a"))
			return func(bool) error {
				_, err := f.store.Lease(f.ctx, f.request(1))
				return err
			}
		}, message},
		{"Lease", func(f *fixture) func(bool) error { // with a lease that has run out, and a message that has expired
			expiring := msg("expiring")
			expiring.ExpiresAt = f.clock.Now().Add(time.Second)
			f.leased("a")
			f.enqueue(expiring)
			f.clock.Advance(time.Hour)
			return func(bool) error {
				_, err := f.store.Lease(f.ctx, f.request(0))
				return err
			}
		}, func(f *fixture) any { return []any{message(f), f.get("expiring").State} }},
		{"Extend", func(f *fixture) func(bool) error {
			d := f.leased("a")
			return func(repeated bool) error {
				errs, err := f.store.Extend(f.ctx, time.Hour, d.Token)
				return first(errs, err, siding.ErrStaleLease, repeated)
			}
		}, func(f *fixture) any { return f.get("a").LeasedUntil.Sub(f.clock.Now()) > 30*time.Minute }},
		{"Settle", func(f *fixture) func(bool) error {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			return func(repeated bool) error {
				out, err := f.store.Settle(f.ctx, siding.Settlement{
					Token: d.Token, Policy: f.policy, Result: []byte("1"), Judged: []siding.Judgement{{Call: id, Accepted: true}},
				})
				if err != nil {
					return err
				}
				return first([]error{out[0].Err}, nil, siding.ErrStaleLease, repeated)
			}
		}, message},
		{"Settle", func(f *fixture) func(bool) error { // setting aside, with another body waiting
			d := f.leased("a")
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "a", Body: []byte("2")})
			return func(repeated bool) error {
				out, err := f.store.Settle(f.ctx, siding.Settlement{Token: d.Token, Policy: f.policy, Failure: permanent("no")})
				if err != nil {
					return err
				}
				return first([]error{out[0].Err}, nil, siding.ErrStaleLease, repeated)
			}
		}, message},
		{"StartCall", func(f *fixture) func(bool) error {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			r := ask(d, 1)
			r.Rejected = []siding.CallID{id}
			return func(bool) error {
				_, err := f.store.StartCall(f.ctx, r)
				return err
			}
		}, message},
		{"EndCall", func(f *fixture) func(bool) error {
			id := f.start(ask(f.leased("a"), 1))
			return func(bool) error { return f.store.EndCall(f.ctx, answered(id, "x")) }
		}, message},
		{"Redrive", func(f *fixture) func(bool) error {
			f.dead("a")
			return func(repeated bool) error {
				errs, err := f.store.Redrive(f.ctx, f.queue, "a")
				return first(errs, err, siding.ErrWrongState, repeated)
			}
		}, message},
		{"Discard", func(f *fixture) func(bool) error {
			f.leased("a")
			return func(repeated bool) error {
				errs, err := f.store.Discard(f.ctx, f.queue, "why", "a")
				return first(errs, err, siding.ErrWrongState, repeated)
			}
		}, message},
		{"BeginInput", func(f *fixture) func(bool) error {
			f.in = f.begin("other key")
			return func(bool) error {
				_, err := f.store.BeginInput(f.ctx, f.queue, "key")
				return err
			}
		}, func(f *fixture) any { return f.later(f.in) }},
		{"SealInput", func(f *fixture) func(bool) error {
			in := f.begin("key")
			f.read(in, record(0, "a", "1"))
			return func(bool) error { return f.store.SealInput(f.ctx, in) }
		}, func(f *fixture) any {
			_, err := f.store.FindInput(f.ctx, f.queue, "key")
			return outcome(err)
		}},
		{"Reask", func(f *fixture) func(bool) error {
			in := f.input("key", "a")
			f.work(in, "d1")
			return func(bool) error {
				_, err := f.store.Reask(f.ctx, in, "d2")
				return err
			}
		}, message},
		{"KeepAnswers", func(f *fixture) func(bool) error {
			in := f.input("key", "a")
			f.work(in, "d1")
			return func(bool) error {
				_, err := f.store.KeepAnswers(f.ctx, in, "d2")
				return err
			}
		}, message},
		{"Readopt", func(f *fixture) func(bool) error {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, true, nil)
			return func(repeated bool) error {
				err := f.store.Readopt(f.ctx, f.queue, "a", siding.Judgement{Call: id, Accepted: true, Digest: "d2"}, []byte("2"))
				return first([]error{err}, nil, siding.ErrWrongState, repeated)
			}
		}, message},
		{"Settle", func(f *fixture) func(bool) error { // the fifth of a streak, which takes back the others
			f.numbered(0, 5)
			ds := f.gated(5).Deliveries
			for _, d := range ds[:4] {
				f.alike(d)
			}
			return func(repeated bool) error {
				out, err := f.store.Settle(f.ctx, siding.Settlement{
					Token: ds[4].Token, Policy: f.policy, Failure: permanent("no such field"), Gates: f.keys(),
				})
				if err != nil {
					return err
				}
				return first([]error{out[0].Err}, nil, siding.ErrStaleLease, repeated)
			}
		}, streak},
		{"Settle", func(f *fixture) func(bool) error { // the success that convicts them
			f.systemic(1)
			d := f.probe()
			return func(repeated bool) error {
				out, err := f.store.Settle(f.ctx, siding.Settlement{Token: d.Token, Policy: f.policy, Gates: f.keys()})
				if err != nil {
					return err
				}
				return first([]error{out[0].Err}, nil, siding.ErrStaleLease, repeated)
			}
		}, streak},
		{"Lease", func(f *fixture) func(bool) error { // of a probe
			f.systemic(1)
			return leaseGated(f)
		}, streak},
		{"Lease", func(f *fixture) func(bool) error { // that concludes a hold
			f.succeeded()
			f.systemic(0)
			return leaseGated(f)
		}, streak},
		{"Nudge", func(f *fixture) func(bool) error {
			f.numbered(0, 5)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeRecipe, siding.CauseConfiguration, "odd"))
			return func(bool) error { return f.store.Nudge(f.ctx, f.keys()) }
		}, streak},
		{"Resume", func(f *fixture) func(bool) error {
			f.systemic(0)
			return func(repeated bool) error {
				return first([]error{f.store.Resume(f.ctx, f.keys().Recipe, true)}, nil, siding.ErrNotFound, repeated)
			}
		}, streak},
		{"HoldGate", func(f *fixture) func(bool) error {
			f.numbered(0, 5)
			return func(bool) error { return f.store.HoldGate(f.ctx, f.keys().Recipe, "why", "me") }
		}, func(f *fixture) any { return f.holdOf(f.keys().Recipe) != nil }},
		{"CreateCampaign", func(f *fixture) func(bool) error {
			f.broken(1)
			return func(bool) error {
				_, err := f.store.CreateCampaign(f.ctx, siding.CampaignPlan{Selection: siding.Selection{Queue: f.queue}})
				return err
			}
		}, campaigns},
		{"Enlist", func(f *fixture) func(bool) error {
			f.broken(3)
			id := f.selecting(siding.CampaignPlan{})
			return func(bool) error {
				_, err := f.store.Enlist(f.ctx, id, siding.Place{}, 2)
				return err
			}
		}, campaigns},
		{"EnlistEach", func(f *fixture) func(bool) error {
			f.broken(3)
			id := f.selecting(siding.CampaignPlan{})
			return func(bool) error {
				_, err := f.store.EnlistEach(f.ctx, id, f.queue, "00001", "00002")
				return err
			}
		}, campaigns},
		{"StartCampaign", func(f *fixture) func(bool) error {
			f.broken(3)
			id := f.selecting(siding.CampaignPlan{})
			f.enlistAll(id, 100)
			return func(bool) error { return f.store.StartCampaign(f.ctx, id) }
		}, campaigns},
		{"ReturnMembers", func(f *fixture) func(bool) error {
			f.broken(3)
			id := f.campaign(siding.CampaignPlan{})
			return func(bool) error {
				two := send("00001")
				two.Queue, two.Return.Body = f.queue, []byte("2")
				three := siding.CampaignMove{Queue: f.queue, Status: siding.MemberInvalid, Return: siding.Return{ID: "00002"}, Text: "no"}
				_, err := f.store.ReturnMembers(f.ctx, id, two, three)
				return err
			}
		}, campaigns},
		{"ReturnNext", func(f *fixture) func(bool) error {
			f.broken(3)
			f.campaign(siding.CampaignPlan{Canary: 3})
			f.redrive("00001")
			return func(bool) error {
				all, err := f.store.Campaigns(f.ctx, siding.CampaignRunning)
				if err != nil {
					return err
				}
				_, err = f.store.ReturnNext(f.ctx, all[0].ID, 3)
				return err
			}
		}, campaigns},
		{"ActOnCampaign", func(f *fixture) func(bool) error {
			f.broken(3)
			id := f.campaign(siding.CampaignPlan{})
			return func(repeated bool) error {
				_, err := f.store.ActOnCampaign(f.ctx, id, siding.CampaignPause, "why")
				return first([]error{err}, nil, siding.ErrWrongState, repeated)
			}
		}, campaigns},
		{"Settle", func(f *fixture) func(bool) error { // of a member
			f.sent("a")
			d := f.leaseOne()
			return func(repeated bool) error {
				out, err := f.store.Settle(f.ctx, siding.Settlement{Token: d.Token, Policy: f.policy, Failure: permanent("no good")})
				if err != nil {
					return err
				}
				return first([]error{out[0].Err}, nil, siding.ErrStaleLease, repeated)
			}
		}, campaigns},
		{"Discard", func(f *fixture) func(bool) error { // of a member
			f.sent("a")
			return func(repeated bool) error {
				errs, err := f.store.Discard(f.ctx, f.queue, "why", "a")
				return first(errs, err, siding.ErrWrongState, repeated)
			}
		}, campaigns},
		{"Reap", func(f *fixture) func(bool) error {
			next := f.survivor()
			f.start(ask(f.leased("a"), 1))
			f.dies(next)
			return func(bool) error {
				_, err := f.store.Reap(f.ctx)
				return err
			}
		}, message},
	}
}

func faultCases() []testCase {
	var out []testCase
	for _, w := range append(faultyWrites(), quarantineWrites()...) {
		for _, point := range []string{PointBefore, PointAfter, PointBeforeCommit, PointAfterCommit} {
			out = append(out, testCase{w.op + " that fails " + point, func(f *fixture) { failAt(f, w, point) }})
		}
	}
	return append(out, testCase{"a fault of one write leaves those of the same time alone", faultBesideOthers})
}

// failAt has one write fail at a point: nothing has changed, or all where only the reply was lost; and the same write
// comes to its end afterwards.
func failAt(f *fixture, w faultyWrite, point string) {
	write := w.ready(f)
	before := w.shows(f)
	f.faults.fail(point, w.op, 1)
	require.ErrorIs(f, write(false), errInjected)
	f.faults.fail("", "", 0)
	after := w.shows(f)
	if point == PointAfterCommit {
		require.NotEqual(f, before, after, "it was done")
	} else {
		require.Equal(f, before, after, "nothing was done")
	}
	f.healthy()
	require.NoError(f, write(point == PointAfterCommit))
	require.NotEqual(f, before, w.shows(f))
	if point == PointAfterCommit && guarded(w.op) {
		require.Equal(f, after, w.shows(f), "the second changes nothing")
	}
}

// guarded tells whether the same write, done a second time, finds that there is nothing left to do.
func guarded(op string) bool {
	return op != "Lease" && op != "StartCall" && op != "BeginInput" && op != "Nudge" && op != "CreateCampaign"
}

// later gives how many generations there are of the few whose numbers follow this one.
func (f *fixture) later(id siding.InputID) (n int) {
	f.Helper()
	for next := id + 1; next < id+5; next++ {
		if _, err := f.store.InputStats(f.ctx, next, ""); err == nil {
			n++
		}
	}
	return n
}

// faultBesideOthers has one enqueue of many at the same time fail.
func faultBesideOthers(f *fixture) {
	for _, point := range []string{PointBefore, PointAfter} {
		f.faults.fail(point, "Enqueue", 1)
		got := contest(f, func(s siding.Store, i int) (string, error) {
			_, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg(point+string(rune('a'+i))))
			return outcome(err), nil
		})
		require.Equal(f, map[string]int{"won": contestants - 1, errInjected.Error(): 1}, tally(got))
		for i, what := range got {
			_, err := f.store.Get(f.ctx, f.queue, point+string(rune('a'+i)))
			require.Equal(f, what == "won", err == nil)
		}
	}
}
