//go:build linux

package sqlite_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/stretchr/testify/require"
)

func TestAStoreHasOneLockFileUnderAllItsNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link, far := filepath.Join(dir, "real.db"), filepath.Join(dir, "link.db"), filepath.Join(t.TempDir(), "far.db")
	require.NoError(t, os.Symlink("real.db", link))
	require.NoError(t, os.Symlink(link, far))

	first, err := sqlite.Open(t.Context(), far)
	require.NoError(t, err, "a link to a store that is not there yet makes it")
	defer first.Close()
	st, err := os.Lstat(target)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode())
	require.NoFileExists(t, link+"-lock")
	require.NoFileExists(t, far+"-lock")

	ctx := context.Background()
	_, err = first.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte("{}")})
	require.NoError(t, err)
	second, err := sqlite.Open(ctx, target)
	require.NoError(t, err)
	_, err = second.Reap(ctx)
	require.NoError(t, err)
	require.NoError(t, second.Close())
	stats, err := first.Stats(ctx, "q")
	require.NoError(t, err)
	require.EqualValues(t, 1, stats[0].Ready)
}

func TestAStoreWithTwoNamesIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Link(path, filepath.Join(dir, "other.db")))
	for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
		_, err = sqlite.Open(t.Context(), filepath.Join(dir, "other.db"), o)
		require.ErrorContains(t, err, "has 2 names")
		require.ErrorIs(t, err, sqlite.ErrPlace)
	}
	require.NoFileExists(t, filepath.Join(dir, "other.db-lock"))
	require.NoError(t, os.Remove(path))
	s, err = sqlite.Open(t.Context(), filepath.Join(dir, "other.db"))
	require.NoError(t, err, "one name is left")
	require.NoError(t, s.Close())

	require.NoError(t, os.Symlink("b", filepath.Join(dir, "a")))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "b")))
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "a"))
	require.ErrorContains(t, err, "circle")
}
