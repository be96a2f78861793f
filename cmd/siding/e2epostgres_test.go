package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/internal/pgtest"
)

// newSharedWorld is a world whose store is in a database of its own. The address has a password, which the server does
// not ask for, and which nothing may show.
func newSharedWorld(t *testing.T, profile *claudesim.Profile) *world {
	t.Helper()
	address := strings.Replace(pgtest.Database(t), "postgres@", "postgres:open-sesame@", 1)
	w := newWorld(t, profile)
	w.env = append(w.env, "SIDING_STORE="+address)
	return w
}

func TestAStoreInPostgreSQLDoesWhatAFileDoes(t *testing.T) {
	t.Parallel()
	w := newSharedWorld(t, nil)
	lines := w.records(t, "in.jsonl", 40)
	lines[7] = `{"id":"r007","title":"broken ` + "\xff" + `"}`
	w.lines(t, "in.jsonl", lines)
	w.want(t, 2, "status") // there is none yet, and looking makes none
	all := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json")
	s := all.summary(t)
	require.EqualValues(t, 39, s.Done)
	require.EqualValues(t, 39, w.calls())
	require.EqualValues(t, w.sim.Meter().Totals.CostPico, s.CostUSD)
	require.Len(t, w.resultIDs(t, "results.jsonl"), 39)
	again := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json")
	require.Equal(t, s, again.summary(t))
	require.EqualValues(t, 39, w.calls())
	shown := all.stdout + all.stderr
	for _, args := range [][]string{
		{"status"}, {"dlq", "list", "--json"}, {"show", "r007"}, {"doctor"}, {"holds"}, {"results", "recipe.yaml", "in.jsonl", "--out", "again.jsonl"},
	} {
		e := w.want(t, 0, args...)
		shown += e.stdout + e.stderr
	}
	e := w.siding(t, "status", "--store", "postgres://postgres:open-sesame@127.0.0.1:1/nobody?connect_timeout=2")
	require.Equal(t, 1, e.code, e.stderr)
	shown += e.stderr
	require.NotContains(t, shown, "open-sesame")
	_, err := os.Stat(w.path("siding.db"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWorkersOfADatabaseKilledAtRandom(t *testing.T) {
	t.Parallel()
	w := newSharedWorld(t, &claudesim.Profile{Latency: claudesim.Latency{Fixed: 20 * time.Millisecond, Jitter: 40 * time.Millisecond}})
	const records = 400
	w.records(t, "in.jsonl", records)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	helper := w.start(t, "work", "recipe.yaml", "--quiet") // beside the one that is killed
	for range 5 {
		before := w.calls()
		r := w.start(t, "run", "recipe.yaml", "in.jsonl", "--quiet")
		eventually(t, "calls are made", func() bool { return w.calls() > before || exited(r.cmd) })
		time.Sleep(time.Duration(rnd.IntN(150)) * time.Millisecond)
		_ = r.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
		r.wait(t)
	}
	s := w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.NoError(t, helper.cmd.Process.Signal(syscall.SIGTERM))
	helper.wait(t)
	require.EqualValues(t, records, s.Done)
	require.Len(t, w.resultIDs(t, "results.jsonl"), records)
	w.want(t, 0, "doctor")
	m := w.sim.Meter()
	require.LessOrEqual(t, int64(s.CostUSD), m.Totals.CostPico)
	require.LessOrEqual(t, m.Totals.CostPico, int64(s.CostUSD+s.UnknownMaxUSD))
	require.LessOrEqual(t, m.Totals.Calls, records+s.UnknownCalls, "each request is paid once, but for those journaled as unknown")
}
