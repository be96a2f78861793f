package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/sqlite"
)

func TestKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	slow := &claudesim.Profile{Latency: claudesim.Latency{Fixed: 30 * time.Millisecond, Jitter: 60 * time.Millisecond}}
	w := newWorld(t, slow)
	const records = 1000
	w.records(t, "in.jsonl", records)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	kills := 0
	for kills < 20 {
		before := w.calls()
		r := w.start(t, "run", "recipe.yaml", "in.jsonl", "--quiet")
		// From anywhere: while it reads, and while calls are under way.
		if rnd.IntN(4) > 0 {
			eventually(t, "calls are made", func() bool { return w.calls() > before || exited(r.cmd) })
		}
		time.Sleep(time.Duration(rnd.IntN(250)) * time.Millisecond)
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGKILL), "untried messages remain, so that it still runs")
		require.Equal(t, -1, r.wait(t).code)
		kills++
	}
	s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, records, s.Enqueued)
	require.EqualValues(t, records, s.Done)
	ids := w.resultIDs(t, "results.jsonl")
	require.Len(t, ids, records)
	for i, id := range ids {
		require.Equal(t, fmt.Sprintf("r%03d", i), id)
	}
	w.want(t, 0, "doctor")

	// Each call beyond the one that a request needs is one that the journal calls unknown.
	store, err := sqlite.Open(t.Context(), w.path("siding.db"), sqlite.Options{ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	unknown := map[string]int64{}
	for _, id := range ids {
		calls, err := store.Calls(t.Context(), "tags", id)
		require.NoError(t, err)
		for _, c := range calls {
			if c.Fate == siding.FateUnknown {
				unknown[fmt.Sprintf("%x", c.RequestHash)]++
			} else {
				require.Equal(t, siding.FateAnswered, c.Fate)
			}
		}
	}
	m := w.sim.Meter()
	require.GreaterOrEqual(t, len(m.Rows), records)
	for _, row := range m.Rows {
		require.LessOrEqual(t, m.ByHash(row.Hash).Calls-1, unknown[row.Hash], "request %s", row.Hash)
	}
	require.LessOrEqual(t, int64(s.CostUSD), m.Totals.CostPico)
	require.LessOrEqual(t, m.Totals.CostPico, int64(s.CostUSD+s.UnknownMaxUSD))
	t.Logf("%d calls for %d records, %d unknown", m.Totals.Calls, records, s.UnknownCalls)
}

func exited(cmd *exec.Cmd) bool {
	// A process that has ended and was not waited for is a zombie.
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestAHoldEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"a wrong key": "auth", "an empty credit": "credit"} {
		t.Run("for "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &claudesim.Profile{Faults: []claudesim.Rule{{
				When: claudesim.When{Calls: &claudesim.Span{From: 11, To: 1 << 40}}, Do: claudesim.Do{Fault: "error", ID: fault},
			}}})
			w.records(t, "in.jsonl", 60)
			e := w.want(t, 4, "run", "recipe.yaml", "in.jsonl", "--json")
			s := e.summary(t)
			require.EqualValues(t, 10, s.Done)
			require.Zero(t, s.Dead, "nothing is set aside for it")
			require.EqualValues(t, 50, s.Pending+s.Held)
			require.LessOrEqual(t, w.calls(), int64(10+8), "no further calls than those that were under way")
			require.Contains(t, e.stderr, "the same command")
			require.NotContains(t, e.stderr+e.stdout, "test-key")
			require.Len(t, w.resultIDs(t, "results.jsonl"), 10, "the results are written at every end")

			require.NoError(t, w.sim.SetProfile(&claudesim.Profile{}))
			s = w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
			require.EqualValues(t, 60, s.Done)
			for _, o := range objects(t, w.want(t, 0, "show", "r050", "--json").stdout) {
				require.InDelta(t, 0, o["attempt"], 0)
			}
		})
	}
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][]os.Signal{
		"one signal lets calls end": {syscall.SIGINT}, "SIGTERM is the same": {syscall.SIGTERM},
		"two signals stop at once": {syscall.SIGINT, syscall.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &claudesim.Profile{Latency: claudesim.Latency{Fixed: 100 * time.Millisecond}})
			w.records(t, "in.jsonl", 80)
			r := w.start(t, "run", "recipe.yaml", "in.jsonl", "--json")
			eventually(t, "twenty calls are made", func() bool { return w.calls() >= 20 })
			for _, s := range signals {
				require.NoError(t, r.cmd.Process.Signal(s))
				time.Sleep(20 * time.Millisecond)
			}
			e := r.wait(t)
			require.Equal(t, 130, e.code, e.stderr)
			s := e.summary(t)
			require.Positive(t, s.Pending)
			require.Positive(t, s.Done)
			require.Zero(t, s.Dead)
			require.Len(t, w.resultIDs(t, "results.jsonl"), int(s.Done))
			if len(signals) == 1 {
				require.Zero(t, s.UnknownCalls)
			}
			s = w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
			require.EqualValues(t, 80, s.Done)
			require.LessOrEqual(t, w.calls(), 80+s.UnknownCalls)
			w.want(t, 0, "doctor")
		})
	}
	t.Run("a signal while it waits for standard input", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		cmd := w.command(t.Context(), "run", "recipe.yaml", "-", "--json")
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		r := &running{cmd: cmd}
		cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
		require.NoError(t, cmd.Start())
		_, err = stdin.Write([]byte(`{"id":"a","title":"x"}` + "\n"))
		require.NoError(t, err)
		eventually(t, "the store is there", func() bool { _, err := os.Stat(w.path("siding.db")); return err == nil })
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		require.Equal(t, 130, r.wait(t).code, r.stderr.String())
		require.Zero(t, w.calls())
	})
}
