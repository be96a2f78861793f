package postgres_test

import (
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// pair opens a store twice, as processes of two machines: neither can look into the other's process table.
func pair(t *testing.T) (a, b *postgres.Store, address string) {
	t.Helper()
	address = pgtest.Schema(t)
	for _, s := range []**postgres.Store{&a, &b} {
		var err error
		*s, err = postgres.Open(t.Context(), address)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, (*s).Close()) })
	}
	tamper(t, address, "UPDATE processes SET host = 'far ' || id, boot_id = 'far ' || id, beat = 1000000")
	return a, b, address
}

func leaseOne(t *testing.T, s *postgres.Store) *siding.Delivery {
	t.Helper()
	_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte("1")})
	require.NoError(t, err)
	l, err := s.Lease(t.Context(), request(1))
	require.NoError(t, err)
	require.Len(t, l.Deliveries, 1)
	return l.Deliveries[0]
}

func TestAProcessWhoseBeatStandsStillIsGone(t *testing.T) {
	t.Parallel()
	silent, other, address := pair(t)
	leaseOne(t, silent)
	w := postgres.Watch{}
	still := func() { tamper(t, address, "UPDATE processes SET beat = 1000000 WHERE id = ?", silent.Process()) }
	for range postgres.DeadAfter {
		still()
		require.NoError(t, other.Look(t.Context(), w))
		n, err := other.Reap(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "it may only be slow")
	}
	still()
	require.NoError(t, other.Look(t.Context(), w))
	n, err := other.Reap(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	r, err := other.Get(t.Context(), "q", "a")
	require.NoError(t, err)
	require.Equal(t, siding.StateReady, r.State)
	require.True(t, r.Suspect)
	require.Equal(t, siding.CauseWorkerCrash, r.History[0].Error.Cause)
	clean(t, other)
}

func TestAProcessThatBeatsIsNeverGone(t *testing.T) {
	t.Parallel()
	slow, other, _ := pair(t)
	d := leaseOne(t, slow)
	w := postgres.Watch{}
	for i := range 3 * postgres.DeadAfter {
		if i%(postgres.DeadAfter-1) == 0 {
			require.NoError(t, slow.Beat(t.Context()))
		}
		require.NoError(t, other.Look(t.Context(), w))
	}
	n, err := other.Reap(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	out, err := slow.Settle(t.Context(), siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy()})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
}

func TestAProcessThatWasTakenForGoneFindsItsLeasesTakenAndGoesOnUnderANewNumber(t *testing.T) {
	t.Parallel()
	paused, other, address := pair(t)
	before := paused.Process()
	d := leaseOne(t, paused)
	tamper(t, address, "UPDATE processes SET gone = true WHERE id = ?", before)
	n, err := other.Reap(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	out, err := paused.Settle(t.Context(), siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy()})
	require.NoError(t, err)
	require.ErrorIs(t, out[0].Err, siding.ErrStaleLease)
	require.NotEqual(t, before, paused.Process())
	r := request(1)
	l, err := paused.Lease(t.Context(), r)
	require.NoError(t, err)
	if len(l.Deliveries) == 0 { // it was put off for a moment
		require.False(t, l.NextAt.IsZero())
		require.Eventually(t, func() bool {
			l, err = paused.Lease(t.Context(), r)
			return err == nil && len(l.Deliveries) == 1
		}, 10*time.Second, 50*time.Millisecond)
	}
	clean(t, other)
}
