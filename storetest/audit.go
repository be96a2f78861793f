package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func (f *fixture) audit(o siding.AuditOptions) []siding.AuditEntry {
	f.Helper()
	var out []siding.AuditEntry
	for e, err := range f.store.Audit(f.ctx, o) {
		require.NoError(f, err)
		out = append(out, e)
	}
	return out
}

// entry gives the only entry of an act and action.
func (f *fixture) entry(act string, a siding.Action) siding.AuditEntry {
	f.Helper()
	var found []siding.AuditEntry
	for _, e := range f.audit(siding.AuditOptions{Actions: []siding.Action{a}}) {
		if e.Act.ID == act {
			found = append(found, e)
		}
	}
	require.Len(f, found, 1)
	return found[0]
}

// auditCases look at the trail of a whole store, and need one of their own.
func auditCases() []testCase {
	return []testCase{
		{"what an operator does is recorded with who, when and what", func(f *fixture) {
			for i := range 8 {
				f.dead(fmt.Sprint("m", i))
			}
			ann := f.by("ann", "act-1")
			before := f.now()
			ann.redrive("m0", "m1", "nobody")
			f.clock.Advance(time.Minute)
			ann.redrive("m2", "m3", "m4", "m5", "m0")
			e := f.entry("act-1", siding.ActionRedrive)
			require.Equal(f, siding.Act{ID: "act-1", By: "ann", Text: "siding dlq …"}, e.Act)
			require.Equal(f, f.queue, e.Queue)
			require.EqualValues(f, 6, e.Count)
			require.Equal(f, "m0, m1, m2, m3, m4", e.Detail)
			f.near(before, e.At)
			f.near(before.Add(time.Minute), e.Last)

			ann.back(siding.Return{ID: "m6", Body: []byte("{}"), Note: "drop:field=/id"})
			require.Equal(f, "drop:field=/id: m6", f.entry("act-1", siding.ActionRepair).Detail)
			ann.back(siding.Return{ID: "m7"})
			require.EqualValues(f, 7, f.entry("act-1", siding.ActionRedrive).Count)
			ann.discard("m0", "m1")
			e = f.entry("act-1", siding.ActionDiscard)
			require.Equal(f, "not wanted any more: m0, m1", e.Detail)
			require.EqualValues(f, 2, e.Count)
			r := f.get("m0")
			require.Equal(f, "ann", r.Revisions[len(r.Revisions)-1].By)
		}},
		{"without an act each call is recorded for itself, without a name", func(f *fixture) {
			f.dead("a")
			f.dead("b")
			f.redrive("a")
			f.redrive("b")
			all := f.audit(siding.AuditOptions{})
			require.Len(f, all, 2)
			require.Equal(f, "b", all[0].Detail, "the latest first")
			require.Equal(f, siding.Act{}, all[0].Act)
			require.Greater(f, all[0].Number, all[1].Number)
			require.Equal(f, all[0].At, all[0].Last)
		}},
		{"what changes nothing is not recorded", func(f *fixture) {
			f.enqueue(msg("a"))
			f.redrive("a", "nobody")
			f.redrive()
			f.back(siding.Return{ID: "a"})
			f.discard("nobody")
			require.ErrorIs(f, f.store.Resume(f.ctx, f.keys().Recipe, false), siding.ErrNotFound)
			_, err := f.store.SetNote(f.ctx, siding.Note{Key: "setting/x", Version: 7, Value: []byte("1")})
			require.ErrorIs(f, err, siding.ErrConflict)
			require.Empty(f, f.audit(siding.AuditOptions{}))
		}},
		{"holds that are made and ended by hand are recorded", func(f *fixture) {
			g := f.by("", "act-1")
			require.NoError(f, f.store.HoldGate(g.ctx, f.keys().Recipe, "look first", "bob"))
			e := f.entry("act-1", siding.ActionHold)
			require.Equal(f, "bob", e.Act.By, "the name that the hold was given stands for the act's")
			require.Contains(f, e.Detail, f.keys().Recipe.Name)
			require.Contains(f, e.Detail, "look first")
			require.NoError(f, f.store.Resume(f.by("ann", "act-2").ctx, f.keys().Recipe, true))
			e = f.entry("act-2", siding.ActionResume)
			require.Equal(f, "ann", e.Act.By)
			require.Contains(f, e.Detail, f.keys().Recipe.Name)
			require.EqualValues(f, 1, e.Count)
		}},
		{"answers that are asked for again, or kept, are recorded", func(f *fixture) {
			in := f.input("key", "a", "b", "c")
			f.work(in, "d1")
			_, err := f.store.KeepAnswers(f.by("ann", "act-1").ctx, in, "d2")
			require.NoError(f, err)
			e := f.entry("act-1", siding.ActionReask)
			require.EqualValues(f, 3, e.Count)
			require.Equal(f, f.queue, e.Queue)
			_, err = f.store.Reask(f.ctx, in, "d3")
			require.NoError(f, err)
			_, err = f.store.Reask(f.ctx, in, "d3")
			require.NoError(f, err)
			all := f.audit(siding.AuditOptions{Actions: []siding.Action{siding.ActionReask}})
			require.Len(f, all, 2)
			require.EqualValues(f, 3, all[0].Count)
			require.Contains(f, all[0].Detail, "d3")
		}},
		{"a setting is recorded with what it was before", func(f *fixture) {
			g := f.by("ann", "")
			v, err := f.store.SetNote(g.ctx, siding.Note{Key: "setting/retention", Value: []byte("30d\x1b[31m")})
			require.NoError(f, err)
			v, err = f.store.SetNote(g.ctx, siding.Note{Key: "setting/retention", Value: []byte("7d"), Version: v})
			require.NoError(f, err)
			_, err = f.store.SetNote(g.ctx, siding.Note{Key: "setting/retention", Version: v})
			require.NoError(f, err)
			_, err = f.store.SetNote(g.ctx, siding.Note{Key: "else", Value: []byte("1")})
			require.NoError(f, err)
			var details []string
			for _, e := range f.audit(siding.AuditOptions{}) {
				require.Equal(f, siding.ActionSetting, e.Action)
				require.Equal(f, "ann", e.Act.By)
				details = append(details, e.Detail)
			}
			require.Equal(f, []string{"retention: 7d → not set", `retention: 30d\x1b[31m → 7d`, `retention: not set → 30d\x1b[31m`}, details)
		}},
		{"a setting of a queue stands in the queue's trail", func(f *fixture) {
			_, err := f.store.SetNote(f.ctx, siding.Note{Key: "setting/retention/" + f.queue, Value: []byte("30d")})
			require.NoError(f, err)
			entries := f.audit(siding.AuditOptions{Queue: f.queue})
			require.Len(f, entries, 1)
			require.Equal(f, siding.ActionSetting, entries[0].Action)
			require.Equal(f, "retention/"+f.queue+": not set → 30d", entries[0].Detail)
		}},
		{"the trail is selected by queue, action and time, in small steps", func(f *fixture) {
			for i := range 450 {
				f.enqueue(msg(fmt.Sprint(i)))
				if i%2 == 0 {
					f.discard(fmt.Sprint(i))
					f.clock.Advance(time.Second)
				}
			}
			other, err := f.store.Enqueue(f.ctx, "another", siding.EnqueueOptions{}, siding.NewMessage{ID: "x", Dead: permanent("no")})
			require.NoError(f, err)
			require.NoError(f, other[0].Err)
			_, err = f.store.Redrive(f.ctx, "another", "x")
			require.NoError(f, err)
			begin := f.clock.Now().Add(-225 * time.Second)
			for name, c := range map[string]struct {
				o    siding.AuditOptions
				want int
			}{
				"all":     {siding.AuditOptions{}, 226},
				"queue":   {siding.AuditOptions{Queue: f.queue}, 225},
				"actions": {siding.AuditOptions{Actions: []siding.Action{siding.ActionRedrive, siding.ActionHold}}, 1},
				"since":   {siding.AuditOptions{Since: begin.Add(99*time.Second + time.Second/2)}, 126},
				"until":   {siding.AuditOptions{Until: begin.Add(99*time.Second + time.Second/2)}, 100},
				"limit":   {siding.AuditOptions{Limit: 203}, 203},
			} {
				require.Len(f, f.audit(c.o), c.want, name)
			}
			for range f.store.Audit(f.ctx, siding.AuditOptions{}) {
				break // a walk may stop
			}
		}},
		{"whatever an operator writes is safe to show", func(f *fixture) {
			f.dead("a")
			hostile := "\x1b[31m\u202e" + strings.Repeat("y", 1<<20)
			f.ctx = siding.WithAct(f.ctx, siding.Act{ID: "x\x00", By: hostile, Text: hostile})
			_, err := f.store.Discard(f.ctx, f.queue, hostile, "a")
			require.NoError(f, err)
			e := f.audit(siding.AuditOptions{})[0]
			for _, text := range []string{e.Act.ID, e.Act.By, e.Act.Text, e.Detail} {
				require.Equal(f, siding.Scrub(text, siding.MaxHeader), text)
			}
			r := f.get("a")
			require.Equal(f, e.Act.By, r.Revisions[0].By)
		}},
	}
}
