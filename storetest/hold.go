package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func holdCases() []testCase {
	return []testCase{
		{"a new store has no gates", func(f *fixture) {
			all, err := f.store.Gates(f.ctx)
			require.NoError(f, err)
			require.Empty(f, all)
			require.NoError(f, f.store.Nudge(f.ctx, f.keys()))
			require.NoError(f, f.store.Nudge(f.ctx, siding.GateKeys{}))
			all, err = f.store.Gates(f.ctx)
			require.NoError(f, err)
			require.Empty(f, all, "nudging makes none")
		}},
		{"gates are listed by their keys, and those only that have something to say", func(f *fixture) {
			for _, k := range []siding.GateKey{
				{Scope: siding.ScopeRecipe, Name: "b"}, {Scope: siding.ScopeLane, Name: "z"}, {Scope: siding.ScopeAccount, Name: "y"},
				{Scope: siding.ScopeRecipe, Name: "a:b"}, {Scope: siding.ScopeLane, Name: "idle"},
			} {
				require.NoError(f, f.store.HoldGate(f.ctx, k, "why", "me"))
			}
			require.NoError(f, f.store.Resume(f.ctx, siding.GateKey{Scope: siding.ScopeLane, Name: "idle"}, false))
			all, err := f.store.Gates(f.ctx)
			require.NoError(f, err)
			var got []string
			for _, g := range all {
				got = append(got, g.Key.String())
				g.Hold.Text = "changed by the caller"
			}
			require.Equal(f, []string{"account:y", "lane:z", "recipe:a:b", "recipe:b"}, got)
			again, err := f.store.Gates(f.ctx)
			require.NoError(f, err)
			require.Equal(f, "why", again[0].Hold.Text)
		}},
		{"a hold by hand lasts until it is resumed", func(f *fixture) {
			f.numbered(0, 9)
			ds := f.gated(2).Deliveries
			f.clock.Advance(time.Second)
			k := f.keys().Lane
			require.NoError(f, f.store.HoldGate(f.ctx, k, "maintenance\x1b[2J", "op\x00erator"))
			h := f.holdOf(k)
			require.Equal(f, siding.HoldManual, h.Kind)
			require.Equal(f, siding.Scrub("maintenance\x1b[2J", siding.MaxHeader), h.Text)
			require.Equal(f, siding.Scrub("op\x00erator", siding.MaxHeader), h.By)
			require.NotContains(f, h.Text+h.By, "\x1b")
			require.NotContains(f, h.Text+h.By, "\x00")
			f.near(f.clock.Now(), h.Since)
			require.True(f, f.shut().RetryAt.IsZero())
			f.through(ds[0], nil)
			f.nudge()
			f.clock.Advance(24 * time.Hour)
			f.shut()
			f.reopen()
			f.shut()
			require.NoError(f, f.store.Resume(f.ctx, k, false))
			require.Nil(f, f.holdOf(k))
			f.clock.Advance(time.Minute)
			require.Len(f, f.gated(9).Deliveries, 8)
			require.ErrorIs(f, f.store.Resume(f.ctx, k, false), siding.ErrNotFound)
		}},
		{"what is held already is held by hand from then on", func(f *fixture) {
			f.outage()
			k := f.keys().Lane
			f.clock.Advance(time.Minute)
			d := f.probe()
			require.NoError(f, f.store.HoldGate(f.ctx, k, "enough", "me"))
			require.NoError(f, f.store.HoldGate(f.ctx, k, "quite enough", "them"))
			f.through(d, nil)
			h := f.holdOf(k)
			require.Equal(f, siding.HoldManual, h.Kind)
			require.Equal(f, "quite enough", h.Text)
			require.Equal(f, "them", h.By)
			require.True(f, h.NextProbe.IsZero())
			f.shut()
		}},
		{"a probe that is lost does not open what was closed by hand meanwhile", func(f *fixture) {
			f.numbered(0, 4)
			f.through(f.gated(1).Deliveries[0], heldFor(siding.ScopeAccount, siding.CauseAccount, "no credit"))
			f.nudge()
			d := f.probe()
			require.NoError(f, f.store.HoldGate(f.ctx, f.keys().Account, "enough", "me"))
			f.discard(d.ID)
			f.shut()
			f.clock.Advance(time.Hour)
			f.shut()
		}},
		{"a hold of a streak that is put under one by hand keeps its members", func(f *fixture) {
			f.systemic(2)
			k := f.keys().Recipe
			require.NoError(f, f.store.HoldGate(f.ctx, k, "to be looked at", "me"))
			f.shut()
			require.NoError(f, f.store.Resume(f.ctx, k, true))
			f.convicted("000", siding.OutcomePermanent)
		}},
		{"a name that names no gate is refused", func(f *fixture) {
			for _, k := range []siding.GateKey{{}, {Scope: siding.ScopeLane}, {Scope: "world", Name: "x"}, {Name: "x"}} {
				require.Error(f, f.store.HoldGate(f.ctx, k, "why", "me"))
				require.ErrorIs(f, f.store.Resume(f.ctx, k, false), siding.ErrNotFound)
			}
			all, err := f.store.Gates(f.ctx)
			require.NoError(f, err)
			require.Empty(f, all)
		}},
		{"names from outside are shown safely, and mean the same gate", func(f *fixture) {
			k := siding.GateKey{Scope: siding.ScopeLane, Name: "host\x1b[31m\xff" + strings.Repeat("x", 2000)}
			require.NoError(f, f.store.HoldGate(f.ctx, k, "why", "me"))
			all, err := f.store.Gates(f.ctx)
			require.NoError(f, err)
			require.Len(f, all, 1)
			require.Equal(f, siding.Scrub(k.Name, siding.MaxHeader), all[0].Key.Name)
			f.numbered(0, 1)
			r := f.request(1)
			r.Gates.Lane = k
			require.Empty(f, f.leaseWith(r).Deliveries)
			r.Gates.Lane = all[0].Key
			require.Empty(f, f.leaseWith(r).Deliveries)
			require.NoError(f, f.store.Resume(f.ctx, k, false))
			require.Len(f, f.leaseWith(r).Deliveries, 1)
		}},
		{"nudging sends one probe through each undated hold, and none through others", func(f *fixture) {
			f.numbered(0, 9)
			ds := f.gated(3).Deliveries
			dated := heldFor(siding.ScopeAccount, siding.CauseAccount, "the month's limit is reached")
			dated.Until = f.now().Add(time.Hour)
			f.through(ds[0], dated)
			f.through(ds[1], heldFor(siding.ScopeLane, siding.CauseModelNotFound, "no such model"))
			f.shut()
			f.nudge()
			f.shut() // the date is waited for
			require.NoError(f, f.store.Resume(f.ctx, f.keys().Account, false))
			f.clock.Advance(time.Minute)
			d := f.probe()
			require.Len(f, slices.DeleteFunc([]*siding.Gate{
				f.gate(f.keys().Account), f.gate(f.keys().Lane), f.gate(f.keys().Recipe),
			}, func(g *siding.Gate) bool { return g == nil || g.Probe == nil }), 1)
			f.through(d, heldFor(siding.ScopeLane, siding.CauseModelNotFound, "no such model"))
			f.shut()
			f.nudge()
			f.nudge() // twice is once
			f.probe()
			f.shut()
		}},
	}
}
