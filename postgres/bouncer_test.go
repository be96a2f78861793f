package postgres_test

import (
	"fmt"
	"testing"

	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// TestThroughAPoolerThatHandsSessionsRoundByTransaction has processes share three sessions, which are anybody's between two
// transactions.
func TestThroughAPoolerThatHandsSessionsRoundByTransaction(t *testing.T) {
	t.Parallel()
	address := pgtest.Bouncer(t, pgtest.Database(t)) + "&default_query_exec_mode=cache_describe"
	stormOf(t, address, 2, 3, 60)
	s, err := postgres.Open(t.Context(), address, postgres.Options{ReadOnly: true})
	require.NoError(t, err)
	before, err := s.Now(t.Context())
	require.NoError(t, err)
	for range 3 {
		now, err := s.Now(t.Context())
		require.NoError(t, err)
		require.False(t, now.Before(before), fmt.Sprint(now, before))
	}
	require.NoError(t, s.Close())
}
