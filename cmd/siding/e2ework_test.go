package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func TestWorkGoesOnUntilStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	worker := w.start(t, "work", "recipe.yaml")
	eventually(t, "the store is there", func() bool { return w.siding(t, "status").code == 0 })
	for _, id := range []string{"one", "two", "three"} {
		w.want(t, 0, "send", "recipe.yaml", "--id", id, "--body", `{"id":"`+id+`","title":"sent by hand"}`)
	}
	eventually(t, "all are done", func() bool {
		o := objects(t, w.want(t, 0, "status", "--json").stdout)
		return len(o) == 1 && o[0]["done"] == 3.0
	})
	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGTERM))
	e := worker.wait(t)
	require.Equal(t, 130, e.code, e.stderr)
	require.Contains(t, e.stderr, "3 done")
	w.want(t, 0, "results", "--queue", "tags", "--out", "all.jsonl")
	require.Equal(t, []string{"one", "two", "three"}, w.resultIDs(t, "all.jsonl"))
	require.EqualValues(t, 3, w.calls())
}

func TestWorkEndsWhenHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{Faults: []claudesim.Rule{{Do: claudesim.Do{Fault: "error", ID: "auth"}}}})
	w.want(t, 0, "send", "recipe.yaml", "--id", "one", "--body", `{"id":"one","title":"x"}`)
	e := w.want(t, 4, "work", "recipe.yaml")
	require.Contains(t, e.stderr, "the account")
	require.Equal(t, "ready", objects(t, w.want(t, 0, "show", "one", "--json").stdout)[0]["state"])
}

func TestADatedHoldSaysUntilWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{Faults: []claudesim.Rule{{Do: claudesim.Do{Fault: "error", ID: "org_limit", Regain: 48e12}}}})
	w.records(t, "in.jsonl", 3)
	e := w.want(t, 4, "run", "recipe.yaml", "in.jsonl", "--wait", "1h")
	require.Regexp(t, `ends at 20\d\d-`, e.stderr)
}

func TestAnInputThatCannotBeReadToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write(t, "in.json", `[{"id":"a","title":"x"}, {"id":"b" `)
	e := w.want(t, 1, "run", "recipe.yaml", "in.json")
	require.Contains(t, e.stderr, "in.json: line 1, byte")
	require.Zero(t, w.calls(), "nothing is asked before the whole input is known")
	require.NoFileExists(t, w.path("results.jsonl"))
	w.write(t, "in.json", `[{"id":"a","title":"x"}, {"id":"b","title":"y"}]`)
	require.EqualValues(t, 2, w.want(t, 0, "run", "recipe.yaml", "in.json", "--json").summary(t).Done)
}
