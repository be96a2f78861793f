//go:build linux

package sqlite_test

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestOpenSaysWhatIsWrongWithAPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600))
	foreign := filepath.Join(dir, "foreign.db")
	tamper(t, foreign, "CREATE TABLE theirs (x)")
	simulated := filepath.Join(dir, "sim.db")
	s, err := sqlite.Open(t.Context(), simulated, sqlite.Options{Mode: sqlite.Simulated})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	newer := filepath.Join(dir, "newer.db")
	s, err = sqlite.Open(t.Context(), newer)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	tamper(t, newer, "PRAGMA user_version = 99")

	for name, c := range map[string]struct {
		path string
		o    sqlite.Options
		is   error
		says string
	}{
		"an empty path":         {"", sqlite.Options{}, nil, "is empty"},
		"memory":                {":memory:", sqlite.Options{}, nil, "keeps nothing"},
		"a URL with a machine":  {"sqlite://host/x.db", sqlite.Options{}, nil, "names a machine"},
		"a missing directory":   {filepath.Join(dir, "no", "s.db"), sqlite.Options{}, fs.ErrNotExist, "make it"},
		"a directory":           {dir, sqlite.Options{}, nil, "is a directory"},
		"a missing file":        {filepath.Join(dir, "none.db"), sqlite.Options{MustExist: true}, fs.ErrNotExist, "there is no store at"},
		"a missing file, read":  {filepath.Join(dir, "none.db"), sqlite.Options{ReadOnly: true}, fs.ErrNotExist, "there is no store at"},
		"another kind of file":  {text, sqlite.Options{}, nil, "no SQLite database"},
		"another program's":     {foreign, sqlite.Options{}, nil, "another program"},
		"a simulated store":     {simulated, sqlite.Options{Mode: sqlite.Real}, siding.ErrStoreMode, "holds simulated work, and this is real"},
		"a newer version's":     {newer, sqlite.Options{}, siding.ErrNewerStore, "its format is 99, and this version knows up to 1"},
		"a newer version, read": {newer, sqlite.Options{ReadOnly: true}, siding.ErrNewerStore, "99"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sqlite.Open(t.Context(), c.path, c.o)
			if err == nil {
				require.NoError(t, s.Close())
			}
			require.ErrorContains(t, err, c.says)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			if c.path != "" && strings.HasPrefix(c.path, "/") {
				require.ErrorContains(t, err, c.path[:len(dir)])
			}
		})
	}
	require.NoFileExists(t, filepath.Join(dir, "none.db"))
}

func TestEveryFileOfAStoreIsForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	old := unix.Umask(0)
	defer unix.Umask(old)
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{path, path + "-wal", path + "-shm", path + "-lock"}, files)
	for _, f := range files {
		st, err := os.Stat(f)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), st.Mode().Perm(), f)
	}
	require.NoError(t, s.Close())
}

func TestAStoreMayBeNamedByAURLAndByOddPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for given, want := range map[string]string{
		"sqlite:" + dir + "/a.db":       "a.db",
		"sqlite://" + dir + "/b%20b.db": "b b.db",
		dir + "/c?c#c%c'.db":            "c?c#c%c'.db",
	} {
		s, err := sqlite.Open(t.Context(), given)
		require.NoError(t, err, given)
		require.NoError(t, s.Close())
		require.FileExists(t, filepath.Join(dir, want))
	}
}

func TestManyMayCreateAStoreAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	ids := make([]string, 6)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			info, _ := s.Info(t.Context())
			ids[i] = info.ID
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
		require.NotEmpty(t, id)
	}
}

func TestANewerVersionThatComesWhileTheStoreIsOpenEndsItsWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer s.Close()
	tamper(t, path, "UPDATE meta SET format = 7")
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
	require.ErrorIs(t, err, siding.ErrNewerStore)
}

func TestAStoreIsReadWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte("1")})
	require.NoError(t, err)
	read, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	require.NoError(t, err)
	r, err := read.Get(t.Context(), "q", "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(r.Body))
	_, err = read.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "b"})
	require.ErrorIs(t, err, siding.ErrReadOnly)
	require.NoError(t, read.Close())
	require.NoError(t, s.Close())

	if os.Getuid() != 0 {
		t.Skip("only the administrator may mount a read-only file system")
	}
	dir := t.TempDir()
	if err := unix.Mount(filepath.Dir(path), dir, "", unix.MS_BIND, ""); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	defer unix.Unmount(dir, 0)
	require.NoError(t, unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "s.db"))
	require.ErrorIs(t, err, siding.ErrReadOnly)
	require.ErrorContains(t, err, "write permission")
	read, err = sqlite.Open(t.Context(), filepath.Join(dir, "s.db"), sqlite.Options{ReadOnly: true})
	require.NoError(t, err)
	st, err := read.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, 1, st[0].Ready)
	require.NoError(t, read.Close())
}

// TestTheLayoutIsPinned fails when the layout changes: a released format is only changed by a new migration.
func TestTheLayoutIsPinned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY name")
	require.NoError(t, err)
	defer rows.Close()
	var got strings.Builder
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		got.WriteString(text + ";\n\n")
	}
	require.NoError(t, rows.Err())
	golden := filepath.Join("testdata", "schema.golden.sql")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}
