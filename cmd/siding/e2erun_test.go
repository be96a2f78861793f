package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func TestTheSecondRunMakesNoCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	lines := w.records(t, "in.jsonl", 40)
	lines[7] = `{"id":"r007","title":"broken ` + "\xff" + `"}`
	w.lines(t, "in.jsonl", lines)

	s := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 40, s.Enqueued)
	require.EqualValues(t, 39, s.Done)
	require.EqualValues(t, 1, s.Dead)
	require.Len(t, s.Causes, 1)
	require.EqualValues(t, "invalid-utf8", s.Causes[0].Cause)
	require.EqualValues(t, 39, w.calls(), "one call for each record that can be asked")
	require.EqualValues(t, w.sim.Meter().Totals.CostPico, s.CostUSD, "the bill is what the summary says")
	first, err := os.ReadFile(w.path("results.jsonl"))
	require.NoError(t, err)
	ids := w.resultIDs(t, "results.jsonl")
	require.Len(t, ids, 39)
	require.True(t, slices.IsSorted(ids), "in the order of the input")

	again := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.Equal(t, s, again)
	require.EqualValues(t, 39, w.calls())
	second, err := os.ReadFile(w.path("results.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.NoError(t, os.Remove(w.path("results.jsonl")))
	w.want(t, 0, "results", "recipe.yaml", "in.jsonl")
	third, err := os.ReadFile(w.path("results.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(first), string(third))

	e := w.want(t, 0, "dlq", "list", "--json")
	dead := objects(t, e.stdout)
	require.Len(t, dead, 1)
	require.InDelta(t, 8, dead[0]["line"], 0)
	require.InDelta(t, strings.IndexByte(lines[7], 0xff), dead[0]["fault_offset"], 0)
	w.want(t, 0, "doctor")
}

func TestOnlyWhatIsNewIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	lines := w.records(t, "in.jsonl", 20)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.EqualValues(t, 20, w.calls())

	lines = slices.Insert(lines, 10, `{"id":"new","title":"a new one in the middle"}`)
	w.lines(t, "in.jsonl", lines)
	s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 21, s.Done)
	require.EqualValues(t, 21, w.calls(), "only the new record is called")
	require.Equal(t, "new", w.resultIDs(t, "results.jsonl")[10])

	old := lines[3]
	lines[3] = `{"id":"r003","title":"a corrected title"}`
	w.lines(t, "in.jsonl", lines)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.EqualValues(t, 22, w.calls(), "only the corrected record is asked again")
	shown := objects(t, w.want(t, 0, "show", "r003", "--json").stdout)[0]
	require.Equal(t, lines[3], shown["body"])
	revisions, err := json.Marshal(shown["revisions"])
	require.NoError(t, err)
	quoted, err := json.Marshal(old)
	require.NoError(t, err)
	require.Contains(t, string(revisions), string(quoted), "the old body is in the history")
	require.Contains(t, string(revisions), "superseded")

	w.lines(t, "in.jsonl", lines[:5])
	s = w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 5, s.Enqueued, "records that are gone from the input are not counted")
	require.Len(t, w.resultIDs(t, "results.jsonl"), 5)
	require.EqualValues(t, 22, w.calls())
}

func TestRecordsThatComeTwiceAreWrittenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.lines(t, "in.jsonl", []string{
		`{"id":"b","title":"one"}`, `{"id":"a","title":"two"}`, `{"id":"b","title":"one"}`, `{"id":"a","title":"another"}`,
		`{"id":7,"title":"three"}`,
	})
	s := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 4, s.Enqueued)
	require.EqualValues(t, 3, s.Done)
	require.EqualValues(t, 3, w.calls())
	require.Equal(t, []string{"b", "a", "7"}, w.resultIDs(t, "results.jsonl"))
	dead := objects(t, w.want(t, 0, "dlq", "list", "--json").stdout)
	require.Len(t, dead, 1)
	require.Equal(t, "duplicate-id", dead[0]["cause"])
	require.InDelta(t, 4, dead[0]["line"], 0)

	// New ones in front and between change no answer, and the results are in the order of the file as it is now.
	w.lines(t, "in.jsonl", []string{
		`{"id":"first","title":"new"}`, `{"id":7,"title":"three"}`, `{"id":"b","title":"one"}`, `{"id":"second","title":"new"}`,
		`{"id":"a","title":"two"}`, `{"id":"b","title":"one"}`, `{"id":"a","title":"another"}`,
	})
	again := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 6, again.Enqueued)
	require.EqualValues(t, 5, again.Calls)
	require.EqualValues(t, 5, w.calls())
	require.Equal(t, []string{"first", "7", "b", "second", "a"}, w.resultIDs(t, "results.jsonl"))
}

func TestAChangedRecipe(t *testing.T) {
	t.Parallel()
	change := func(t *testing.T, w *world) {
		t.Helper()
		w.records(t, "in.jsonl", 12)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		require.EqualValues(t, 12, w.calls())
		w.write(t, "recipe.yaml", strings.Replace(testRecipe, "Tag this", "Please tag this", 1))
		before, err := os.ReadFile(w.path("results.jsonl"))
		require.NoError(t, err)
		e := w.want(t, 2, "run", "recipe.yaml", "in.jsonl", "--json")
		require.EqualValues(t, 12, w.calls(), "no call is made before it is said what to do")
		require.Contains(t, e.stderr, "12 records")
		require.Contains(t, e.stderr, "--changed keep")
		lines := objects(t, e.stdout)
		require.Equal(t, "changed", lines[0]["type"])
		require.InDelta(t, 12, lines[0]["count"], 0)
		require.Greater(t, lines[0]["estimate_usd"], 0.0)
		require.EqualValues(t, 12, e.summary(t).Done)
		after, err := os.ReadFile(w.path("results.jsonl"))
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	}
	t.Run("prompt is kept with keep", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		change(t, w)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--changed", "keep")
		require.EqualValues(t, 12, w.calls())
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		require.EqualValues(t, 12, w.calls(), "it needs to be said once")
	})
	t.Run("prompt is asked again with ask", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		change(t, w)
		s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--changed", "ask", "--json").summary(t)
		require.EqualValues(t, 24, w.calls())
		require.EqualValues(t, 24, s.Calls)
		require.EqualValues(t, 12, s.Done)
		require.EqualValues(t, w.sim.Meter().Totals.CostPico, s.CostUSD)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		require.EqualValues(t, 24, w.calls())
	})
	t.Run("model is asked again with ask, and taken from the journal on the way back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.records(t, "in.jsonl", 6)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		first, err := os.ReadFile(w.path("results.jsonl"))
		require.NoError(t, err)
		w.write(t, "recipe.yaml", strings.Replace(testRecipe, "claude-haiku-4-5", "claude-sonnet-4-5", 1))
		require.Contains(t, w.want(t, 2, "run", "recipe.yaml", "in.jsonl").stderr, "6 records of this input were")
		require.EqualValues(t, 6, w.calls())
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--changed", "ask")
		require.EqualValues(t, 12, w.calls())
		w.write(t, "recipe.yaml", testRecipe)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		require.EqualValues(t, 12, w.calls(), "the answers of the first model are in the journal")
		before, after := objects(t, string(first)), objects(t, content(t, w.path("results.jsonl")))
		require.Len(t, after, 6)
		for i, o := range after {
			require.Equal(t, before[i]["result"], o["result"])
			require.Equal(t, before[i]["recipe"], o["recipe"])
			require.InDelta(t, 2, o["calls"], 0, "whatever was called for it")
		}
	})
	t.Run("output schema judges the journaled answers again, without a call", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.records(t, "in.jsonl", 12)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		w.write(t, "tags.schema.json", strings.Replace(testSchema, `"type":"string"`, `"type":"string","minLength":1`, 1))
		s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
		require.EqualValues(t, 12, s.Done)
		require.EqualValues(t, 12, w.calls())
	})
	t.Run("output schema that the answers do not fit asks what to do", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.records(t, "in.jsonl", 12)
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
		w.write(t, "tags.schema.json", strings.ReplaceAll(testSchema, "tags", "labels"))
		require.Contains(t, w.want(t, 2, "run", "recipe.yaml", "in.jsonl").stderr, "12 records")
		require.EqualValues(t, 12, w.calls())
		w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--changed", "ask")
		require.EqualValues(t, 24, w.calls())
	})
}

func TestASecondInputOnTheSameStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "a.jsonl", 10)
	b := []string{`{"id":"x1","title":"one"}`, `{"id":"x2","title":"two"}`, `{"id":"r001","title":"picture number 1"}`}
	w.lines(t, "b.jsonl", b)
	w.want(t, 0, "run", "recipe.yaml", "a.jsonl", "--out", "a-results.jsonl")
	require.EqualValues(t, 10, w.calls())

	w.want(t, 2, "run", "recipe.yaml", "b.jsonl", "--out", "a-results.jsonl")
	require.EqualValues(t, 10, w.calls(), "what another input wrote is not replaced, which is known before a call is made")

	s := w.want(t, 0, "run", "recipe.yaml", "b.jsonl", "--out", "b-results.jsonl", "--json").summary(t)
	require.EqualValues(t, 3, s.Enqueued, "only its own records are reported")
	require.EqualValues(t, 12, w.calls(), "and the one that both have is not asked again")
	require.Equal(t, []string{"x1", "x2", "r001"}, w.resultIDs(t, "b-results.jsonl"))
	require.Len(t, w.resultIDs(t, "a-results.jsonl"), 10)

	// Messages of the queue that are not the input's are left alone.
	require.Equal(t, 0, w.sidingWith(t, `{"id":"other","title":"sent by hand"}`+"\n", "send", "recipe.yaml").code)
	w.want(t, 0, "run", "recipe.yaml", "b.jsonl", "--out", "b-results.jsonl")
	require.EqualValues(t, 12, w.calls())
	w.lines(t, "b.jsonl", append(b, `{"id":"x3","title":"three"}`))
	s = w.want(t, 0, "run", "recipe.yaml", "b.jsonl", "--out", "b-results.jsonl", "--json").summary(t)
	require.EqualValues(t, 4, s.Done)
	require.EqualValues(t, 13, w.calls(), "also while there is something to do")
	require.Equal(t, "ready", objects(t, w.want(t, 0, "show", "other", "--json").stdout)[0]["state"])
}

func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{Latency: claudesim.Latency{Fixed: 20 * time.Millisecond}})
	w.records(t, "in.jsonl", 150)
	one := w.start(t, "run", "recipe.yaml", "in.jsonl", "--json")
	two := w.start(t, "run", "recipe.yaml", "in.jsonl", "--json")
	first, second := one.wait(t), two.wait(t)
	require.Equal(t, 0, first.code, first.stderr)
	require.Equal(t, 0, second.code, second.stderr)
	require.EqualValues(t, 150, first.summary(t).Done)
	require.EqualValues(t, 150, second.summary(t).Done)
	m := w.sim.Meter()
	require.EqualValues(t, 150, m.Totals.Calls, "no message is handled by both")
	for _, row := range m.Rows {
		require.EqualValues(t, 1, row.Calls)
	}
	require.Len(t, w.resultIDs(t, "results.jsonl"), 150)
	w.want(t, 0, "doctor")
}

func TestResultsWhoseFolderGoesAwayAreAnErrorAndNothingIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{
		Latency: claudesim.Latency{Fixed: 200 * time.Millisecond},
		Faults: []claudesim.Rule{{
			When: claudesim.When{Text: "number 4"}, Do: claudesim.Do{Fault: "stop", Reason: "refusal"},
		}},
	})
	w.records(t, "in.jsonl", 20)
	require.NoError(t, os.Mkdir(w.path("out"), 0o700))
	r := w.start(t, "run", "recipe.yaml", "in.jsonl", "--out", "out/r.jsonl", "--json")
	eventually(t, "a call is made", func() bool { return w.calls() > 0 })
	require.NoError(t, os.RemoveAll(w.path("out")))
	e := r.wait(t)
	require.Equal(t, 1, e.code, e.stderr)
	require.Contains(t, e.stderr, "siding: writing out/r.jsonl")
	require.NotContains(t, e.stderr, "--store", "the store is not at fault")
	require.EqualValues(t, 19, e.summary(t).Done)
	require.NoError(t, os.Mkdir(w.path("out"), 0o700))
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--out", "out/r.jsonl")
	require.Len(t, w.resultIDs(t, "out/r.jsonl"), 19)
	require.EqualValues(t, 20, w.calls())
}

func TestWhatIsSetAsideIsShownAndSentBack(t *testing.T) {
	t.Parallel()
	refusing := &claudesim.Profile{Faults: []claudesim.Rule{{
		When: claudesim.When{Text: "number 4"}, Do: claudesim.Do{Fault: "stop", Reason: "refusal"},
	}}}
	w := newWorld(t, refusing)
	w.records(t, "in.jsonl", 9)
	e := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--store", "other dir.db")
	require.Contains(t, e.stdout, "9 messages: 8 done, 1 set aside")
	look := commandIn(t, e.stdout, "look at it:")
	back := commandIn(t, e.stdout, "send it back:")
	require.Contains(t, w.shell(t, 0, look), "r004")

	w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--store", "other dir.db")
	require.EqualValues(t, 9, w.calls(), "a dead letter is not asked again by itself")
	require.NoError(t, w.sim.SetProfile(&claudesim.Profile{}))
	w.shell(t, 0, back)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--store", "other dir.db")
	require.EqualValues(t, 10, w.calls())

	require.NoError(t, w.sim.SetProfile(refusing))
	w.lines(t, "in.jsonl", []string{`{"id":"r004","title":"number 4 again"}`})
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--store", "other dir.db")
	require.NoError(t, w.sim.SetProfile(&claudesim.Profile{}))
	s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--store", "other dir.db", "--redrive-dead", "--json").summary(t)
	require.EqualValues(t, 1, s.Done)
}
