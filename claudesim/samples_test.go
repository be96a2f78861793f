package claudesim_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// Every sample of the service's errors can be named in a profile, and comes out as it was recorded.
func TestEachRecordedErrorIsReproducedByItsID(t *testing.T) {
	f, err := os.Open("testdata/claude-errors.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	seen := 0
	for lines.Scan() {
		var want struct {
			ID      string
			Status  int
			Headers map[string]string
			Body    json.RawMessage
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &want))
		seen++
		t.Run(want.ID, func(t *testing.T) {
			for _, w := range ways(t, "faults: [{do: {fault: error, id: '"+want.ID+"'}}]") {
				got := w.post(ask("a harbor at night"))
				require.NoError(t, got.err)
				require.Equal(t, want.Status, got.status)
				for k, v := range want.Headers {
					require.Equal(t, v, got.header.Get(k))
				}
				if want.Headers["retry-after"] == "" {
					require.Empty(t, got.header.Get("retry-after"))
				}
				var page string
				if json.Unmarshal(want.Body, &page) == nil {
					require.Equal(t, page, got.body)
					continue
				}
				var wanted apiError
				require.NoError(t, json.Unmarshal(want.Body, &wanted))
				e := got.failure(t)
				require.Equal(t, wanted.Error, e.Error)
				require.NotEmpty(t, e.RequestID)
				require.Equal(t, e.RequestID, got.header.Get("request-id"))
				require.Zero(t, w.server.Meter().Totals.Billed)
				require.Zero(t, w.server.Meter().Totals.CostPico)
			}
		})
	}
	require.NoError(t, lines.Err())
	require.Greater(t, seen, 30)
}

// The errors beyond the recorded ones are well formed too.
func TestEveryNamedErrorAnswersWithItsStatus(t *testing.T) {
	for _, id := range claudesim.ErrorNames() {
		w := inProcess(t, "faults: [{do: {fault: error, id: '"+id+"'}}]")
		got := w.post(ask("a harbor"))
		require.NoError(t, got.err)
		require.GreaterOrEqual(t, got.status, 400, id)
		if got.header.Get("Content-Type") == "application/json" {
			require.NotEmpty(t, got.failure(t).Error.Type, id)
		}
	}
}

func TestAnErrorCanBeDescribedFreely(t *testing.T) {
	w := inProcess(t, `
faults:
  - do: {fault: error, status: 418, type: teapot_error, message: short and stout, code: handle, headers: {x-spout: "yes"}, retry_after: 1500ms}
`)
	got := w.post(ask("tea"))
	e := got.failure(t)
	require.Equal(t, 418, got.status)
	require.Equal(t, "teapot_error", e.Error.Type)
	require.Equal(t, "short and stout", e.Error.Message)
	require.Equal(t, "handle", e.Error.Details.Code)
	require.Equal(t, "yes", got.header.Get("x-spout"))
	require.Equal(t, "2", got.header.Get("retry-after"))
	require.Equal(t, "1500", got.header.Get("retry-after-ms"))
}
