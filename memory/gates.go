package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/siding-dev/siding"
)

// scrubbed gives a key as it is kept: its name may come from a service.
func scrubbed(k siding.GateKey) siding.GateKey {
	k.Name = siding.Scrub(k.Name, siding.MaxHeader)
	return k
}

// gate gives the gate with a key, to be looked at and changed: how it stands at the end of the write is kept. Gates are
// kept as JSON, as in a durable store, so that a copy shares nothing with what a failed write leaves.
func (x *tx) gate(k siding.GateKey) (*siding.Gate, error) {
	k = scrubbed(k)
	if g := x.loaded[k]; g != nil {
		return g, nil
	}
	g := &siding.Gate{}
	if raw := x.gates[k]; raw != nil {
		if err := json.Unmarshal(raw, g); err != nil {
			return nil, fmt.Errorf("gate %s: %w", k, err)
		}
	}
	g.Key = k
	if x.loaded == nil {
		x.loaded = map[siding.GateKey]*siding.Gate{}
	}
	x.loaded[k] = g
	return g, nil
}

// watched gives the gates of a worker; nil where it watches none.
func (x *tx) watched(k siding.GateKeys) (out siding.Gates, err error) {
	for _, one := range []struct {
		key siding.GateKey
		to  **siding.Gate
	}{{k.Account, &out.Account}, {k.Lane, &out.Lane}, {k.Recipe, &out.Recipe}} {
		if one.key.Name == "" {
			continue
		}
		if *one.to, err = x.gate(one.key); err != nil {
			return siding.Gates{}, err
		}
	}
	return out, nil
}

// keepGates writes the gates that a write has looked at; those that have nothing to say are not kept.
func (x *tx) keepGates() error {
	for k, g := range x.loaded {
		if g.Idle() {
			drop(x, x.gates, k)
			continue
		}
		raw, err := json.Marshal(g)
		if err != nil {
			return fmt.Errorf("gate %s: %w", k, err)
		}
		set(x, x.gates, k, raw)
	}
	return nil
}

// Gates gives every gate that has something to say; see [siding.Gatekeeper].
func (s *Store) Gates(ctx context.Context) ([]siding.Gate, error) {
	var out []siding.Gate
	err := s.read(ctx, func(x *tx) error {
		for _, k := range slices.SortedFunc(maps.Keys(x.gates), compareKeys) {
			g, err := x.gate(k)
			if err != nil {
				return err
			}
			out = append(out, *g)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func compareKeys(a, b siding.GateKey) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Name, b.Name))
}

// Nudge lets one probe through each undated hold of these gates; see [siding.Gatekeeper].
func (s *Store) Nudge(ctx context.Context, keys siding.GateKeys) error {
	return s.write(ctx, "Nudge", func(x *tx) error {
		for _, k := range keys.All() {
			g, err := x.gate(k)
			if err != nil {
				return err
			}
			g.Nudge(x.now)
		}
		return nil
	})
}

// Resume ends the hold of a gate by hand; see [siding.Gatekeeper].
func (s *Store) Resume(ctx context.Context, k siding.GateKey, asPoison bool) error {
	return s.write(ctx, "Resume", func(x *tx) error {
		g, err := x.gate(k)
		if err != nil {
			return err
		}
		if g.Hold == nil {
			return fmt.Errorf("a hold of %s: %w", g.Key, siding.ErrNotFound)
		}
		what := ""
		if asPoison {
			what = "as poison"
		}
		x.apply(g.Resume(asPoison), siding.DefaultPolicy(), 0)
		x.did(siding.ActOf(ctx), siding.ActionResume, "", what, 1, g.Key.String())
		return nil
	})
}

// HoldGate holds a gate by hand until it is resumed; see [siding.Gatekeeper].
func (s *Store) HoldGate(ctx context.Context, k siding.GateKey, reason, by string) error {
	if _, ok := siding.ParseGateKey(scrubbed(k).String()); !ok {
		return fmt.Errorf("%q names no account, lane or recipe", scrubbed(k).String())
	}
	return s.write(ctx, "HoldGate", func(x *tx) error {
		g, err := x.gate(k)
		if err != nil {
			return err
		}
		g.HoldByHand(reason, by, x.now)
		act := siding.ActOf(ctx)
		act.By = cmp.Or(act.By, siding.Scrub(by, siding.MaxHeader))
		x.did(act, siding.ActionHold, "", reason, 1, g.Key.String())
		return nil
	})
}
