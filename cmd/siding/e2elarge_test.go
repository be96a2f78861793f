package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func TestAMillionLines(t *testing.T) {
	t.Parallel()
	largeRun(t, 1_000_000)
}

// largeRun runs an input of n records up to the first calls, which find no credit, and gives the most memory that the
// program took, in bytes. Every record is enqueued, counted and looked through for results; none is lost.
func largeRun(t *testing.T, n int) (peak int64) {
	t.Helper()
	w := newWorld(t, &claudesim.Profile{Faults: []claudesim.Rule{{Do: claudesim.Do{Fault: "error", ID: "credit"}}}})
	f, err := os.Create(w.path("in.jsonl"))
	require.NoError(t, err)
	b := bufio.NewWriterSize(f, 1<<20)
	for i := range n {
		_, _ = fmt.Fprintf(b, "{\"id\":\"r%08d\",\"title\":\"picture number %d, of which there are many\"}\n", i, i)
	}
	require.NoError(t, b.Flush())
	require.NoError(t, f.Close())

	r := w.start(t, "run", "recipe.yaml", "in.jsonl", "--json")
	for !exited(r.cmd) {
		peak = max(peak, highWater(r.cmd.Process.Pid))
		time.Sleep(50 * time.Millisecond)
	}
	e := r.wait(t)
	require.Equal(t, 4, e.code, e.stderr)
	s := e.summary(t)
	require.EqualValues(t, n, s.Enqueued)
	require.EqualValues(t, n, s.Pending+s.Held)
	require.LessOrEqual(t, w.calls(), int64(8))
	return peak
}

// highWater gives the most memory that a process has ever had, in bytes; 0 when it has gone.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}
