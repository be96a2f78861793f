package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func TestWrongUsageChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 3)
	w.write(t, "bad.yaml", "version: 1\nqueue: q\nclaud: {}\n")
	w.write(t, "letter.txt", "dear all")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no such command":           {[]string{"rum"}, `did you mean "run"`},
		"no such subcommand":        {[]string{"dlq", "lst"}, "list"},
		"no such flag":              {[]string{"run", "--nope", "recipe.yaml", "in.jsonl"}, "nope"},
		"no input":                  {[]string{"run", "recipe.yaml"}, "arg"},
		"no such recipe":            {[]string{"run", "none.yaml", "in.jsonl"}, "none.yaml"},
		"a recipe with a mistake":   {[]string{"run", "bad.yaml", "in.jsonl"}, "claud"},
		"no such input":             {[]string{"run", "recipe.yaml", "in.jsonl", "none.jsonl"}, "none.jsonl"},
		"no such format":            {[]string{"run", "recipe.yaml", "in.jsonl", "--format", "xml"}, "xml"},
		"no such profile":           {[]string{"run", "recipe.yaml", "in.jsonl", "--simulate=nope"}, "nope"},
		"no such answer to changed": {[]string{"run", "recipe.yaml", "in.jsonl", "--changed", "maybe"}, "keep"},
		"a wait below zero":         {[]string{"run", "recipe.yaml", "in.jsonl", "--wait", "-1s"}, "--wait"},
		"too much at once":          {[]string{"run", "recipe.yaml", "in.jsonl", "--concurrency", "-1"}, "--concurrency"},
		"a foreign results file":    {[]string{"run", "recipe.yaml", "in.jsonl", "--out", "letter.txt"}, "letter.txt"},
		"the input as results":      {[]string{"run", "recipe.yaml", "in.jsonl", "--out", "in.jsonl", "--force"}, "written over"},
		"results nowhere":           {[]string{"run", "recipe.yaml", "in.jsonl", "--out", "no/such/dir.jsonl"}, "no/such"},
		"another kind of store":     {[]string{"run", "recipe.yaml", "in.jsonl", "--store", "mysql://u:secret@h/d"}, "mysql"},
		"no store to look at":       {[]string{"status", "--store", "none.db"}, "none.db"},
		"an unknown cause":          {[]string{"explain", "nope"}, "siding explain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := w.want(t, 2, c.args...)
			require.Contains(t, e.stderr, c.says)
			require.True(t, strings.HasPrefix(e.stderr, "siding: "), e.stderr)
			require.Empty(t, e.stdout)
			require.NotContains(t, e.stderr, "secret")
		})
	}
	t.Cleanup(func() {
		require.Zero(t, w.calls())
		require.NoFileExists(t, w.path("results.jsonl"))
		require.Equal(t, "dear all", content(t, w.path("letter.txt")))
		require.NoFileExists(t, w.path("none.db"))
	})
}

func TestWithoutAKeyNothingIsEnqueued(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 3)
	w.env = slices.DeleteFunc(w.env, func(e string) bool { return strings.HasPrefix(e, "ANTHROPIC_API_KEY=") })
	e := w.want(t, 2, "run", "recipe.yaml", "in.jsonl")
	require.Contains(t, e.stderr, "ANTHROPIC_API_KEY")
	require.NoFileExists(t, w.path("siding.db"))
	w.want(t, 2, "work", "recipe.yaml")
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--simulate")
}

func TestSimulatedAndRealDoNotMix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 10)
	e := w.want(t, 0, "run", "--simulate", "recipe.yaml", "in.jsonl", "--json")
	require.EqualValues(t, 10, e.summary(t).Done)
	require.Contains(t, e.stderr, "the simulator billed")
	require.Zero(t, w.calls(), "the address in the environment is not asked")
	require.FileExists(t, w.path("siding-sim.db"))
	require.Len(t, w.resultIDs(t, "results-sim.jsonl"), 10)
	require.NoFileExists(t, w.path("siding.db"))
	require.NoFileExists(t, w.path("results.jsonl"))

	w.want(t, 2, "run", "recipe.yaml", "in.jsonl", "--store", "siding-sim.db")
	require.Zero(t, w.calls())
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.EqualValues(t, 10, w.calls())
	w.want(t, 2, "run", "--simulate", "recipe.yaml", "in.jsonl", "--store", "siding.db")
	w.want(t, 2, "run", "--simulate", "recipe.yaml", "in.jsonl", "--out", "results.jsonl")
	require.Contains(t, w.want(t, 0, "status", "--store", "siding-sim.db").stdout, "simulated")
}

func TestTheStoreIsBesideTheRecipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 4)
	require.NoError(t, os.Mkdir(w.path("elsewhere"), 0o700))
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	dir := w.dir
	w.dir = w.path("elsewhere")
	e := w.want(t, 0, "run", "../recipe.yaml", "../in.jsonl")
	require.EqualValues(t, 4, w.calls(), "the folder one stands in does not make one pay twice")
	require.FileExists(t, w.path("results.jsonl"), "results are written here")
	require.Contains(t, e.stdout, "4 done")
	w.want(t, 2, "status")
	w.env = append(w.env, "SIDING_STORE=sqlite:"+dir+"/siding.db")
	require.Contains(t, w.want(t, 0, "status").stdout, "tags")
	w.want(t, 0, "run", "../recipe.yaml", "../in.jsonl")
	require.EqualValues(t, 4, w.calls())
}

func TestResultsToStandardOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 5)
	e := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--out", "-", "--json")
	require.Len(t, objects(t, e.stdout), 6)
	require.EqualValues(t, 5, e.summary(t).Done)
	e = w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "-o", "-")
	require.Len(t, objects(t, e.stdout), 5, "without --json the summary does not stand among the results")
	require.Contains(t, e.stderr, "5 done")
	e = w.sidingWith(t, `{"id":"r001","title":"picture number 1"}`+"\n", "run", "recipe.yaml", "-", "--out", "piped.jsonl", "--json")
	require.Equal(t, 0, e.code, e.stderr)
	require.EqualValues(t, 1, e.summary(t).Enqueued)
	require.EqualValues(t, 5, w.calls())

	w.want(t, 2, "results", "--queue", "tag", "--out", "none.jsonl")
	require.NoFileExists(t, w.path("none.jsonl"), "a queue that is not there has no results")
	require.Contains(t, w.want(t, 0, "status", "--queue", "tag").stdout, "no queue tag yet")
}

func TestStandardInputThatCannotBeReadIsWrongUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for name, text := range map[string]string{
		"what may be an array": `[{"id":"a","title":"x"}]`, "compressed": "\x1f\x8b\x08\x00", "UTF-16": "\xff\xfe{\x00",
	} {
		e := w.sidingWith(t, text, "run", "recipe.yaml", "-")
		require.Equal(t, 2, e.code, name)
		require.Contains(t, e.stderr, "standard input", name)
		e = w.sidingWith(t, text, "send", "recipe.yaml")
		require.Equal(t, 2, e.code, name)
	}
	require.Zero(t, w.calls())
	e := w.sidingWith(t, `[{"id":"a","title":"x"}]`, "run", "recipe.yaml", "-", "--format", "json", "--json")
	require.Equal(t, 0, e.code, e.stderr)
	require.EqualValues(t, 1, e.summary(t).Done)
}

func TestSimServesOtherPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 5)
	sim := w.start(t, "sim", "--port-file", "port", "--meter", "meter.jsonl", "--json")
	eventually(t, "the simulator listens", func() bool { b, _ := os.ReadFile(w.path("port")); return len(b) > 0 })
	port := strings.TrimSpace(content(t, w.path("port")))
	w.env = append(w.env, "ANTHROPIC_BASE_URL=http://127.0.0.1:"+port)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.Zero(t, w.calls())
	require.NoError(t, sim.cmd.Process.Signal(os.Interrupt))
	e := sim.wait(t)
	require.Equal(t, 0, e.code, e.stderr)
	require.Equal(t, "http://127.0.0.1:"+port, objects(t, e.stdout)[0]["url"])
	m, err := claudesim.ReadMeter(w.path("meter.jsonl"))
	require.NoError(t, err)
	require.EqualValues(t, 5, m.Totals.Billed)
	require.NoFileExists(t, w.path("port"))
}

func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			require.NotEmpty(t, c.Short, c.CommandPath())
			require.NotEmpty(t, c.Example, c.CommandPath())
			for line := range strings.Lines(c.Example) {
				if strings.Contains(line, "siding ") && strings.HasPrefix(strings.TrimSpace(line), "siding") {
					args := strings.Fields(strings.TrimSpace(line))[1:]
					found, _, err := p.app.root().Find(args)
					require.NoError(t, err, line)
					require.True(t, strings.HasPrefix(found.CommandPath(), c.CommandPath()), line)
				}
			}
			walk(c)
		}
	}
	walk(p.app.root())
	require.Contains(t, p.ok(t, "completion", "bash"), "siding")
	require.Contains(t, p.ok(t, "__complete", "explain", "invalid-u"), "invalid-utf8")
	require.Contains(t, p.ok(t, "run", "--help"), "zcat")
	require.Contains(t, p.ok(t), "Available Commands")
	require.Contains(t, p.ok(t, "version", "--json"), `"type":"version"`)
}
