package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

// gateKeys gives the gates that a worker watches: all of the run's, but for some who watch none or not all.
func (m *model) gateKeys() siding.GateKeys {
	k := m.keys
	switch rapid.IntRange(0, 11).Draw(m.T, "gates") {
	case 10:
		k.Recipe = siding.GateKey{}
	case 11:
		k = siding.GateKeys{}
	}
	return k
}

// gatesOf gives a store's gates of these keys, as a store would look at them.
func (m *model) gatesOf(s siding.Store, k siding.GateKeys) (out siding.Gates) {
	all, err := s.Gates(m.ctx)
	require.NoError(m, err)
	for _, one := range []struct {
		key siding.GateKey
		to  **siding.Gate
	}{{k.Account, &out.Account}, {k.Lane, &out.Lane}, {k.Recipe, &out.Recipe}} {
		if one.key.Name == "" {
			continue
		}
		*one.to = &siding.Gate{Key: one.key}
		if i := slices.IndexFunc(all, func(g siding.Gate) bool { return g.Key == one.key }); i >= 0 {
			*one.to = &all[i]
		}
	}
	return out
}

func (m *model) key() siding.GateKey { return rapid.SampledFrom(m.keys.All()).Draw(m.T, "key") }

func (m *model) nudge(*rapid.T) {
	for _, s := range []siding.Store{m.f.store, m.ref} {
		require.NoError(m, s.Nudge(m.ctx, m.keys))
	}
}

func (m *model) hold(*rapid.T) {
	if rapid.IntRange(0, 5).Draw(m.T, "really") != 5 { // it stops everything
		m.Skip("not now")
	}
	k := m.key()
	for _, s := range []siding.Store{m.f.store, m.ref} {
		require.NoError(m, s.HoldGate(m.ctx, k, "why", "me"))
	}
}

func (m *model) resume(*rapid.T) {
	k, asPoison := m.key(), rapid.Bool().Draw(m.T, "as poison")
	got := outcome(m.f.store.Resume(m.ctx, k, asPoison))
	require.Equal(m, outcome(m.ref.Resume(m.ctx, k, asPoison)), got)
}

// compareGates asks for the same gates in both stores.
func (m *model) compareGates() {
	of := func(s siding.Store) (out []siding.Gate) {
		all, err := s.Gates(m.ctx)
		require.NoError(m, err)
		for _, g := range all {
			if g.Key.Name == m.queue {
				out = append(out, g)
			}
		}
		return out
	}
	m.sameGates(of(m.ref), of(m.f.store))
}

func (m *model) sameGates(ref, sut []siding.Gate) {
	require.Len(m, sut, len(ref))
	for i := range ref {
		w, wantTimes := gateView(ref[i])
		g, gotTimes := gateView(sut[i])
		require.Equal(m, w, g)
		require.Len(m, gotTimes, len(wantTimes))
		for j := range wantTimes {
			m.sameMoment(wantTimes[j], gotTimes[j], "gate "+ref[i].Key.String())
		}
	}
}

// sameMoment is sameTime for what may be no time at all.
func (m *model) sameMoment(ref, sut time.Time, what string) {
	require.Equal(m, ref.IsZero(), sut.IsZero(), "%s: %v, %v", what, ref, sut)
	if !ref.IsZero() {
		m.sameTime(ref, sut, what)
	}
}

// gateView gives what stores must agree on about a gate, and the times in it apart: not by which numbers they know the
// messages.
func gateView(g siding.Gate) (siding.Gate, []time.Time) {
	var times []time.Time
	at := func(t *time.Time) {
		times = append(times, *t)
		*t = time.Time{}
	}
	if g.Hold != nil {
		h := *g.Hold
		at(&h.Since)
		at(&h.Until)
		at(&h.NextProbe)
		g.Hold = &h
	}
	if g.Probe != nil {
		p := *g.Probe
		at(&p.Since)
		p.Token = siding.LeaseToken{}
		g.Probe = &p
	}
	at(&g.Throttle.Until)
	at(&g.Throttle.Begun)
	at(&g.Throttle.Since)
	at(&g.LastSuccess)
	at(&g.FailedSince)
	g.Throttle.Only = min(g.Throttle.Only, 0) // -1, or some message
	g.FailedInRow = make([]int64, len(g.FailedInRow))
	g.Streaks = slices.Clone(g.Streaks)
	for i := range g.Streaks {
		s := &g.Streaks[i]
		at(&s.Begun)
		s.Members = slices.Clone(s.Members)
		for j := range s.Members {
			s.Members[j].Message = 0
		}
	}
	g.Streaks = append([]siding.Streak{}, g.Streaks...)
	return g, times
}

// letGo ends what the run has left in flight: the next run's messages would not be alone with it.
func (m *model) letGo() {
	for _, s := range []siding.Store{m.f.store, m.ref} {
		_, err := s.Discard(m.ctx, m.queue, "the run is over", modelIDs...)
		require.NoError(m, err)
	}
}
