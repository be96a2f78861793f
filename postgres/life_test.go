package postgres_test

import (
	"fmt"

	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

func open(t testing.TB, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), pgtest.Schema(t), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestLife(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Options{})
	ctx := t.Context()
	for i := range 3 {
		e, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint("e", i), Body: []byte{0xff, byte(i)}})
		require.NoError(t, err)
		require.Equal(t, siding.EnqueueNew, e[0].Status)
	}
	l, err := s.Lease(ctx, siding.LeaseRequest{Queue: "q", Worker: "w", Max: 2, Duration: time.Minute, Policy: siding.DefaultPolicy()})
	require.NoError(t, err)
	require.Len(t, l.Deliveries, 2)
	require.Equal(t, "e0", l.Deliveries[0].ID)
	require.Equal(t, []byte{0xff, 0}, l.Deliveries[0].Body)
	require.Equal(t, 2, l.InFlight)
	require.False(t, l.NextAt.IsZero())
	out, err := s.Settle(ctx,
		siding.Settlement{Token: l.Deliveries[0].Token, Policy: siding.DefaultPolicy(), Result: []byte("{}"), Digest: "d"},
		siding.Settlement{Token: l.Deliveries[1].Token, Policy: siding.DefaultPolicy(), Failure: siding.FailureOf(fmt.Errorf("x"))},
		siding.Settlement{Token: l.Deliveries[1].Token, Policy: siding.DefaultPolicy()},
	)
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	require.Equal(t, siding.StateDone, out[0].Decision.State)
	require.NoError(t, out[1].Err)
	require.Equal(t, siding.StateReady, out[1].Decision.State)
	require.ErrorIs(t, out[2].Err, siding.ErrStaleLease)
}

func request(most int) siding.LeaseRequest {
	return siding.LeaseRequest{Queue: "q", Worker: "w", Max: most, MaxRetries: -1, Duration: time.Hour, Policy: siding.DefaultPolicy()}
}

// clean asks for a store in which no rule is broken.
func clean(t testing.TB, s *postgres.Store) {
	t.Helper()
	for v, err := range s.Check(t.Context()) {
		require.NoError(t, err)
		require.Fail(t, "a rule is broken", "%+v", v)
	}
}
