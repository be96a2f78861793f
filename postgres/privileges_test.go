package postgres_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// TestThePrivilegesOfTheManualAreEnough grants what docs/postgres.md says, and no more.
func TestThePrivilegesOfTheManualAreEnough(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	manual, err := os.ReadFile("../docs/postgres.md")
	require.NoError(t, err)
	grants := regexp.MustCompile(`GRANT [^;]+;`).FindAllString(string(manual), -1)
	require.Len(t, grants, 6)
	admin := connect(t, address)
	for _, role := range []string{"worker", "viewer"} {
		_, err := admin.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN")
		require.NoError(t, err)
		t.Cleanup(func() { pgtest.Shared(t).Exec(t, "postgres", "DROP ROLE "+role) }) // after its database
	}
	t.Cleanup(func() { pgtest.Shared(t).Exec(t, databaseOf(address), "DROP OWNED BY worker, viewer") })
	for _, grant := range grants {
		_, err := admin.Exec(t.Context(), grant)
		require.NoError(t, err)
	}
	worker, err := postgres.Open(t.Context(), strings.Replace(address, "postgres@", "worker@", 1))
	require.NoError(t, err)
	d := leaseOne(t, worker)
	out, err := worker.Settle(t.Context(), siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy(), Result: []byte("1")})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	_, err = worker.Reap(t.Context())
	require.NoError(t, err)
	clean(t, worker)
	require.NoError(t, worker.Close())

	for _, o := range []postgres.Options{{ReadOnly: true}, {}} {
		viewer, err := postgres.Open(t.Context(), strings.Replace(address, "postgres@", "viewer@", 1), o)
		if !o.ReadOnly {
			require.ErrorIs(t, err, siding.ErrReadOnly)
			continue
		}
		require.NoError(t, err)
		r, err := viewer.Get(t.Context(), "q", "a")
		require.NoError(t, err)
		require.Equal(t, siding.StateDone, r.State)
		_, err = viewer.Now(t.Context())
		require.NoError(t, err)
		clean(t, viewer)
		require.NoError(t, viewer.Close())
	}
}

// databaseOf gives the name of the database in an address.
func databaseOf(address string) string {
	_, rest, _ := strings.Cut(address, "@/")
	name, _, _ := strings.Cut(rest, "?")
	return name
}
