// Package readings tests the example in this folder, which has no Go of its own.
package readings

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/command"
)

func TestTheReadingsAreNormalised(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here")
	}
	h, err := command.New(command.Config{
		Argv: []string{"python3", "normalise.py"}, JSON: true,
		InputSchema: file(t, "reading.schema.json"), OutputSchema: file(t, "normal.schema.json"),
	})
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(file(t, "readings.jsonl")), []byte("\n"))
	failures := make([]*siding.Failure, len(lines))
	var all sync.WaitGroup
	for i, line := range lines {
		all.Go(func() {
			d := &siding.Delivery{Message: siding.Message{ID: "r", Queue: "readings", Body: line}}
			_, err := h.Handle(t.Context(), d)
			failures[i] = siding.FailureOf(err)
		})
	}
	all.Wait()
	set := map[siding.Cause]int{}
	for i, f := range failures {
		if f != nil {
			require.Equal(t, siding.OutcomePermanent, f.Outcome, "%s: %v", lines[i], f)
			set[f.Cause]++
		}
	}
	require.Len(t, lines, 44)
	require.Equal(t, map[siding.Cause]int{
		siding.CauseInvalidJSON: 1, siding.CauseInvalidUTF8: 1, siding.CauseSchemaViolation: 1, siding.CauseSchemaMismatch: 1, siding.CauseHandlerError: 4,
	}, set)
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}
