package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// maxGateJSON bounds what a gate may grow to, in bytes.
const maxGateJSON = 64 << 10

// gates: each is listed once, in order, and says nothing that contradicts itself.
func (c *checker) gates(ctx context.Context, store siding.Store) {
	all, err := store.Gates(ctx)
	if err != nil {
		c.found = append(c.found, fmt.Errorf("the gates cannot be read: %w", err))
		return
	}
	if !slices.IsSortedFunc(all, func(a, b siding.Gate) int { return strings.Compare(a.Key.String(), b.Key.String()) }) {
		c.found = append(c.found, fmt.Errorf("the gates are not sorted"))
	}
	seen := map[siding.GateKey]bool{}
	for i := range all {
		g := &all[i]
		rule := func(holds bool, format string, args ...any) {
			if !holds {
				c.found = append(c.found, fmt.Errorf("gate %q: %s", g.Key, fmt.Sprintf(format, args...)))
			}
		}
		rule(!seen[g.Key], "is listed twice")
		seen[g.Key] = true
		c.gate(g, rule)
	}
}

func (c *checker) gate(g *siding.Gate, rule ruler) {
	_, ok := siding.ParseGateKey(g.Key.String())
	rule(ok && g.Key.Name == siding.Scrub(g.Key.Name, siding.MaxHeader), "has a key that cannot be used")
	rule(!g.Idle(), "has nothing to say")
	raw, err := json.Marshal(g)
	rule(err == nil && len(raw) < maxGateJSON, "cannot be kept: %d bytes, %v", len(raw), err)

	held := false
	fingerprints := map[string]bool{}
	for _, s := range g.Streaks {
		held = held || s.Held
		rule(!fingerprints[s.Fingerprint], "follows one kind of failure twice")
		fingerprints[s.Fingerprint] = true
		rule(len(s.Members) > 0 && !s.Begun.IsZero(), "has a streak without a beginning")
		members := map[int64]bool{}
		for _, m := range s.Members {
			rule(!members[m.Message] && m.Delivery >= 1, "has message %d twice in a streak, or for delivery %d", m.Message, m.Delivery)
			members[m.Message] = true
			rule(m.Outcome == siding.OutcomePermanent || m.Outcome == siding.OutcomeGray, "has a %s member", m.Outcome)
		}
	}
	rule(!held || g.Hold != nil, "is open, and a streak is held at it")
	rule(g.Probe == nil || g.Probe.Token != siding.LeaseToken{} && !g.Probe.Since.IsZero(), "is probed by nobody")
	h := g.Hold
	if h == nil {
		return
	}
	rule(slices.Contains(siding.HoldKinds(), h.Kind), "is held as %q", h.Kind)
	rule(!h.Since.IsZero() && h.Probes >= 0, "is held since %v after %d probes", h.Since, h.Probes)
	rule(h.Text == siding.Scrub(h.Text, siding.MaxHeader) && h.By == siding.Scrub(h.By, siding.MaxHeader), "has an unsafe text")
	rule(h.Kind != siding.HoldSystemic || held, "is held for a streak that is not there")
	rule(h.Kind == siding.HoldManual || h.By == "", "is held by %q as %s", h.By, h.Kind)
	rule(h.Kind != siding.HoldManual || h.NextProbe.IsZero() && h.Until.IsZero(), "is held by hand, and opens by itself")
}
