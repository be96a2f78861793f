package claudesim_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// The official npm client shares no code with this project or with the Go client: what it understands is the wire.
func TestTheOfficialNpmClientIsServed(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in short mode: installs the npm client")
	}
	for _, tool := range []string{"npm", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped: %s is not installed, so the npm client was not tried", tool)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "client.cjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", "npm", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("skipped: npm could not install the client (offline?), so it was not tried: %v\n%s", err, out)
	}

	s := claudesim.Serve(t, parse(t, `
faults:
  - {when: {text: busy}, do: {fault: error, id: "529"}}
  - {when: {text: broke, pattern: broke\b}, do: {fault: error, id: credit}}
  - {when: {text: too fast}, do: {fault: error, id: rl}}
  - {when: {text: gateway}, do: {fault: html, status: 502}}
  - {when: {text: it is cut}, do: {fault: cut, at: inside}}
  - {when: {text: broken stream}, do: {fault: stream-error, id: "529", after_events: 1}}
  - {when: {text: once only, attempts: 1}, do: {fault: cut, at: after}}
`))
	node := exec.CommandContext(ctx, "node", "client.cjs", s.URL())
	node.Dir = dir
	out, err := node.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("the npm client failed: %v\n%s", err, exit.Stderr)
	}
	require.NoError(t, err)
	type failed struct {
		None    bool
		Name    string
		Status  int
		Type    string
		Request bool
	}
	var seen struct {
		Plain, Stream struct {
			Stop, Text string
			Output     int64
		}
		Tags struct {
			Tags []string
			Mood string
		}
		Tool struct {
			Stop, Name string
			Input      struct{ Tags []string }
		}
		Count int64
		Model struct {
			MaxInput int64 `json:"max_input_tokens"`
		}
		Overloaded, Credit, Limited, Gateway, Cut, Refused, Broken failed
		Again                                                      string
	}
	require.NoError(t, json.Unmarshal(out, &seen), "%s", out)
	require.Equal(t, "end_turn", seen.Plain.Stop)
	require.Equal(t, seen.Plain.Text, seen.Stream.Text)
	require.Positive(t, seen.Stream.Output)
	require.NotEmpty(t, seen.Tags.Tags)
	require.Contains(t, []string{"calm", "wild"}, seen.Tags.Mood)
	require.Equal(t, "tool_use", seen.Tool.Stop)
	require.Equal(t, "save", seen.Tool.Name)
	require.NotEmpty(t, seen.Tool.Input.Tags)
	require.Positive(t, seen.Count)
	require.Equal(t, int64(200_000), seen.Model.MaxInput)
	require.Equal(t, 529, seen.Overloaded.Status)
	require.Equal(t, "overloaded_error", seen.Overloaded.Type)
	require.True(t, seen.Overloaded.Request)
	require.Equal(t, failed{Name: "BadRequestError", Status: 400, Type: "invalid_request_error", Request: true}, seen.Credit)
	require.Equal(t, failed{Name: "RateLimitError", Status: 429, Type: "rate_limit_error", Request: true}, seen.Limited)
	require.Equal(t, 502, seen.Gateway.Status)
	require.Empty(t, seen.Gateway.Type)
	require.False(t, seen.Cut.None)
	require.Equal(t, 400, seen.Refused.Status)
	require.False(t, seen.Broken.None)
	require.Equal(t, "end_turn", seen.Again)

	m := s.Meter()
	var twice claudesim.Row
	for _, r := range m.Rows {
		if r.Calls == 2 {
			twice = r
		}
	}
	require.Equal(t, int64(2), twice.Billed, "an answer that got lost and the one that replaced it are both on the bill")
	require.Equal(t, int64(1), twice.Acceptable)
}
