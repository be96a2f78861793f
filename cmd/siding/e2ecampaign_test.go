package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/sqlite"
)

// spoiled writes an input of n records that each have a byte which is not UTF-8, and sets them aside.
func (w *world) spoiled(t *testing.T, n int) {
	t.Helper()
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("{\"id\":\"r%05d\",\"title\":\"picture number %d\xff\"}", i, i)
	}
	w.lines(t, "in.jsonl", lines)
	s := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, n, s.Dead)
	require.Zero(t, w.calls(), "what is broken is found without a call")
}

// campaign gives a campaign as the program shows it.
func (w *world) campaign(t *testing.T, id int) campaignLine {
	t.Helper()
	var c campaignLine
	require.NoError(t, json.Unmarshal([]byte(w.want(t, 0, "campaign", "show", fmt.Sprint(id), "--json").stdout), &c))
	return c
}

// UnmarshalJSON reads a time back, for tests.
func (t *stamp) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, (*time.Time)(t))
}

func TestACanaryThatFailsStopsTheCampaign(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{})
	const records = 10_000
	w.spoiled(t, records)
	w.want(t, 0, "redrive", "--cause", "invalid-utf8", "--canary", "10", "--min-success", "0.9") // and nothing is mended
	e := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json")
	require.EqualValues(t, records, e.summary(t).Dead)
	require.Contains(t, e.stderr, "campaign 1 has stopped: of the canary, 0 of 10 sent were done")
	require.Contains(t, e.stderr, "siding campaign resume 1")
	c := w.campaign(t, 1)
	require.Equal(t, siding.CampaignStopped, c.State)
	require.Equal(t, []int64{records, records - 10, 10, 0}, []int64{c.Selected, c.Pending, c.Same, c.Sent})

	e = w.want(t, 4, "campaign", "show", "1", "--follow")
	require.Contains(t, e.stderr, "0 of 10 sent were done")
	untouched := 0
	for _, o := range objects(t, w.want(t, 0, "dlq", "list", "--json").stdout) {
		if o["redrives"] == 0.0 {
			untouched++
		}
	}
	require.Equal(t, records-10, untouched)
	require.Zero(t, w.calls())
	w.want(t, 0, "doctor")
}

func TestACampaignFinishesWithinOneRun(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"with a canary and a ramp": {"--canary", "5", "--ramp", "20,50"},
		"with a rate":              {"--rate", "60/s"},
		"all at once":              {"--min-success", "0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &claudesim.Profile{})
			const records = 150
			w.spoiled(t, records)
			w.want(t, 0, append([]string{"redrive", "--cause", "invalid-utf8", "--repair", "strip-invalid-utf8"}, flags...)...)
			e := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json")
			require.EqualValues(t, records, e.summary(t).Done)
			require.Contains(t, e.stderr, "campaign 1 has finished: of 150 messages, 150 done")
			require.EqualValues(t, records, w.calls(), "each is asked once")
			require.Equal(t, siding.CampaignFinished, w.campaign(t, 1).State)
			w.want(t, 0, "doctor")
		})
	}
}

// Whoever makes a campaign may be killed while it selects, and its lease outlives it for some seconds.
func TestARunWaitsForACampaignThatStillSelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{})
	w.spoiled(t, 20)
	store, err := sqlite.Open(t.Context(), w.path("siding.db"), sqlite.Options{MustExist: true})
	require.NoError(t, err)
	c, err := store.CreateCampaign(t.Context(), siding.CampaignPlan{Repairs: []string{"strip-invalid-utf8"}, Canary: 2, MinSuccess: 0.9})
	require.NoError(t, err)
	now, err := store.Now(t.Context())
	require.NoError(t, err)
	_, err = store.SetNote(t.Context(), siding.Note{
		Key: fmt.Sprint("campaign/", c.ID), Value: fmt.Appendf(nil, `{"owner":"killed","until":%d}`, now.Add(5*time.Second).UnixMicro()),
	})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.EqualValues(t, 20, w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t).Done)
}

func TestARunDoesNotWaitForACampaignOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{})
	w.spoiled(t, 20)
	w.want(t, 0, "redrive", "--all", "--repair", "strip-invalid-utf8", "--canary", "2", "--rate", "1/h")
	w.records(t, "other.jsonl", 3)
	e := w.want(t, 0, "run", "recipe.yaml", "other.jsonl", "--out", "other-results.jsonl", "--json")
	require.EqualValues(t, 3, e.summary(t).Done)
}

func TestACampaignIsWatchedWhileAnotherProcessWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{})
	const records = 120
	w.spoiled(t, records)
	work := w.start(t, "work", "recipe.yaml", "--quiet")
	e := w.want(t, 0, "redrive", "--all", "--repair", "strip-invalid-utf8", "--canary", "10", "--ramp", "40", "--wait", "--json")
	lines := objects(t, e.stdout)
	require.Equal(t, "finished", lines[len(lines)-1]["state"])
	require.InDelta(t, records, lines[len(lines)-1]["done"], 0)
	require.EqualValues(t, records, w.calls())
	require.NoError(t, work.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, work.wait(t).code)
}

func TestCtrlCLeavesACampaignAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{})
	w.spoiled(t, 30)
	r := w.start(t, "redrive", "--all", "--repair", "strip-invalid-utf8", "--canary", "10", "--wait")
	eventually(t, "the canary is sent", func() bool {
		out := w.siding(t, "campaign", "list", "--json").stdout
		return strings.Contains(out, `"sent":10,`)
	})
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, r.wait(t).code)
	require.Equal(t, siding.CampaignRunning, w.campaign(t, 1).State)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--quiet")
	require.Equal(t, siding.CampaignFinished, w.campaign(t, 1).State)
}

// TestACampaignIsKilled kills whoever makes the campaign, and then whoever drives it on and works, at any moment: every
// member is sent back exactly once, and none is forgotten.
func TestACampaignIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{Latency: claudesim.Latency{Fixed: 10 * time.Millisecond, Jitter: 20 * time.Millisecond}})
	const records = 400
	w.spoiled(t, records)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	kill := func(within int, args ...string) {
		r := w.start(t, args...)
		time.Sleep(time.Duration(rnd.IntN(within)) * time.Millisecond)
		_ = r.cmd.Process.Signal(syscall.SIGKILL)
		r.wait(t)
	}
	redrive := []string{"redrive", "--all", "--repair", "strip-invalid-utf8", "--canary", "10", "--ramp", "40", "--min-success", "0.9"}
	for range 5 {
		kill(60, redrive...)
	}
	if !strings.Contains(w.want(t, 0, "campaign", "list", "--json").stdout, `"type"`) {
		w.want(t, 0, redrive...)
	}
	for range 12 {
		kill(400, "run", "recipe.yaml", "in.jsonl", "--quiet")
		kill(150, "campaign", "show", "1", "--follow", "--quiet")
	}
	s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, records, s.Done)
	w.want(t, 0, "doctor")
	w.sentOnce(t, records)
	t.Logf("%d calls, %d of them unknown", w.calls(), s.UnknownCalls)
	require.LessOrEqual(t, w.calls(), records+s.UnknownCalls)
}

// TestWhoDrivesACampaignIsKilled kills those who drive a campaign while a third process works in peace: the service is
// asked exactly once for each member.
func TestWhoDrivesACampaignIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &claudesim.Profile{Latency: claudesim.Latency{Fixed: 5 * time.Millisecond}})
	const records = 300
	w.spoiled(t, records)
	w.want(t, 0, "redrive", "--all", "--repair", "strip-invalid-utf8", "--canary", "5", "--ramp", "20", "--min-success", "1")
	work := w.start(t, "work", "recipe.yaml", "--quiet")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 15 {
		two := []*running{w.start(t, "campaign", "show", "1", "--follow", "--quiet"), w.start(t, "campaign", "show", "1", "--follow", "--quiet")}
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
		for _, r := range two {
			_ = r.cmd.Process.Signal(syscall.SIGKILL)
			r.wait(t)
		}
	}
	w.want(t, 0, "campaign", "show", "1", "--follow")
	require.NoError(t, work.cmd.Process.Signal(syscall.SIGINT))
	work.wait(t)
	w.sentOnce(t, records)
	require.EqualValues(t, records, w.calls())
	w.want(t, 0, "doctor")
}

// sentOnce wants every message done, and sent back exactly once.
func (w *world) sentOnce(t *testing.T, records int) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), w.path("siding.db"), sqlite.Options{ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	n := 0
	for l, err := range store.List(t.Context(), siding.Selection{Queue: "tags"}) {
		require.NoError(t, err)
		require.Equal(t, siding.StateDone, l.State, l.ID)
		require.Equal(t, 1, l.Redrives, l.ID)
		n++
	}
	require.Equal(t, records, n)
	all, err := store.Campaigns(t.Context())
	require.NoError(t, err)
	var done int64
	for _, c := range all {
		require.Equal(t, siding.CampaignFinished, c.State, "campaign %d", c.ID)
		done += c.Done
	}
	require.EqualValues(t, records, done)
	_, err = os.Stat(w.path("results.jsonl"))
	require.NoError(t, err)
}
