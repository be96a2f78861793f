package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestCheckFindsBrokenRows(t *testing.T) {
	t.Parallel()
	for rule, broken := range map[string]func(m *message){
		"state-unknown":         func(m *message) { m.State = "lost" },
		"id-lost":               func(m *message) { m.ID = "b" },
		"lease-mismatch":        func(m *message) { m.lease.nonce = 7 },
		"ready-unavailable":     func(m *message) { m.AvailableAt = time.Now() },
		"dead-incomplete":       func(m *message) { m.LastError = nil },
		"result-without-answer": func(m *message) { m.result = []byte("1") },
		"superseding-body-waits": func(m *message) {
			m.next = &siding.NewMessage{}
		},
		"suspect-impossible": func(m *message) { m.SoloCrashes = 1 },
		"held-never":         func(m *message) { m.LastError.Outcome = siding.OutcomeHeld },
		"relabelled-half":    func(m *message) { m.history[0].Outcome = siding.OutcomeHeld },
		"counters":           func(m *message) { m.Gray = 3 },
		"history":            func(m *message) { m.history = nil },
	} {
		s := Open(Options{})
		ctx, policy := t.Context(), siding.DefaultPolicy()
		_, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
		require.NoError(t, err)
		l, err := s.Lease(ctx, siding.LeaseRequest{Queue: "q", Max: 1, Duration: time.Minute, Policy: policy})
		require.NoError(t, err)
		_, err = s.Settle(ctx, siding.Settlement{
			Token: l.Deliveries[0].Token, Policy: policy, Failure: siding.FailureOf(siding.Permanent(errors.New("no"))),
		})
		require.NoError(t, err)
		found := func() (rules []string) {
			for v, err := range s.Check(ctx) {
				require.NoError(t, err)
				rules = append(rules, v.Rule)
			}
			return rules
		}
		require.Empty(t, found())
		broken(s.db.messages[1])
		require.Contains(t, found(), rule)
	}
}
