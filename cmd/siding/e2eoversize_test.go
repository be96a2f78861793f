package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/sqlite"
)

// The example has twelve pages, four of which are too long to be tagged as they are.
const (
	pages     = 12
	longPages = 4
)

// summarising is a world with the example that sums up before it tags.
func summarising(t *testing.T, profile *claudesim.Profile) *world {
	t.Helper()
	w := newWorld(t, profile)
	const from = "../../examples/summarise"
	for _, name := range []string{"tag.yaml", "summarise.yaml", "tags.schema.json", "diaries.jsonl"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		w.write(t, name, string(b))
	}
	return w
}

// change writes a file of the world anew with one text in place of another.
func (w *world) change(t *testing.T, name, from, to string) {
	t.Helper()
	b, err := os.ReadFile(w.path(name))
	require.NoError(t, err)
	require.Contains(t, string(b), from)
	w.write(t, name, strings.Replace(string(b), from, to, 1))
}

// summing takes the calls of the recipe that sums up.
func summing(do claudesim.Do) *claudesim.Profile {
	return &claudesim.Profile{Faults: []claudesim.Rule{{When: claudesim.When{Text: "You sum up a page"}, Do: do}}}
}

func TestTheExampleSumsUpAndTagsEachOnce(t *testing.T) {
	t.Parallel()
	w := summarising(t, nil)
	s := w.want(t, 0, "run", "tag.yaml", "diaries.jsonl", "--json").summary(t)
	require.EqualValues(t, pages, s.Done)
	require.EqualValues(t, pages+longPages, s.Calls, "the summaries are on the input's bill")
	m := w.sim.Meter()
	require.EqualValues(t, pages+longPages, m.Totals.Calls)
	require.Equal(t, m.Totals.CostPico, int64(s.CostUSD))
	require.Len(t, m.Rows, pages+longPages, "each a request of its own")

	calls, cost := 0, 0.0
	b, err := os.ReadFile(w.path("results.jsonl"))
	require.NoError(t, err)
	for _, o := range objects(t, string(b)) {
		n, _ := o["calls"].(float64)
		calls += int(n)
		usd, _ := o["cost_usd"].(float64)
		cost += usd
	}
	require.Equal(t, pages+longPages, calls, "and on those of the results")
	require.InDelta(t, float64(s.CostUSD)/1e12, cost, 1e-9)

	s = w.want(t, 0, "run", "tag.yaml", "diaries.jsonl", "--json").summary(t)
	require.EqualValues(t, pages+longPages, s.Calls)
	require.Equal(t, m.Totals.CostPico, int64(s.CostUSD))
	require.EqualValues(t, pages+longPages, w.calls(), "nothing is asked again")
	shown := objects(t, w.want(t, 0, "show", "diary-02", "--queue", "tag-jobs", "--json").stdout)[0]
	require.Equal(t, "done", shown["state"])
	w.want(t, 0, "doctor")
}

func TestTheExampleRunsAgainstTheSimulatorInTheProgram(t *testing.T) {
	t.Parallel()
	w := summarising(t, nil)
	e := w.want(t, 0, "run", "--simulate", "tag.yaml", "diaries.jsonl")
	require.Contains(t, e.stdout, "12 messages: 12 done\n16 calls")
	require.Contains(t, e.stderr, "for 16 calls")
	require.Zero(t, w.calls())
}

func TestSummingUpSurvivesBeingKilled(t *testing.T) {
	t.Parallel()
	w := summarising(t, &claudesim.Profile{Latency: claudesim.Latency{Fixed: 60 * time.Millisecond, Jitter: 60 * time.Millisecond}})
	w.change(t, "tag.yaml", "budget:", "concurrency: 2\nbudget:")
	w.change(t, "summarise.yaml", "budget:", "concurrency: 1\nbudget:")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	kills := 0
	for range 8 {
		before := w.calls()
		r := w.start(t, "run", "tag.yaml", "diaries.jsonl", "--quiet")
		eventually(t, "calls are made", func() bool { return w.calls() > before || exited(r.cmd) })
		time.Sleep(time.Duration(rnd.IntN(150)) * time.Millisecond)
		if r.cmd.Process.Signal(syscall.SIGKILL) == nil {
			kills++
		}
		if r.wait(t).code == 0 {
			break
		}
	}
	require.Greater(t, kills, 1)
	s := w.want(t, 0, "run", "tag.yaml", "diaries.jsonl", "--json").summary(t)
	require.EqualValues(t, pages, s.Done)
	m := w.sim.Meter()
	require.Len(t, m.Rows, pages+longPages, "no request but those that are needed")
	w.onceButForUnknown(t, m)
	require.LessOrEqual(t, int64(s.CostUSD), m.Totals.CostPico)
	require.LessOrEqual(t, m.Totals.CostPico, int64(s.CostUSD+s.UnknownMaxUSD))
	w.want(t, 0, "doctor")
	calls := w.calls()
	w.want(t, 0, "run", "tag.yaml", "diaries.jsonl")
	require.Equal(t, calls, w.calls())
}

// onceButForUnknown asks that each call beyond the one that a request needs is one that the journal calls unknown.
func (w *world) onceButForUnknown(t *testing.T, m claudesim.Meter) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), w.path("siding.db"), sqlite.Options{ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	unknown := map[string]int64{}
	for _, queue := range []string{"tag-jobs", "summaries"} {
		for i := range pages {
			calls, err := store.Calls(t.Context(), queue, fmt.Sprintf("diary-%02d", i+1))
			require.NoError(t, err)
			for _, c := range calls {
				if c.Fate == siding.FateUnknown {
					unknown[fmt.Sprintf("%x", c.RequestHash)]++
				}
			}
		}
	}
	for _, row := range m.Rows {
		require.LessOrEqual(t, m.ByHash(row.Hash).Calls-1, unknown[row.Hash], "request %s", row.Hash)
	}
}

func TestWhatCannotBeSummedUpIsSetAsideAndComesBackWithItsSummary(t *testing.T) {
	t.Parallel()
	w := summarising(t, summing(claudesim.Do{Fault: "stop", Reason: "refusal"}))
	e := w.want(t, 3, "run", "tag.yaml", "diaries.jsonl", "--json")
	s := e.summary(t)
	require.EqualValues(t, pages-longPages, s.Done)
	require.EqualValues(t, longPages, s.Dead)
	require.Equal(t, siding.CauseRefused, s.Causes[0].Cause, "with the cause of its copy")
	calls := w.calls()

	require.NoError(t, w.sim.SetProfile(&claudesim.Profile{}))
	w.want(t, 0, "redrive", "--queue", "summaries")
	s = w.want(t, 0, "run", "tag.yaml", "diaries.jsonl", "--json").summary(t)
	require.EqualValues(t, pages, s.Done)
	require.Equal(t, calls+2*longPages, w.calls())
	w.want(t, 0, "doctor")
}

func TestAHoldOfTheQueueBesideEndsTheRunWhenNothingElseIsLeft(t *testing.T) {
	t.Parallel()
	w := summarising(t, nil)
	w.change(t, "summarise.yaml", "usd: 1.00", "usd: 0.000001")
	e := w.want(t, 4, "run", "tag.yaml", "diaries.jsonl", "--json")
	s := e.summary(t)
	require.EqualValues(t, pages-longPages, s.Done, "the others are not stopped by it")
	require.EqualValues(t, longPages, s.Held)
	require.Contains(t, e.stderr, "4 records wait for the results of queue summaries, and that is held:")
	require.Contains(t, e.stderr, "Raise budget.usd")
	require.EqualValues(t, pages-longPages, w.calls())

	e = w.want(t, 4, "work", "tag.yaml")
	require.Contains(t, e.stderr, "4 records wait for the results of queue summaries, and that is held:")

	w.change(t, "summarise.yaml", "usd: 0.000001", "usd: 1.00")
	s = w.want(t, 0, "run", "tag.yaml", "diaries.jsonl", "--json").summary(t)
	require.EqualValues(t, pages, s.Done)
	w.want(t, 0, "doctor")
}

func TestAQueueThatNobodyWorksIsSaidAndNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	w := summarising(t, nil)
	w.change(t, "tag.yaml", "    recipe: summarise.yaml\n", "")
	e := w.want(t, 4, "run", "tag.yaml", "diaries.jsonl", "--json", "--wait", "1s")
	s := e.summary(t)
	require.EqualValues(t, pages-longPages, s.Done)
	require.EqualValues(t, longPages, s.Held)
	require.Contains(t, e.stderr, "4 records wait for the results of queue summaries, which this command does not work")
	require.Contains(t, e.stderr, "held: 4 records wait for the results of queue summaries, and nobody works it.")
	require.Contains(t, e.stderr, "siding work")

	// A stop while it waits is one like any other.
	stopped := w.start(t, "run", "tag.yaml", "diaries.jsonl")
	time.Sleep(time.Second)
	require.NoError(t, stopped.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, stopped.wait(t).code)

	// Work waits, and another process may work that queue.
	tags := w.start(t, "work", "tag.yaml", "--wait", "0s")
	run := w.start(t, "run", "tag.yaml", "diaries.jsonl", "--json")
	time.Sleep(2500 * time.Millisecond)
	require.False(t, exited(tags.cmd))
	summaries := w.start(t, "work", "summarise.yaml")
	e = run.wait(t)
	require.Equal(t, 0, e.code, e.stderr)
	require.EqualValues(t, pages, e.summary(t).Done)
	for _, r := range []*running{tags, summaries} {
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
		require.Equal(t, 130, r.wait(t).code, r.stderr.String())
	}
	require.EqualValues(t, pages+longPages, w.calls())
}

func TestARingOfRecipesIsWrongUsage(t *testing.T) {
	t.Parallel()
	w := summarising(t, nil)
	w.change(t, "summarise.yaml", "budget:", "preflight: {oversize: {queue: tag-jobs}}\nbudget:")
	e := w.want(t, 2, "run", "tag.yaml", "diaries.jsonl")
	require.Regexp(t, `summarise\.yaml:\d+:\d+: preflight\.oversize\.queue is the queue that the results go back to`, e.stderr)
	w.change(t, "tag.yaml", "recipe: summarise.yaml", "recipe: tag.yaml")
	e = w.want(t, 2, "run", "tag.yaml", "diaries.jsonl")
	require.Regexp(t, `tag\.yaml:\d+:\d+: preflight\.oversize\.recipe leads back to tag\.yaml`, e.stderr)
	require.NoFileExists(t, w.path("siding.db"))
}
