package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/siding-dev/siding/storetest"
	"github.com/stretchr/testify/require"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{New: func(t testing.TB, o storetest.Options) storetest.Data {
		path := filepath.Join(t.TempDir(), "s.db")
		var mu sync.Mutex
		opened := map[*sqlite.Store]bool{}
		return storetest.Data{
			Open: func(t testing.TB) siding.Store {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: o.Clock, Hook: o.Hook, MinFree: -1})
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				opened[s] = true
				return s
			},
			Kill: func(_ testing.TB, s siding.Store) { s.(*sqlite.Store).Kill() },
			Restart: func(t testing.TB) {
				mu.Lock()
				defer mu.Unlock()
				for s := range opened {
					s.Kill()
				}
				tamper(t, path, "UPDATE processes SET boot_id = 'before the restart'")
			},
			Outdate: func(t testing.TB, k siding.GroupKey, fingerprint string) {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: o.Clock, MinFree: -1})
				require.NoError(t, err)
				s.Outdate(t, k, fingerprint)
				require.NoError(t, s.Close())
			},
			Corrupt: func(t testing.TB, queue, id string) {
				tamper(t, path, "UPDATE messages SET redrives = -1 WHERE event_id = ? AND queue = (SELECT id FROM queues WHERE name = ?)", id, queue)
			},
		}
	}})
}

// tamper changes a store's file behind its back, as any SQLite tool can.
func tamper(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000")
	require.NoError(t, err)
	_, err = db.Exec(query, args...)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}
