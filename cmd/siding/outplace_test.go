package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNoOutputTakesThePlaceOfAFileOfTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 3)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	link := w.path("link.jsonl")
	for _, suffix := range []string{"", "-wal", "-shm", "-lock", "-journal"} {
		for _, command := range [][]string{
			{"run", "recipe.yaml", "in.jsonl"}, {"results", "recipe.yaml", "in.jsonl"}, {"dlq", "export"},
		} {
			for _, out := range []string{"siding.db" + suffix, "./siding.db" + suffix, link} {
				_ = os.Remove(link)
				require.NoError(t, os.Symlink("siding.db"+suffix, link))
				e := w.want(t, 2, append(command, "--out", out, "--force", "--store", "sqlite:siding.db")...)
				require.Contains(t, e.stderr, "written over", "%v %s", command, out)
			}
		}
	}
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.EqualValues(t, 3, w.calls())
	w.want(t, 0, "doctor")
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

func TestTheNameOfStandardOutputIsStandardOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 3)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"} {
		out, err := os.Create(w.path("captured"))
		require.NoError(t, err)
		cmd := w.command(t.Context(), "run", "recipe.yaml", "in.jsonl", "--json", "--out", name)
		cmd.Stdout = out
		require.NoError(t, cmd.Run(), name)
		require.NoError(t, out.Close())
		require.Equal(t, 4, strings.Count(content(t, w.path("captured")), "\n"),
			"three results and the summary, in the file that was open: %s", name)
		require.False(t, w.exists(".captured.siding"), name)
	}
}

func TestAnOutputMayBeANamedPipeThatSomebodyReads(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := openOut(pipe, &ours, false)
	require.ErrorContains(t, err, "that nobody reads")
	require.Equal(t, exitUsage, exitCode(err))

	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	f, err := openOut(pipe, &ours, false)
	require.NoError(t, err)
	require.NoError(t, f.write(func(w io.Writer) error {
		_, err := io.WriteString(w, "results")
		return err
	}))
	require.NoError(t, reader.SetReadDeadline(time.Now().Add(time.Minute)))
	got, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, "results", string(got))
}

func TestALinkToAFileThatIsNotThereYetLeadsToIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.jsonl")
	require.NoError(t, os.Symlink("real.jsonl", link))
	require.NoError(t, writeOut(t, link, ours, false, "x"))
	require.Equal(t, "x", content(t, filepath.Join(dir, "real.jsonl")))
	require.NoError(t, writeOut(t, link, ours, false, "y"))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
}
