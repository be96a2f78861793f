package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/siding-dev/siding"
)

// keptGate is a gate that a transaction has looked at.
type keptGate struct {
	gate siding.Gate
	raw  string // as it stands in the store; empty: not there
	err  error  // it cannot be read, and is left as it is
}

// scrubbed gives a key as it is stored: its name may come from a service.
func scrubbed(k siding.GateKey) siding.GateKey {
	k.Name = siding.Scrub(k.Name, siding.MaxHeader)
	return k
}

// gate gives the gate with a key, to be looked at and changed: how it stands at the end of the transaction is written.
func (t *tx) gate(k siding.GateKey) (*keptGate, error) {
	k = scrubbed(k)
	if g := t.gates[k]; g != nil {
		return g, nil
	}
	if err := t.mustBeAlone(); err != nil { // it has not been locked
		return nil, err
	}
	raw := ""
	_, err := t.one(func(r *row) { raw = r.str(0) }, "SELECT gate FROM gates WHERE scope = ? AND name = ?", string(k.Scope), k.Name)
	if err != nil {
		return nil, err
	}
	return t.keep(k, raw), nil
}

// keep takes in a gate as it stands in the store.
func (t *tx) keep(k siding.GateKey, raw string) *keptGate {
	g := &keptGate{raw: raw}
	if raw != "" {
		g.gate, g.err = decodeGate(k, raw)
	}
	g.gate.Key = k
	t.gates[k] = g
	return g
}

func decodeGate(k siding.GateKey, raw string) (g siding.Gate, err error) {
	if err = json.Unmarshal([]byte(raw), &g); err == nil && g.Key != k {
		err = fmt.Errorf("it says that it is %s", siding.Scrub(g.Key.String(), 128))
	}
	if err != nil {
		return siding.Gate{}, fmt.Errorf("what the store knows of %s cannot be read, and is forgotten when it is resumed: %w", k, err)
	}
	return g, nil
}

// watched gives the gates of a worker; nil where it watches none. What is to be done about one that cannot be read is
// the caller's choice: it is nil too, and the error is of the first.
func (t *tx) watched(k siding.GateKeys) (out siding.Gates, unreadable, err error) {
	for _, one := range [...]struct {
		key siding.GateKey
		to  **siding.Gate
	}{{k.Account, &out.Account}, {k.Lane, &out.Lane}, {k.Recipe, &out.Recipe}} {
		if one.key.Name == "" {
			continue
		}
		g, err := t.gate(one.key)
		switch {
		case err != nil:
			return siding.Gates{}, nil, err
		case g.err == nil:
			*one.to = &g.gate
		case unreadable == nil:
			unreadable = g.err
		}
	}
	return out, unreadable, nil
}

// keepGates writes the gates that have changed; those that have nothing to say are not kept.
func (t *tx) keepGates() error {
	for k, g := range t.gates {
		if g.err != nil {
			continue
		}
		raw := ""
		if !g.gate.Idle() {
			b, err := json.Marshal(&g.gate)
			if err != nil {
				return fmt.Errorf("keep what is known of %s: %w", k, err)
			}
			raw = string(b)
		}
		var err error
		switch {
		case raw == g.raw:
			continue
		case raw == "":
			err = t.send("DELETE FROM gates WHERE scope = ? AND name = ?", string(k.Scope), k.Name)
		default:
			err = t.send(`INSERT INTO gates (scope, name, gate) VALUES (?, ?, ?)
				ON CONFLICT (scope, name) DO UPDATE SET gate = excluded.gate`, string(k.Scope), k.Name, raw)
		}
		if err != nil {
			return err
		}
		g.raw = raw
	}
	return nil
}

// observed is what the gates of a settlement made of it.
type observed struct {
	failure *siding.Failure // as it counts
	effects []siding.Effect
}

// observe shows the gates of a settlement how the delivery ended. A gate that cannot be read is passed by: what has been
// worked must be settled.
func (t *tx) observe(m *stored, s siding.Settlement) (observed, error) {
	if s.Gates == (siding.GateKeys{}) {
		return observed{failure: s.Failure}, nil
	}
	gates, _, err := t.watched(s.Gates)
	if err != nil {
		return observed{}, err
	}
	var o observed
	o.failure, o.effects = gates.Observe(siding.Observed{
		Token: s.Token, Delivery: m.Deliveries, Started: m.leaseStarted, Attempt: m.Attempt, Redrives: m.Redrives,
		HeldAt: m.HeldAt, Failure: s.Failure, NoCall: s.NoCall, OtherLane: s.OtherLane,
	}, fromMicros(t.now), s.Rand)
	return o, nil
}

// Gates gives every gate that has something to say; see [siding.Gatekeeper].
func (s *Store) Gates(ctx context.Context) ([]siding.Gate, error) {
	var out []siding.Gate
	err := s.read(ctx, func(c *conn) error {
		return c.query(func(r *row) error {
			g, err := decodeGate(siding.GateKey{Scope: siding.Scope(r.str(0)), Name: r.str(1)}, r.str(2))
			if err == nil {
				err = r.err
			}
			out = append(out, g)
			return err
		}, "SELECT scope, name, gate FROM gates ORDER BY scope, name")
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Nudge lets one probe through each undated hold of these gates; see [siding.Gatekeeper].
func (s *Store) Nudge(ctx context.Context, keys siding.GateKeys) error {
	return s.write(ctx, "nudge", 0, func(t *tx) error {
		for _, k := range keys.All() {
			g, err := t.gate(k)
			if err != nil {
				return err
			}
			if g.err != nil {
				return g.err
			}
			g.gate.Nudge(fromMicros(t.now))
		}
		return nil
	})
}

// Resume ends the hold of a gate by hand; see [siding.Gatekeeper]. One that cannot be read is forgotten.
func (s *Store) Resume(ctx context.Context, k siding.GateKey, asPoison bool) error {
	act := siding.ActOf(ctx)
	return s.write(ctx, "resume", 0, func(t *tx) error {
		g, err := t.gate(k)
		if err != nil {
			return err
		}
		what := ""
		switch {
		case g.err != nil:
			g.err, what = nil, "what was known of it could not be read"
		case g.gate.Hold == nil:
			return fmt.Errorf("a hold of %s: %w", g.gate.Key, siding.ErrNotFound)
		default:
			if asPoison {
				what = "as poison"
			}
			if err := t.apply(g.gate.Resume(asPoison), siding.DefaultPolicy(), 0); err != nil {
				return err
			}
		}
		return t.did(act, siding.ActionResume, "", what, 1, g.gate.Key.String())
	})
}

// HoldGate holds a gate by hand until it is resumed; see [siding.Gatekeeper]. One that cannot be read is forgotten.
func (s *Store) HoldGate(ctx context.Context, k siding.GateKey, reason, by string) error {
	if name := scrubbed(k).String(); !isGateName(name) {
		return fmt.Errorf("%q names no account, lane or recipe", siding.Scrub(name, 64))
	}
	act := siding.ActOf(ctx)
	act.By = cmp.Or(act.By, siding.Scrub(by, siding.MaxHeader))
	return s.write(ctx, "hold-gate", 0, func(t *tx) error {
		g, err := t.gate(k)
		if err != nil {
			return err
		}
		g.err = nil
		g.gate.HoldByHand(reason, by, fromMicros(t.now))
		return t.did(act, siding.ActionHold, "", reason, 1, g.gate.Key.String())
	})
}

func isGateName(name string) bool {
	_, ok := siding.ParseGateKey(name)
	return ok
}
