package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func (f *fixture) groupsOf(q siding.GroupQuery) []siding.Group {
	f.Helper()
	q.Queue = f.queue
	out, err := f.store.Groups(f.ctx, q)
	require.NoError(f, err)
	return out
}

// keyOf gives the group of a permanent failure with a text.
func (f *fixture) keyOf(text string) siding.GroupKey {
	return siding.GroupKey{Queue: f.queue, Fingerprint: permanent(text).Stored().Fingerprint}
}

// groupOf gives one group, also where it is empty.
func (f *fixture) groupOf(text string) siding.Group {
	f.Helper()
	out := f.groupsOf(siding.GroupQuery{Fingerprints: []string{f.keyOf(text).Fingerprint}, Empty: true})
	require.Len(f, out, 1)
	return out[0]
}

// aside sets new messages aside for a failure.
func (f *fixture) failed(text string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.fail(f.leased(id), permanent(text))
	}
}

func (f *fixture) mark(text string, state siding.GroupState, note string) {
	f.Helper()
	require.NoError(f, f.store.MarkGroup(f.ctx, f.keyOf(text), state, note))
}

func groupCases() []testCase {
	return []testCase{
		{"dead letters that fail alike are one group, which remembers the first and the last", func(f *fixture) {
			begin := f.clock.Now()
			f.failed("no such field", "a")
			f.clock.Advance(time.Hour)
			f.failed("no such field", "b", "c")
			f.failed("out of range", "d")
			all := f.groupsOf(siding.GroupQuery{})
			require.Len(f, all, 2)
			g := all[0]
			require.Equal(f, f.keyOf("no such field"), g.Key)
			require.Equal(f, siding.CauseInvalidRequest, g.Cause)
			require.Equal(f, siding.GroupNew, g.State)
			require.Equal(f, []int64{3, 3}, []int64{g.Dead, g.Arrived})
			f.near(begin, g.FirstSeen)
			f.near(begin.Add(time.Hour), g.LastSeen)
			require.Equal(f, "c", g.SampleID)
			require.Equal(f, "no such field", g.SampleText)
			require.EqualValues(f, 2, g.Hours.Last(1, f.clock.Now()))
			require.EqualValues(f, 3, g.Hours.Last(2, f.clock.Now()))
			require.EqualValues(f, 1, all[1].Dead)
		}},
		{"what leaves the quarantine leaves its group, and the group is remembered", func(f *fixture) {
			f.failed("no such field", "a", "b", "c")
			f.redrive("a")
			f.discard("b")
			require.Equal(f, siding.EnqueueSuperseded, f.status(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "c", Body: []byte("2")}))
			require.Empty(f, f.groupsOf(siding.GroupQuery{}))
			g := f.groupOf("no such field")
			require.EqualValues(f, 0, g.Dead)
			require.EqualValues(f, 3, g.Arrived)
			for range 2 { // a and c
				f.fail(f.lease(1)[0], permanent("no such field"))
			}
			g = f.groupOf("no such field")
			require.Equal(f, []int64{2, 5}, []int64{g.Dead, g.Arrived}, "one that comes back counts again")
		}},
		{"every way into the quarantine leads into a group", func(f *fixture) {
			arrived := func() (n int64) {
				for _, g := range f.groupsOf(siding.GroupQuery{}) {
					require.Equal(f, g.Dead, g.Arrived)
					n += g.Arrived
				}
				return n
			}
			dead := msg("dead")
			dead.Dead = permanent("broken")
			f.enqueue(dead)
			require.EqualValues(f, 1, arrived())

			f.enqueue(msg("superseded"))
			dead.ID, dead.Body = "superseded", []byte("other")
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, dead)
			require.EqualValues(f, 2, arrived())

			d := f.leased("while leased")
			dead.ID = d.ID
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, dead)
			f.fail(d, permanent("another failure, which the next body makes forgotten"))
			require.EqualValues(f, 3, arrived())
			require.Len(f, f.groupsOf(siding.GroupQuery{Empty: true}), 1)

			expiring := msg("expiring")
			expiring.ExpiresAt = f.clock.Now().Add(time.Second)
			f.enqueue(expiring)
			f.clock.Advance(time.Hour)
			f.lease(0)
			require.EqualValues(f, 4, arrived())

			f.leased("lost")
			for range 2 * f.policy.MaxInterruptions { // taken back, and leased again
				f.clock.Advance(time.Hour)
				f.lease(1)
			}
			f.stateIs("lost", siding.StateDead)
			require.EqualValues(f, 5, arrived())

			f.policy.MaxRetries = 0
			f.fail(f.leased("exhausted"), transient("no"))
			require.EqualValues(f, 6, arrived())
		}},
		{"a streak that is taken back leaves its group, and comes back when it is convicted", func(f *fixture) {
			f.succeeded()
			f.systemic(0)
			g := f.groupOf("no such field")
			require.Zero(f, g.Dead)
			before := g.Arrived
			f.gated(1) // concludes the hold
			g = f.groupOf("no such field")
			require.Positive(f, g.Dead)
			require.Equal(f, before+g.Dead, g.Arrived)
		}},
		{"a group is marked, with a note and the operator's name", func(f *fixture) {
			f.failed("no such field", "a")
			g := f.by("ann", "")
			g.mark("no such field", siding.GroupKnown, "asked the\x1b producer")
			got := f.groupOf("no such field")
			require.Equal(f, siding.GroupKnown, got.State)
			require.Equal(f, `asked the\x1b producer`, got.Note)
			require.Equal(f, "ann", got.By)
			f.near(f.now(), got.ChangedAt)
			g.mark("no such field", "", "answered")
			got = f.groupOf("no such field")
			require.Equal(f, siding.GroupKnown, got.State)
			require.Equal(f, "answered", got.Note)
			e := f.audit(siding.AuditOptions{Queue: f.queue, Actions: []siding.Action{siding.ActionMarkGroup}})
			require.Len(f, e, 2)
			require.Equal(f, "answered: "+got.Key.Fingerprint, e[0].Detail)
			require.Equal(f, `known, asked the\x1b producer: `+got.Key.Fingerprint, e[1].Detail)
			require.Equal(f, "ann", e[1].Act.By)
			require.Equal(f, f.queue, e[1].Queue)
		}},
		{"a resolved group that comes back is a regression", func(f *fixture) {
			f.failed("no such field", "a")
			f.mark("no such field", siding.GroupResolved, "schema mended")
			f.redrive("a")
			f.clock.Advance(time.Hour)
			f.fail(f.leaseOne(), permanent("no such field"))
			g := f.groupOf("no such field")
			require.Equal(f, siding.GroupNew, g.State)
			require.Equal(f, "schema mended", g.Note)
			f.near(f.now(), g.RegressedAt)
			f.mark("no such field", siding.GroupIgnored, "")
			f.failed("no such field", "b")
			g = f.groupOf("no such field")
			require.Equal(f, siding.GroupIgnored, g.State)
			require.True(f, g.RegressedAt.IsZero())
		}},
		{"a group that is not there, or a state that there is not, is an error", func(f *fixture) {
			f.failed("no such field", "a")
			require.ErrorIs(f, f.store.MarkGroup(f.ctx, f.keyOf("else"), siding.GroupKnown, ""), siding.ErrNotFound)
			require.ErrorIs(f, f.store.MarkGroup(f.ctx, siding.GroupKey{Queue: "nobody's", Fingerprint: f.keyOf("no such field").Fingerprint}, siding.GroupKnown, ""), siding.ErrNotFound)
			require.Error(f, f.store.MarkGroup(f.ctx, f.keyOf("no such field"), "odd", ""))
			require.NoError(f, f.store.MarkGroup(f.ctx, f.keyOf("no such field"), "", ""))
			require.True(f, f.groupOf("no such field").ChangedAt.IsZero())
		}},
		{"groups are selected by fingerprint and state", func(f *fixture) {
			f.failed("no such field", "a", "b")
			f.failed("out of range", "c")
			f.failed("too long", "d")
			f.mark("out of range", siding.GroupKnown, "")
			f.redrive("d")
			for name, c := range map[string]struct {
				q    siding.GroupQuery
				want int
			}{
				"all":         {siding.GroupQuery{}, 2},
				"empty too":   {siding.GroupQuery{Empty: true}, 3},
				"state":       {siding.GroupQuery{States: []siding.GroupState{siding.GroupKnown, siding.GroupIgnored}}, 1},
				"fingerprint": {siding.GroupQuery{Fingerprints: []string{f.keyOf("no such field").Fingerprint, "else"}}, 1},
				"nothing":     {siding.GroupQuery{Fingerprints: []string{f.keyOf("too long").Fingerprint}}, 0},
			} {
				require.Len(f, f.groupsOf(c.q), c.want, name)
			}
		}},
		{"the sample of a hostile failure is safe and short", func(f *fixture) {
			f.enqueue(msg("a"))
			f.fail(f.leaseOne(), permanent("\x1b[31m\u202e\x00"+strings.Repeat("é", 1<<20)))
			g := f.groupsOf(siding.GroupQuery{})[0]
			require.Equal(f, siding.Scrub(g.SampleText, 1000), g.SampleText)
			require.Less(f, len(g.SampleText), 1000)
		}},
		{"a mark and arrivals at once lose neither", func(f *fixture) {
			f.failed("no such field", "a")
			for i := range contestants {
				f.enqueue(msg(fmt.Sprint(i)))
			}
			ds := f.lease(contestants)
			require.Len(f, ds, contestants)
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				if i%2 == 0 {
					return struct{}{}, s.MarkGroup(f.ctx, f.keyOf("no such field"), siding.GroupKnown, fmt.Sprint(i))
				}
				out, err := s.Settle(f.ctx,
					siding.Settlement{Token: ds[i].Token, Failure: permanent("no such field"), Policy: f.policy},
					siding.Settlement{Token: ds[i-1].Token, Failure: permanent("no such field"), Policy: f.policy})
				if err != nil {
					return struct{}{}, err
				}
				return struct{}{}, out[0].Err
			})
			g := f.groupOf("no such field")
			require.EqualValues(f, contestants+1, g.Dead)
			require.EqualValues(f, contestants+1, g.Arrived)
			require.Equal(f, siding.GroupKnown, g.State)
			require.NotEmpty(f, g.Note)
		}},
	}
}

// regroupCases need data whose dead letters can be given fingerprints of an older version.
func regroupCases() []testCase {
	regroup := func(f *fixture, limit int) int64 {
		f.Helper()
		n, err := f.store.Regroup(f.ctx, limit)
		require.NoError(f, err)
		return n
	}
	regroupAll := func(f *fixture, limit int) {
		f.Helper()
		for n := int64(1); n > 0; {
			n = regroup(f, limit)
		}
	}
	old := "0-abcdef"
	return []testCase{
		{"what is up to date stays as it is", func(f *fixture) {
			f.failed("no such field", "a")
			before := f.groupsOf(siding.GroupQuery{})
			require.Zero(f, regroup(f, 100))
			require.Equal(f, before, f.groupsOf(siding.GroupQuery{}))
		}},
		{"dead letters of an older version are grouped anew, in pieces, and nothing is lost", func(f *fixture) {
			f.outdates()
			in := f.begin("key")
			for i := range 7 {
				m := record(int64(i), fmt.Sprint("m", i), fmt.Sprint(i))
				m.Dead = permanent([]string{"no such field", "out of range"}[i%2])
				f.read(in, m)
			}
			f.seal(in)
			f.redrive("m6")
			f.outdate("no such field", old)
			f.outdate("out of range", old)
			f.clock.Advance(time.Hour)
			f.ctx = f.by("ann", "").ctx
			require.NoError(f, f.store.MarkGroup(f.ctx, siding.GroupKey{Queue: f.queue, Fingerprint: old}, siding.GroupKnown, "look"))
			require.Equal(f, []string{old}, f.fingerprints(siding.GroupQuery{Empty: true}))
			pieces := 0
			for n := int64(1); n > 0; pieces++ {
				n = regroup(f, 2)
				require.LessOrEqual(f, n, int64(2))
				f.healthy()
			}
			require.GreaterOrEqual(f, pieces, 4)
			require.ElementsMatch(f, []string{f.keyOf("no such field").Fingerprint, f.keyOf("out of range").Fingerprint}, f.fingerprints(siding.GroupQuery{Empty: true}))
			for _, text := range []string{"no such field", "out of range"} {
				g := f.groupOf(text)
				require.EqualValues(f, 3, g.Dead)
				require.EqualValues(f, 7, g.Arrived, "of the group that they both were")
				require.Equal(f, siding.GroupKnown, g.State)
				require.Equal(f, "look", g.Note)
				require.Equal(f, "ann", g.By)
			}
			r := f.get("m0")
			require.Equal(f, f.keyOf("no such field").Fingerprint, r.LastError.Fingerprint)
			require.Len(f, f.list(siding.Selection{Queue: f.queue, Fingerprints: []string{r.LastError.Fingerprint}}), 3)
			for _, c := range f.inputStats(in).Causes {
				require.EqualValues(f, 3, c.Count)
			}
		}},
		{"a resolved group without dead letters is still one that can come back", func(f *fixture) {
			f.outdates()
			f.failed("no such field", "a")
			f.mark("no such field", siding.GroupResolved, "mended")
			f.outdate("no such field", old)
			f.redrive("a")
			require.EqualValues(f, 1, regroup(f, 100))
			require.Zero(f, regroup(f, 100))
			require.Equal(f, siding.GroupResolved, f.groupOf("no such field").State)
			f.fail(f.leaseOne(), permanent("no such field"))
			require.False(f, f.groupOf("no such field").RegressedAt.IsZero())
		}},
		{"groups that become one keep what is known of both", func(f *fixture) {
			f.outdates()
			f.failed("no such field", "a", "b")
			f.mark("no such field", siding.GroupIgnored, "noise")
			f.outdate("no such field", old)
			f.clock.Advance(time.Hour)
			f.failed("no such field", "c")
			require.Len(f, f.groupsOf(siding.GroupQuery{}), 2)
			regroupAll(f, 1)
			require.Len(f, f.groupsOf(siding.GroupQuery{Empty: true}), 1)
			g := f.groupOf("no such field")
			require.Equal(f, []int64{3, 3}, []int64{g.Dead, g.Arrived})
			require.Equal(f, siding.GroupNew, g.State, "one of the two was")
			require.Equal(f, "noise", g.Note)
			require.Equal(f, "c", g.SampleID)
		}},
		{"a message that goes back and one that is regrouped at once are counted once", func(f *fixture) {
			f.outdates()
			for i := range 20 {
				f.failed("no such field", fmt.Sprint(i))
			}
			f.outdate("no such field", old)
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				if i%2 == 0 {
					_, err := s.Redrive(f.ctx, f.queue, fmt.Sprint(i), fmt.Sprint(i+1), fmt.Sprint(i+8))
					return struct{}{}, err
				}
				_, err := s.Regroup(f.ctx, 3)
				return struct{}{}, err
			})
			regroupAll(f, 3)
			require.EqualValues(f, 8, f.groupOf("no such field").Dead)
		}},
	}
}

func (f *fixture) fingerprints(q siding.GroupQuery) (out []string) {
	f.Helper()
	for _, g := range f.groupsOf(q) {
		out = append(out, g.Key.Fingerprint)
	}
	return out
}

func (f *fixture) outdates() {
	f.Helper()
	if f.data.Outdate == nil {
		f.Skip("this store's harness cannot give fingerprints of an older version")
	}
}

// outdate gives the dead letters of a group a fingerprint of an older version.
func (f *fixture) outdate(text, fingerprint string) {
	f.Helper()
	f.data.Outdate(f.T, f.keyOf(text), fingerprint)
}
