package sqlite_test

import (
	"path/filepath"
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
		return storetest.Data{
			Open: func(t testing.TB) siding.Store {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: o.Clock, Hook: o.Hook, MinFree: -1})
				require.NoError(t, err)
				return s
			},
			Kill: func(t testing.TB, s siding.Store) { s.(*sqlite.Store).Kill() },
		}
	}})
}
