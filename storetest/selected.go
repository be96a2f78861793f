package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func (f *fixture) redriveSelected(s siding.Selection, limit int) int64 {
	f.Helper()
	n, err := f.store.RedriveSelected(f.ctx, s, limit)
	require.NoError(f, err)
	return n
}

func selectedCases() []testCase {
	return []testCase{
		{"a selection goes back, oldest first and no more than is asked for", func(f *fixture) {
			for i := range 5 {
				f.dead(fmt.Sprint("m", i))
			}
			f.enqueue(msg("ready"))
			s := siding.Selection{Queue: f.queue, Limit: 1, States: []siding.State{siding.StateReady}} // which are not looked at
			require.EqualValues(f, 2, f.redriveSelected(s, 2))
			for i, want := range []siding.State{siding.StateReady, siding.StateReady, siding.StateDead, siding.StateDead, siding.StateDead} {
				f.stateIs(fmt.Sprint("m", i), want)
			}
			require.EqualValues(f, 3, f.redriveSelected(s, 10))
			require.Zero(f, f.redriveSelected(s, 10))
			require.Zero(f, f.redriveSelected(s, 0))
			require.EqualValues(f, 6, f.stats().Ready)
			require.Zero(f, f.get("ready").Redrives)
		}},
		{"what goes back by a selection is as what goes back by its ID", func(f *fixture) {
			f.policy.MaxRetries = 1
			in := f.input("key", "a", "b")
			for range 2 {
				for _, d := range f.lease(2) {
					f.fail(d, gray("perhaps"))
				}
				f.clock.Advance(time.Minute)
			}
			f.ctx = f.by("ann", "").ctx
			require.NoError(f, f.redrive("a")[0])
			require.EqualValues(f, 1, f.redriveSelected(siding.Selection{Queue: f.queue}, 10))
			a, b := f.get("a"), f.get("b")
			require.Equal(f, "ann", b.Revisions[0].By)
			require.Equal(f, a.Revisions[0].Note, b.Revisions[0].Note)
			a.Revisions[0].At = b.Revisions[0].At
			require.Equal(f, a.Revisions, b.Revisions)
			require.Zero(f, b.Attempt+b.Gray)
			require.Nil(f, b.LastError)
			require.Len(f, b.History, 2)
			require.Equal(f, 1, b.Redrives)
			require.EqualValues(f, 2, f.inputStats(in).Pending)
			require.Zero(f, f.inputStats(in).Retrying)
			require.Empty(f, f.inputStats(in).Causes)
		}},
		{"every part of a selection narrows it", func(f *fixture) {
			base := f.queue
			after := func(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) } // the case begins
			for name, c := range map[string]struct {
				s    siding.Selection
				want []string
			}{
				"queue":       {siding.Selection{}, []string{"poison", "unknown", "member"}},
				"ids":         {siding.Selection{IDs: []string{"done", "nobody", "poison", "member"}}, []string{"poison", "member"}},
				"causes":      {siding.Selection{Causes: []siding.Cause{siding.CauseTimeout, siding.CauseRefused}}, []string{"unknown"}},
				"reasons":     {siding.Selection{Reasons: []siding.Reason{siding.ReasonPoison}}, []string{"poison", "member"}},
				"fingerprint": {siding.Selection{Fingerprints: []string{f.keyOf("no good").Fingerprint, f.keyOf("else").Fingerprint}}, []string{"poison", "member"}},
				"since":       {siding.Selection{Since: after(30 * time.Second)}, []string{"unknown", "member"}},
				"until":       {siding.Selection{Until: after(90 * time.Second)}, []string{"poison", "unknown"}},
				"input":       {siding.Selection{Input: 1}, []string{"member"}},
				"together": {siding.Selection{
					Causes: []siding.Cause{siding.CauseTimeout}, Since: after(time.Second), IDs: []string{"poison", "unknown", "member"},
				}, []string{"unknown"}},
				"nothing": {siding.Selection{Causes: []siding.Cause{siding.CauseTimeout}, Reasons: []siding.Reason{siding.ReasonPoison}}, nil},
			} {
				f.queue = base + "-" + name
				begin := f.clock.Now().Add(time.Hour)
				f.clock.Advance(time.Hour)
				f.fail(f.leased("poison"), permanent("no good"))
				f.clock.Advance(time.Minute)
				f.fail(f.leased("unknown"), &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseTimeout, Reason: siding.ReasonUnknownCall})
				f.clock.Advance(time.Minute)
				in := f.input("key", "member", "done")
				for _, d := range f.lease(2) {
					if d.ID == "done" {
						f.done(d, "1")
					} else {
						f.fail(d, permanent("else"))
					}
				}
				if c.s.Input != 0 {
					c.s.Input = in
				}
				for _, at := range []*time.Time{&c.s.Since, &c.s.Until} {
					if !at.IsZero() {
						*at = begin.Add(at.Sub(after(0)))
					}
				}
				c.s.Queue = f.queue
				require.EqualValues(f, len(c.want), f.redriveSelected(c.s, 10), name)
				for _, id := range []string{"poison", "unknown", "member"} {
					want := siding.StateDead
					if slices.Contains(c.want, id) {
						want = siding.StateReady
					}
					require.Equal(f, want, f.get(id).State, "%s of %s", id, name)
				}
				f.healthy()
			}
			_, err := f.store.RedriveSelected(f.ctx, siding.Selection{Input: 1 << 40}, 10)
			require.ErrorIs(f, err, siding.ErrNotFound)
		}},
		{"a selection of many is one entry in the audit trail, with a few names", func(f *fixture) {
			for i := range 9 {
				f.dead(fmt.Sprint("m", i))
			}
			f.ctx = f.by("ann", f.queue).ctx
			for n := int64(4); n == 4; {
				n = f.redriveSelected(siding.Selection{Queue: f.queue}, 4)
			}
			e := f.entry(f.queue, siding.ActionRedrive)
			require.EqualValues(f, 9, e.Count)
			require.Equal(f, "m0, m1, m2, m3, m4", e.Detail)
			require.Equal(f, f.queue, e.Queue)
		}},
		{"one row that cannot be read stops no selection, and stays where it is", func(f *fixture) {
			if f.data.Corrupt == nil {
				f.Log("nothing in this store can become unreadable by itself")
				return
			}
			f.damage = true
			for _, id := range []string{"bad", "a", "b"} {
				f.dead(id)
			}
			f.data.Corrupt(f.T, f.queue, "bad")
			require.EqualValues(f, 1, f.redriveSelected(siding.Selection{Queue: f.queue}, 1))
			require.EqualValues(f, 1, f.redriveSelected(siding.Selection{Queue: f.queue}, 5))
			f.stateIs("a", siding.StateReady)
			f.stateIs("b", siding.StateReady)
			require.EqualValues(f, 1, f.stats().Dead)
			require.Error(f, f.redrive("bad")[0])
		}},
		{"every way back at once, and each message goes one", func(f *fixture) {
			for i := range 40 {
				f.dead(fmt.Sprint(i))
			}
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				var err error
				for n := range 10 {
					switch id := fmt.Sprint((n*7 + i*5) % 40); i % 4 {
					case 0:
						_, err = s.Redrive(f.ctx, f.queue, id, fmt.Sprint(n))
					case 1:
						_, err = s.RedriveSelected(f.ctx, siding.Selection{Queue: f.queue}, 2)
					case 2:
						_, err = s.Return(f.ctx, f.queue, siding.Return{ID: id, Body: []byte("2")})
					case 3:
						_, err = s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{RedriveDead: true}, msg(id))
					}
					if err != nil {
						return struct{}{}, err
					}
				}
				return struct{}{}, nil
			})
			for i := range 40 {
				r := f.get(fmt.Sprint(i))
				require.LessOrEqual(f, r.Redrives, 1)
				redriven := 0
				for _, v := range r.Revisions {
					if v.Kind == siding.RevisionRedriven {
						redriven++
					}
				}
				require.Equal(f, r.Redrives, redriven)
				require.Equal(f, r.Redrives == 0, r.State == siding.StateDead)
			}
		}},
		{"one message is repaired, redriven, superseded and discarded at once, and goes one way at a time", func(f *fixture) {
			for round := range 5 {
				id := fmt.Sprint("m", round)
				f.dead(id)
				got := contest(f, func(s siding.Store, i int) (string, error) {
					var errs []error
					var err error
					what := []string{"back", "redrive", "discard", "supersede"}[i%4]
					switch what {
					case "back":
						errs, err = s.Return(f.ctx, f.queue, siding.Return{ID: id, From: hashOf(msg(id).Body), Body: []byte("mended")})
					case "redrive":
						errs, err = s.Redrive(f.ctx, f.queue, id)
					case "discard":
						errs, err = s.Discard(f.ctx, f.queue, "why", id)
					default:
						var out []siding.Enqueued
						out, err = s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: id, Body: []byte("other")})
						if err == nil && out[0].Status == siding.EnqueueSuperseded {
							return "supersede won", out[0].Err
						}
						return "unchanged", err
					}
					if err != nil {
						return "", err
					}
					return what + " " + outcome(errs[0]), nil
				})
				n := tally(got)
				r := f.stateIs(id, siding.StateDiscarded)
				require.Equal(f, 1, n["discard won"])
				require.LessOrEqual(f, n["back won"]+n["redrive won"], 1)
				require.LessOrEqual(f, n["supersede won"], 1)
				require.Equal(f, n["back won"]+n["redrive won"], r.Redrives)
				kinds := map[siding.RevisionKind]int{}
				for _, v := range r.Revisions {
					kinds[v.Kind]++
				}
				require.Equal(f, n["back won"], kinds[siding.RevisionRepaired])
				require.Equal(f, n["supersede won"], kinds[siding.RevisionSuperseded])
				require.Equal(f, r.Redrives, kinds[siding.RevisionRedriven])
			}
		}},
	}
}
