package alert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// Key is the key of the note in which the store keeps what has been told of a queue.
func Key(queue string) string { return "alert/" + queue }

// State is what has been told of a queue, and what is still to be sent. The zero value is that of a queue of which
// nothing has been told.
type State struct {
	V          int         `json:"v"`
	Made       int64       `json:"made"` // notices so far
	Conditions []Condition `json:"conditions,omitempty"`
	Groups     Told        `json:"groups,omitzero"`
	Pending    []Pending   `json:"pending,omitempty"`
}

// Condition is one that has fired, until it has ended and could fire again.
type Condition struct {
	Key     string    `json:"key"` // the rule, and what tells it from others of the rule
	Rule    Rule      `json:"rule"`
	Limit   int64     `json:"limit,omitempty"` // of rule dead
	Firing  bool      `json:"firing"`
	Since   time.Time `json:"since"`    // the condition holds
	FiredAt time.Time `json:"fired_at"` // the latest notice that it began
}

// Told says which of the groups in state new have been told of.
type Told struct {
	Version string           `json:"version,omitempty"` // of the fingerprints
	At      time.Time        `json:"at,omitzero"`       // of the latest notice
	New     map[string]int64 `json:"new,omitempty"`     // by fingerprint: when they appeared or came back, as they were told
	// Until covers all that appeared or came back until then, also those that are not in New: there are too many, or they
	// have other fingerprints now. In microseconds since 1970.
	Until int64 `json:"until,omitempty"`
}

// maxTold bounds the groups of which it is remembered one by one that they have been told of.
const maxTold = 3000

func (t *Told) has(g siding.Group) bool {
	at, ok := t.New[toldKey(g)]
	return appeared(g) <= t.Until || ok && at >= appeared(g)
}

func (t *Told) add(g siding.Group) {
	if t.New == nil {
		t.New = map[string]int64{}
	}
	if t.New[toldKey(g)] = appeared(g); len(t.New) > maxTold {
		t.condense()
	}
}

// condense covers all that are remembered by a time.
func (t *Told) condense() {
	for _, at := range t.New {
		t.Until = max(t.Until, at)
	}
	t.New = nil
}

func toldKey(g siding.Group) string { return siding.Scrub(g.Key.Fingerprint, 64) }

// appeared is when the group became one to be told of: when it was first seen, or came back after it was resolved.
func appeared(g siding.Group) int64 {
	if g.RegressedAt.After(g.FirstSeen) {
		return g.RegressedAt.UnixMicro()
	}
	return g.FirstSeen.UnixMicro()
}

// stateVersion is the version of the form in which a state is written.
const stateVersion = 1

// decode reads a state as a note holds it.
func decode(value []byte) (State, error) {
	var s State
	if len(value) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(value, &s); err != nil {
		return State{}, fmt.Errorf("what has been told cannot be read, and is forgotten: %w", err)
	}
	if s.V != stateVersion {
		return State{}, fmt.Errorf("what has been told is of version %d, and this program knows version %d; it is forgotten", s.V, stateVersion)
	}
	return s, nil
}

func (s State) encode() ([]byte, error) {
	s.V = stateVersion
	return json.Marshal(s)
}

// clone gives a copy whose changes leave s alone.
func (s State) clone() State {
	s.Conditions, s.Pending, s.Groups.New = slices.Clone(s.Conditions), slices.Clone(s.Pending), maps.Clone(s.Groups.New)
	return s
}
