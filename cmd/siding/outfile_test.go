package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var ours = owner{Queue: "q", Input: `"/in.jsonl"`}

func writeOut(t *testing.T, path string, o owner, force bool, text string) error {
	t.Helper()
	f, err := openOut(path, &o, force)
	if err != nil {
		return err
	}
	return f.write(func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestAResultsFile(t *testing.T) {
	t.Parallel()
	path := func(t *testing.T) string { return filepath.Join(t.TempDir(), "results.jsonl") }

	t.Run("is replaced by the run that wrote it", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		for i := range 10 {
			text := fmt.Sprintf("run %d\n", i)
			require.NoError(t, writeOut(t, p, ours, false, text))
			require.Equal(t, text, content(t, p))
		}
		names, err := os.ReadDir(filepath.Dir(p))
		require.NoError(t, err)
		require.Len(t, names, 2, "nothing is left but the file and its sidecar")
	})
	t.Run("is not replaced by another run, unless forced", func(t *testing.T) {
		t.Parallel()
		for _, other := range []owner{
			{Queue: "other", Input: ours.Input}, {Queue: "q", Input: "-"}, {Queue: "q", Input: ours.Input, Simulated: true},
		} {
			p := path(t)
			require.NoError(t, writeOut(t, p, ours, false, "mine"))
			err := writeOut(t, p, other, false, "theirs")
			require.Equal(t, exitUsage, exitCode(err))
			require.Equal(t, "mine", content(t, p))
			require.NoError(t, writeOut(t, p, other, true, "theirs"))
			require.Equal(t, "theirs", content(t, p))
			require.NoError(t, writeOut(t, p, other, false, "again"), "it is theirs now")
		}
	})
	t.Run("is not replaced when siding has not written it, or it was changed since", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		require.NoError(t, os.WriteFile(p, []byte("a letter"), 0o600))
		require.Equal(t, exitUsage, exitCode(writeOut(t, p, ours, false, "x")))
		require.Equal(t, "a letter", content(t, p))
		require.NoError(t, writeOut(t, p, ours, true, "mine"))
		require.NoError(t, os.WriteFile(p, []byte("mine, edited"), 0o600))
		require.ErrorContains(t, writeOut(t, p, ours, false, "x"), "changed since")
		require.Equal(t, "mine, edited", content(t, p))
	})
	t.Run("that is empty is replaced", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		require.NoError(t, os.WriteFile(p, nil, 0o600))
		require.NoError(t, writeOut(t, p, ours, false, "x"))
	})
	t.Run("is as it was when writing fails", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		require.NoError(t, writeOut(t, p, ours, false, "old"))
		f, err := openOut(p, &ours, false)
		require.NoError(t, err)
		full := errors.New("no room")
		require.ErrorIs(t, f.write(func(w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			return full
		}), full)
		require.Equal(t, "old", content(t, p))
		require.NoError(t, writeOut(t, p, ours, false, "new"))
	})
	t.Run("is known also when the process died between the sidecar and the file", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		require.NoError(t, writeOut(t, p, ours, false, "old"))
		require.NoError(t, writeOut(t, p, ours, false, "new"))
		require.NoError(t, os.WriteFile(p, []byte("old"), 0o600)) // as if the rename had not come
		require.NoError(t, writeOut(t, p, ours, false, "newer"))
	})
	t.Run("keeps its mode, and the link that leads to it", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		require.NoError(t, writeOut(t, p, ours, false, "x"))
		require.NoError(t, os.Chmod(p, 0o600))
		link := filepath.Join(t.TempDir(), "link.jsonl")
		require.NoError(t, os.Symlink(p, link))
		require.NoError(t, writeOut(t, link, ours, false, "y"))
		require.Equal(t, "y", content(t, p))
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink)
		info, err = os.Stat(p)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
	t.Run("cannot be an input, a folder, or in a folder that is missing", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		require.NoError(t, os.WriteFile(p, []byte("{}"), 0o600))
		_, err := openOut(p, &ours, true, p)
		require.ErrorContains(t, err, "written over")
		require.Equal(t, exitUsage, exitCode(err))
		for _, bad := range []string{filepath.Dir(p), filepath.Join(filepath.Dir(p), "none", "x.jsonl")} {
			_, err := openOut(bad, &ours, true)
			require.Equal(t, exitUsage, exitCode(err))
		}
	})
	t.Run("may be a device, which is written and not replaced", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, writeOut(t, os.DevNull, ours, false, "x"))
		info, err := os.Stat(os.DevNull)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeDevice)
	})
	t.Run("what a killed process left is swept away, what a living one writes is not", func(t *testing.T) {
		t.Parallel()
		p := path(t)
		dir := filepath.Dir(p)
		dead := filepath.Join(dir, ".results.jsonl.siding-4194999-1.tmp") // above every process number of Linux
		alive := filepath.Join(dir, fmt.Sprintf(".results.jsonl.siding-%d-1.tmp", os.Getppid()))
		foreign := filepath.Join(dir, ".other.jsonl.siding-4194999-1.tmp")
		for _, f := range []string{dead, alive, foreign} {
			require.NoError(t, os.WriteFile(f, nil, 0o600))
		}
		require.NoError(t, writeOut(t, p, ours, false, "x"))
		require.NoFileExists(t, dead)
		require.FileExists(t, alive)
		require.FileExists(t, foreign)
	})
}
