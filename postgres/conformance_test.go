package postgres_test

import (
	"sync"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/siding-dev/siding/storetest"
	"github.com/stretchr/testify/require"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{New: func(t testing.TB, o storetest.Options) storetest.Data {
		t.Helper()
		address := pgtest.Schema(t)
		var mu sync.Mutex
		opened := map[*postgres.Store]bool{}
		open := func(t testing.TB) *postgres.Store {
			t.Helper()
			s, err := postgres.Open(t.Context(), address, postgres.Options{Clock: o.Clock, Hook: o.Hook, Conns: 3})
			require.NoError(t, err)
			return s
		}
		return storetest.Data{
			Open: func(t testing.TB) siding.Store {
				t.Helper()
				s := open(t)
				mu.Lock()
				defer mu.Unlock()
				opened[s] = true
				return s
			},
			Kill: func(t testing.TB, s siding.Store) {
				t.Helper()
				require.NoError(t, s.(*postgres.Store).Kill(t.Context()))
			},
			Restart: func(t testing.TB) {
				t.Helper()
				mu.Lock()
				defer mu.Unlock()
				for s := range opened {
					_ = s.Kill(t.Context()) // some have been closed
				}
				tamper(t, address, "UPDATE processes SET boot_id = 'before the restart', gone = true")
			},
			Outdate: func(t testing.TB, k siding.GroupKey, fingerprint string) {
				t.Helper()
				s := open(t)
				require.NoError(t, s.Outdate(t.Context(), k, fingerprint))
				require.NoError(t, s.Close())
			},
			Corrupt: func(t testing.TB, queue, id string) {
				t.Helper()
				tamper(t, address, "UPDATE messages SET redrives = -1 WHERE event_id = ? AND queue = (SELECT id FROM queues WHERE name = ?)", id, queue)
			},
		}
	}})
}

// tamper changes a store's tables behind its back, as any client of the database can.
func tamper(t testing.TB, address, query string, args ...any) {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, postgres.Options{ReadOnly: true})
	require.NoError(t, err)
	require.NoError(t, s.Exec(t.Context(), query, args...))
	require.NoError(t, s.Close())
}
