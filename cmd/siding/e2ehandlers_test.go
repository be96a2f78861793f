package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheExampleOfReadingsRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here")
	}
	w := newWorld(t, nil)
	example, err := filepath.Abs("../../examples/readings")
	require.NoError(t, err)
	args := []string{"run", filepath.Join(example, "recipe.yaml"), filepath.Join(example, "readings.jsonl"), "--store", w.path("siding.db"), "--json"}
	s := w.want(t, 3, args...).summary(t)
	require.EqualValues(t, 44, s.Enqueued)
	require.EqualValues(t, 36, s.Done)
	require.EqualValues(t, 8, s.Dead)
	require.Zero(t, s.Calls)
	first, err := os.ReadFile(w.path("results.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(first), `"result":{"station":"NO017","at":"2024-02-27T19:00:00Z","celsius":-7.0}`)
	require.Equal(t, s, w.want(t, 3, args...).summary(t), "the second run does nothing")
	w.want(t, 2, append(args, "--simulate")...)
	w.want(t, 0, "doctor", "--store", w.path("siding.db"))
}

func TestAProgramThatIsKilledIsNoCrashOfTheWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write(t, "recipe.yaml", `version: 1
queue: runs
input: {id: /id}
command:
  argv: [/bin/sh, -c, 'body=$(cat); case "$body" in *killer*) kill -KILL $$;; esac; printf %s "$body"']
retry: {max_retries: 2, base: 10ms, cap: 1s}
concurrency: 4
`)
	lines := w.records(t, "in.jsonl", 12)
	lines[5] = `{"id":"r005","title":"killer"}`
	w.lines(t, "in.jsonl", lines)
	s := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 11, s.Done)
	require.EqualValues(t, 1, s.Dead)
	o := objects(t, w.want(t, 0, "dlq", "list", "--json").stdout)
	require.Len(t, o, 1)
	require.Equal(t, "r005", o[0]["id"])
	require.Equal(t, "attempts-exhausted", o[0]["reason"])
	require.InDelta(t, 3, o[0]["attempt"], 0)
	require.InDelta(t, 0, o[0]["interruptions"], 0)
	require.Contains(t, o[0]["last_error"], "SIGKILL")
}

func TestAWebhookSendsEachRecordOnceAndKeepsItsSecret(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got[r.Header.Get("Idempotency-Key")]++
		mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cret-t0ken":
			rw.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(string(body), "number 3\""):
			rw.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(rw, "your token is s3cret-t0ken")
		default:
			_, _ = io.WriteString(rw, `{"ok":true}`)
		}
	}))
	t.Cleanup(receiver.Close)
	w := newWorld(t, nil)
	w.write(t, "recipe.yaml", `version: 1
queue: events
input: {id: /id}
webhook:
  url: `+receiver.URL+`/hook
  headers: {Authorization: "Bearer ${HOOK_TOKEN}"}
  allow_private: true
`)
	w.records(t, "in.jsonl", 10)
	e := w.want(t, 2, "run", "recipe.yaml", "in.jsonl")
	require.Contains(t, e.stderr, "HOOK_TOKEN")
	require.NoFileExists(t, w.path("siding.db"))

	w.env = append(w.env, "HOOK_TOKEN=wr0ng-t0ken")
	e = w.want(t, 4, "run", "recipe.yaml", "in.jsonl", "--json")
	require.EqualValues(t, 10, e.summary(t).Held)
	require.Contains(t, e.stderr, "Mend the credential")
	mu.Lock()
	require.LessOrEqual(t, len(got), slots)
	clear(got)
	mu.Unlock()

	w.env[len(w.env)-1] = "HOOK_TOKEN=s3cret-t0ken"
	s := w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--json").summary(t)
	require.EqualValues(t, 9, s.Done)
	require.EqualValues(t, 1, s.Dead)
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, got, 10)
	for id, n := range got {
		require.Equal(t, 1, n, id)
	}
	require.NotContains(t, w.want(t, 0, "dlq", "list", "--json").stdout, "s3cret")
	files, err := filepath.Glob(w.path("*"))
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		require.NotContains(t, string(text), "s3cret-t0ken", f)
	}
}
