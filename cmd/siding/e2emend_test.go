package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// mendCommands gives the two commands that the end of a run names for what can be mended.
func mendCommands(t *testing.T, stdout string) (mend, again string) {
	t.Helper()
	_, rest, ok := strings.Cut(stdout, "to mend what can be mended, and finish it")
	require.True(t, ok, stdout)
	lines := strings.Split(rest, "\n")
	return strings.TrimSpace(lines[1]), strings.TrimSpace(lines[2])
}

// example gives a world in a copy of an example's folder.
func exampleWorld(t *testing.T, name string, profile *claudesim.Profile) *world {
	t.Helper()
	w := newWorld(t, profile)
	require.NoError(t, os.CopyFS(w.path("example"), os.DirFS("../../examples/"+name)))
	w.dir = w.path("example")
	return w
}

func TestTheBrokenWallpapersAreMendedInTwoCommands(t *testing.T) {
	t.Parallel()
	profile, err := claudesim.LoadProfile("../../examples/wallpapers/profile.yaml")
	require.NoError(t, err)
	profile.Faults, profile.Latency = profile.Faults[:3], claudesim.Latency{}
	w := exampleWorld(t, "wallpapers", profile)
	e := w.want(t, exitSetAside, "run", "recipe.yaml", "metadata.jsonl")
	require.Contains(t, e.stdout, "800 messages: 792 done, 8 set aside")
	calls := w.calls()

	mend, again := mendCommands(t, e.stdout)
	preview := w.shell(t, exitDone, mend+" --dry-run")
	require.Contains(t, preview, "changed")
	require.Equal(t, calls, w.calls())
	w.shell(t, exitDone, mend)
	after := w.shell(t, exitSetAside, again)
	require.Contains(t, after, "800 messages: 795 done, 5 set aside")
	require.Equal(t, calls+3, w.calls(), "one call for each that was mended, and none for any other")
	require.NotContains(t, after, "to mend what can be mended", "nothing is left that a repair surely mends")

	causes := map[string]string{}
	for _, l := range objects(t, w.want(t, exitDone, "dlq", "diagnose", "--json").stdout) {
		cause, ok := l["cause"].(string)
		require.True(t, ok)
		list, ok := l["findings"].([]any)
		require.True(t, ok)
		for _, f := range list {
			if f, ok := f.(map[string]any); ok && f["fault"] == true {
				causes[cause], _ = f["text"].(string)
			}
		}
	}
	require.Len(t, causes, 5)
	for cause, text := range causes {
		require.NotEmpty(t, text, "%s is left with a clear word", cause)
	}
	require.Zero(t, w.sim.Meter().Totals.PaidAgain)
	w.want(t, exitDone, "doctor")
}

func TestTheBrokenReadingsAreMendedInTwoCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here")
	}
	w := exampleWorld(t, "readings", nil)
	e := w.want(t, exitSetAside, "run", "recipe.yaml", "readings.jsonl")
	require.Contains(t, e.stdout, "44 messages: 36 done, 8 set aside")
	mend, again := mendCommands(t, e.stdout)
	w.shell(t, exitDone, mend)
	require.Contains(t, w.shell(t, exitSetAside, again), "44 messages: 38 done, 6 set aside")
	for _, id := range []string{"r-102", "r-105"} {
		require.Equal(t, "done", objects(t, w.want(t, exitDone, "show", id, "--json").stdout)[0]["state"])
	}
	require.Contains(t, w.want(t, exitDone, "dlq", "diagnose", "r-103").stdout, "missing property 'temperature'")
	entries := objects(t, w.want(t, exitDone, "audit", "--json").stdout)
	require.Len(t, entries, 1)
	require.Equal(t, mend, entries[0]["text"])
}
