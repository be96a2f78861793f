package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBench(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	o := objects(t, p.ok(t, "bench", "--jobs", "300", "--producers", "8", "--workers", "8", "--body", "1024", "--json", "--store", p.file("bench.db")))[0]
	require.InDelta(t, 300, o["jobs"], 0)
	require.Positive(t, o["jobs_per_second"])
	require.Greater(t, o["bytes_per_job"], 1024.0, "the bodies are kept")
	for _, name := range []string{"enqueue_ms", "lease_to_settle_ms", "enqueue_to_settled_ms"} {
		l, ok := o[name].(map[string]any)
		require.True(t, ok)
		require.Positive(t, l["p50"])
		require.GreaterOrEqual(t, l["max"], l["p99"])
		require.GreaterOrEqual(t, l["p99"], l["p50"])
	}
	p.env = []string{"SIDING_STORE=" + p.file("bench.db")}
	require.InDelta(t, 300, objects(t, p.ok(t, "status", "--json"))[0]["done"], 0, "every one was settled")
	p.ok(t, "doctor")
	for _, args := range [][]string{{"--jobs", "0"}, {"--workers", "-1"}, {"--body", "-1"}, {"--producers", "0"}} {
		code, _ := p.run(t, "", append([]string{"bench"}, args...)...)
		require.Equal(t, exitUsage, code)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range left {
		require.NotContains(t, e.Name(), "siding-bench")
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	require.Equal(t, percentiles{}, percentilesOf(nil))
	require.Equal(t, percentiles{1, 1, 1, 1}, percentilesOf([]time.Duration{time.Millisecond}))
	var d []time.Duration
	for i := range 100 {
		d = append(d, time.Duration(100-i)*time.Millisecond)
	}
	require.Equal(t, percentiles{50, 90, 99, 100}, percentilesOf(d))
}
