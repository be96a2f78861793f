package sqlite_test

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

// BenchmarkQuarantine looks at a million dead letters in 2,000 groups, and sends all of them back. Each figure is the
// median of 21 looks; run it with -benchtime 1x. SIDING_BENCH_PIECE is how many go back in one write.
func BenchmarkQuarantine(b *testing.B) {
	const total, groups = 1_000_000, 2_000
	if b.N > 1 {
		b.Fatal("what was sent back cannot be sent again; use -benchtime 1x")
	}
	s := open(b, sqlite.Options{})
	began := time.Now()
	fillDead(b, s, total, groups)
	filled := time.Since(began)
	all, err := s.Groups(b.Context(), siding.GroupQuery{})
	require.NoError(b, err)
	require.Len(b, all, groups)
	key, middle := all[7].Key, began.Add(filled/2)
	b.ResetTimer()
	b.StopTimer()
	b.ReportMetric(total/filled.Seconds(), "set-aside/s")
	look := func(unit string, f func()) {
		var times []time.Duration
		for range 21 {
			began := time.Now()
			f()
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[0].Microseconds())/1000, "least-"+unit)
		b.ReportMetric(float64(times[10].Microseconds())/1000, unit)
	}
	page := func(unit string, sel siding.Selection) {
		sel.Queue, sel.Limit, sel.States = key.Queue, 50, []siding.State{siding.StateDead}
		look(unit, func() {
			n := 0
			for _, err := range s.List(b.Context(), sel) {
				require.NoError(b, err)
				n++
			}
			require.Equal(b, 50, n)
		})
	}
	look("ms/groups", func() {
		_, err := s.Groups(b.Context(), siding.GroupQuery{})
		require.NoError(b, err)
	})
	page("ms/page-of-group", siding.Selection{Causes: []siding.Cause{siding.CauseInvalidRequest}, Fingerprints: []string{key.Fingerprint}})
	page("ms/page-of-cause", siding.Selection{Causes: []siding.Cause{siding.CauseInvalidRequest}})
	page("ms/page-since", siding.Selection{Since: middle})
	page("ms/page-of-queue", siding.Selection{})

	piece := 20_000
	if text := os.Getenv("SIDING_BENCH_PIECE"); text != "" {
		piece, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	var most uint64
	used := cpu(b)
	b.StartTimer()
	began = time.Now()
	for n := int64(piece); n == int64(piece); {
		n, err = s.RedriveSelected(b.Context(), siding.Selection{Queue: key.Queue}, piece)
		require.NoError(b, err)
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		most = max(most, mem.HeapInuse)
	}
	b.StopTimer()
	b.ReportMetric(total/time.Since(began).Seconds(), "redriven/s")
	b.ReportMetric(float64((cpu(b)-used).Microseconds())/total, "cpu-µs/redriven")
	b.ReportMetric(float64(most>>20), "MB-heap")
	st, err := s.Stats(b.Context(), key.Queue)
	require.NoError(b, err)
	require.EqualValues(b, total, st[0].Ready)
}

// cpu gives the time that the process has used so far: what other programs do at the same time is not in it.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
