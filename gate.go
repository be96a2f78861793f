package siding

import (
	"strings"
	"time"
)

// GateKey names what is at fault together: an account, a lane or a recipe. The zero key names nothing.
type GateKey struct {
	Scope Scope  `json:"scope"`
	Name  string `json:"name"`
}

// String writes the key as operators name it: scope:name.
func (k GateKey) String() string { return string(k.Scope) + ":" + k.Name }

// ParseGateKey reads what String writes.
func ParseGateKey(s string) (GateKey, bool) {
	scope, name, ok := strings.Cut(s, ":")
	k := GateKey{Scope(scope), name}
	return k, ok && name != "" && (k.Scope == ScopeAccount || k.Scope == ScopeLane || k.Scope == ScopeRecipe)
}

// GateKeys are the gates in a worker's way. A key with an empty name is not watched.
type GateKeys struct {
	Account, Lane, Recipe GateKey
}

// All gives the keys that name something, in the order account, lane, recipe.
func (k GateKeys) All() []GateKey {
	var all []GateKey
	for _, key := range []GateKey{k.Account, k.Lane, k.Recipe} {
		if key.Name != "" {
			all = append(all, key)
		}
	}
	return all
}

// HoldKind says what a hold is for. The values are stored, so the list is append-only.
type HoldKind string

// The kinds of hold.
const (
	HoldFault    HoldKind = "fault"    // a known fault of the account, the model or the configuration
	HoldOutage   HoldKind = "outage"   // the lane answers nobody
	HoldSystemic HoldKind = "systemic" // every message of the recipe fails alike
	HoldBudget   HoldKind = "budget"   // the next call could exceed the budget
	HoldManual   HoldKind = "manual"   // by an operator
)

// HoldKinds lists every kind, in the order in which they were added.
func HoldKinds() []HoldKind {
	return []HoldKind{HoldFault, HoldOutage, HoldSystemic, HoldBudget, HoldManual}
}

// Hold is a gate at rest because the fault is not the messages'.
type Hold struct {
	Kind  HoldKind  `json:"kind"`
	Cause Cause     `json:"cause,omitempty"`
	Text  string    `json:"text"` // scrubbed
	Since time.Time `json:"since"`
	// Until is the date that the service gave; zero when it gave none. Probes follow it.
	Until time.Time `json:"until,omitzero"`
	// NextProbe is when the next message may be sent to find out; zero when nothing is tried without an operator or a new
	// start.
	NextProbe time.Time `json:"next_probe,omitzero"`
	Probes    int       `json:"probes"` // that came back with the fault
	// By is the operator who made it by hand.
	By string `json:"by,omitempty"`
	// Stuck says that a systemic hold has used up its probes, and waits for an operator.
	Stuck bool `json:"stuck,omitempty"`
}

// SelfEnding tells whether the hold ends without anybody's doing.
func (h Hold) SelfEnding() bool {
	return h.Kind == HoldOutage || !h.Until.IsZero() || h.Kind == HoldSystemic && !h.Stuck
}

// Gate is the durable state of one account, lane or recipe, shared by all workers of a store. It changes only by its
// methods, which are pure; a store keeps it as JSON and changes it in the same write as the messages concerned.
type Gate struct {
	Key   GateKey `json:"key"`
	Hold  *Hold   `json:"hold,omitempty"`
	Probe *Probe  `json:"probe,omitempty"` // under way

	// Of a lane.
	Throttle    Throttle  `json:"throttle,omitzero"`
	Health      Health    `json:"health,omitzero"`
	FailedInRow []int64   `json:"failed_in_row,omitempty"` // different messages that failed since the last success
	LastSuccess time.Time `json:"last_success,omitzero"`
	// FailedCalls counts the transient failures since the last success, and FailedSince is when the first of them came.
	FailedCalls int       `json:"failed_calls,omitempty"`
	FailedSince time.Time `json:"failed_since,omitzero"`

	// Of a recipe.
	Streaks   []Streak `json:"streaks,omitempty"`
	Succeeded bool     `json:"succeeded,omitempty"` // a message of this recipe digest was done, ever
	AsPoison  []string `json:"as_poison,omitempty"` // fingerprints that an operator has called the messages' own
}

// Probe is a delivery that finds out whether a fault has ended.
type Probe struct {
	Token LeaseToken `json:"token"`
	Since time.Time  `json:"since"`
}

// Open tells whether nothing is in the way at the gate now.
func (g *Gate) Open() bool {
	return g == nil || g.Hold == nil && g.Throttle.Until.IsZero() && g.Probe == nil
}

// Idle tells whether the gate says no more than a gate that nobody has heard of; a store need not keep it.
func (g *Gate) Idle() bool {
	return g.Open() && g.Health.Counted == 0 && len(g.FailedInRow) == 0 && g.FailedCalls == 0 && g.LastSuccess.IsZero() && len(g.Streaks) == 0 &&
		!g.Succeeded && len(g.AsPoison) == 0
}

// Gates are the gates of one worker; nil where none is watched.
type Gates struct {
	Account, Lane, Recipe *Gate
}

func (g Gates) each(fn func(*Gate)) {
	for _, gate := range []*Gate{g.Account, g.Lane, g.Recipe} {
		if gate != nil {
			fn(gate)
		}
	}
}

// Admission says how many messages may be leased now, and which.
type Admission struct {
	// Max is how many messages may be leased.
	Max int
	// Probe says that the one message that may be leased finds out whether a fault has ended. The store chooses it at
	// random among those that wait, and calls [Gates.Probing] with its token.
	Probe bool
	// Untried asks for a probe that has not failed before and is not among Not.
	Untried bool
	Not     []int64 // the store's numbers of messages that are no probes: the members of a streak
	// At is when to ask again; zero when nothing changes by itself.
	At time.Time
	// Blocked are the gates in the way.
	Blocked []Gate
}

// Admit says how many of the asked messages may be leased now.
func (g Gates) Admit(asked int, now time.Time) Admission {
	a := Admission{Max: asked}
	closed := func(at time.Time) {
		if a.Max = 0; a.At.IsZero() || !at.IsZero() && at.After(a.At) {
			a.At = at
		}
	}
	g.each(func(gate *Gate) {
		if gate.Open() {
			return
		}
		a.Blocked = append(a.Blocked, gate.asItStands())
		at, ok := gate.due(now)
		switch {
		case !ok || gate.Probe != nil:
			closed(time.Time{})
		case at.After(now):
			closed(at)
		default:
			a.Probe, a.Max = true, min(a.Max, 1)
			if h := gate.Hold; h != nil && h.Kind == HoldSystemic {
				a.Untried = true
				for _, s := range gate.Streaks {
					a.Not = append(a.Not, s.numbers()...)
				}
			}
		}
	})
	a.Probe = a.Probe && a.Max > 0
	// A gate that opens by itself is no use while another does not.
	for _, b := range a.Blocked {
		if _, ok := b.due(now); !ok {
			a.At = time.Time{}
		}
	}
	return a
}

// asItStands gives a copy that a later change of the hold leaves alone.
func (g *Gate) asItStands() Gate {
	c := *g
	if g.Hold != nil {
		h := *g.Hold
		c.Hold = &h
	}
	return c
}

// due is when the next message may pass the gate as a probe; false when never by itself.
func (g *Gate) due(now time.Time) (time.Time, bool) {
	at := g.Throttle.Until
	if h := g.Hold; h != nil {
		switch {
		case h.Until.After(now):
			if h.NextProbe.IsZero() || h.NextProbe.After(now) {
				at = later(at, h.Until)
			}
		case !h.NextProbe.IsZero():
			at = later(at, h.NextProbe)
		case h.Until.IsZero():
			return time.Time{}, false
		}
	}
	return at, true
}

// Probing notes that a message has been leased as a probe.
func (g Gates) Probing(t LeaseToken, now time.Time) {
	g.each(func(gate *Gate) {
		if !gate.Open() {
			gate.Probe = &Probe{Token: t, Since: now}
			if h := gate.Hold; h != nil && !h.Until.After(now) && h.Kind != HoldOutage && h.Kind != HoldSystemic {
				h.NextProbe = time.Time{} // one is enough; what it finds decides
			}
		}
	})
}

// ForgetProbe gives up a probe whose lease is over without a settlement: it found nothing out, so another may be sent.
func (g *Gate) ForgetProbe(now time.Time) {
	g.Probe = nil
	g.probeAgain(now)
}

// probeAgain lets another probe through at a time, where the hold is one that probes are sent through by themselves. A
// date that is waited for stays, and what an operator has closed stays closed.
func (g *Gate) probeAgain(at time.Time) {
	if h := g.Hold; h != nil && h.Kind != HoldManual && !h.Stuck && !h.Until.After(at) {
		h.NextProbe = at
	}
}

// HoldByHand holds the gate until it is resumed, for a reason and in the name of an operator, both of which it scrubs. A
// gate that is held already is held by hand from then on.
func (g *Gate) HoldByHand(reason, by string, now time.Time) {
	h := Hold{Kind: HoldManual, Text: Scrub(reason, MaxHeader), By: Scrub(by, MaxHeader), Since: now}
	if g.Hold != nil {
		h.Probes = g.Hold.Probes // what they found out about the members of a streak still counts
	}
	g.Hold = &h
}

// Nudge lets one probe through an undated hold at once, as each start of a run does.
func (g *Gate) Nudge(now time.Time) {
	if h := g.Hold; h != nil && h.Kind != HoldManual && h.Until.IsZero() {
		h.NextProbe = now
	}
}

// Resume ends a hold by hand. With asPoison the failures of a systemic hold are the messages' own from now on: its
// members are convicted, and their fingerprint makes no hold again.
func (g *Gate) Resume(asPoison bool) []Effect {
	var effects []Effect
	if asPoison {
		for _, s := range g.Streaks {
			if s.Held {
				g.AsPoison = append(g.AsPoison, s.Fingerprint)
				effects = append(effects, Effect{Convict: s.Members})
			}
		}
	}
	g.Hold, g.Probe, g.Streaks, g.FailedInRow, g.Throttle, g.Health = nil, nil, nil, nil, Throttle{}, Health{}
	g.FailedCalls, g.FailedSince = 0, time.Time{}
	return effects
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
