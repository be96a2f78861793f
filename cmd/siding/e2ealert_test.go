package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/alert"
)

// receiver is an address to which notices are posted.
type receiver struct {
	*httptest.Server

	mu   sync.Mutex
	got  []alert.Notice
	fail int // so many are answered 503 first
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		var n alert.Notice
		if r.fail--; r.fail >= 0 || json.Unmarshal(body, &n) != nil || req.URL.Path != "/t0ken-of-the-hook" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.got = append(r.got, n)
	}))
	t.Cleanup(r.Close)
	return r
}

// failNext lets the next n notices be answered 503.
func (r *receiver) failNext(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = n
}

// heard gives what was received since the last time, sorted.
func (r *receiver) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []string{}
	for _, n := range r.got {
		all = append(all, string(n.Rule)+" "+n.State)
	}
	r.got = nil
	slices.Sort(all)
	return all
}

// told gives the same of what a command has written, one notice a line.
func told(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return []string{}
	}
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	all := []string{}
	for line := range strings.Lines(string(text)) {
		var n alert.Notice
		require.NoError(t, json.Unmarshal([]byte(line), &n), line)
		all = append(all, string(n.Rule)+" "+n.State)
	}
	slices.Sort(all)
	return all
}

// alertRecipe fails every other record until there is a file named good.
const alertRecipe = `version: 1
queue: q
input: {id: /id}
command:
  argv: [/bin/sh, -c, 'body=$(cat); test -e good && exit; case $body in *[02468]\"}) echo the page is blank >&2; exit 65; esac']
`

func (r *receiver) recipe(rules string) string {
	return alertRecipe + "alert: {" + rules + `, webhook: "` + r.URL + `/${HOOK}", allow_private: true, command: [/bin/sh, tell.sh]}` + "\n"
}

func newAlertWorld(t *testing.T, rules string) (*world, *receiver) {
	t.Helper()
	w, r := newWorld(t, nil), newReceiver(t)
	w.env = append(w.env, "HOOK=t0ken-of-the-hook")
	w.write(t, "recipe.yaml", r.recipe(rules))
	w.write(t, "tell.sh", `test -z "$ANTHROPIC_API_KEY$HOOK" || exit 1; test -n "$SIDING_ALERT_TEXT" || exit 1; cat >>told`)
	return w, r
}

func TestDeadLettersAndNewGroupsAreToldOnceAndTheirEndOnce(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "dead: 5, new_group: true, hold: true")
	w.records(t, "in.jsonl", 12)
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	began := []string{"dead firing", "new_group firing"}
	require.Equal(t, began, r.heard())
	require.Equal(t, began, told(t, w.path("told")))

	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	require.Empty(t, r.heard(), "a second run tells nothing again")

	w.write(t, "good", "")
	w.want(t, 0, "redrive", "--all")
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.Equal(t, []string{"dead resolved"}, r.heard())
	require.Equal(t, []string{"dead resolved"}, told(t, w.path("told")))
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.Empty(t, r.heard())
	require.Empty(t, told(t, w.path("told")))

	// No secret of the address in the store, nor in what was shown.
	text, err := os.ReadFile(w.path("siding.db"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "t0ken-of-the-hook")
}

func TestAShareOfMismatchesIsToldOnceAndItsEndOnce(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "review_prompt: true")
	w.write(t, "out.json", `{"type": "object"}`)
	recipe := strings.Replace(r.recipe("review_prompt: true"), "  argv:", "  output: {schema: out.json}\n  argv:", 1)
	recipe = strings.Replace(recipe, "test -e good && exit; case $body in *[02468]\\\"}) echo the page is blank >&2; exit 65; esac",
		`test -e good && exec echo {}; case $body in *[02468]\"}) echo 5;; *) echo {};; esac`, 1)
	require.Contains(t, recipe, "echo 5")
	w.write(t, "recipe.yaml", recipe)
	w.records(t, "in.jsonl", 4)
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	require.Equal(t, []string{"review_prompt firing"}, r.heard())
	require.Equal(t, []string{"review_prompt firing"}, told(t, w.path("told")))

	w.write(t, "good", "")
	w.want(t, 0, "redrive", "--all")
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.Equal(t, []string{"review_prompt resolved"}, r.heard())
	require.Equal(t, []string{"review_prompt resolved"}, told(t, w.path("told")))
}

func TestARegressionIsTold(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "new_group: true")
	w.records(t, "in.jsonl", 1)
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	require.Equal(t, []string{"new_group firing"}, r.heard())
	fingerprint, _ := objects(t, w.want(t, 0, "dlq", "list", "--json").stdout)[0]["fingerprint"].(string)
	w.want(t, 0, "dlq", "groups", "mark", fingerprint, "resolved")
	w.want(t, 0, "redrive", "--all")
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.got, 1)
	require.True(t, r.got[0].Groups[0].Regression)
	require.Contains(t, r.got[0].Text, "regression")
	require.Contains(t, r.got[0].Text, "the page is blank")
}

func TestTwoProcessesAtOnceTellOnce(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "dead: 5, new_group: true")
	w.records(t, "in.jsonl", 60)
	var all []*running
	for range 4 {
		all = append(all, w.start(t, "run", "recipe.yaml", "in.jsonl", "--out", "-"))
	}
	for _, p := range all {
		e := p.wait(t)
		require.Equal(t, 3, e.code, e.stderr)
	}
	require.Equal(t, []string{"dead firing", "new_group firing"}, r.heard())
	require.Equal(t, []string{"dead firing", "new_group firing"}, told(t, w.path("told")))
}

func TestAReceiverThatFailsIsTriedAgainAndFailsNoRun(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "dead: 1")
	r.failNext(1)
	w.records(t, "in.jsonl", 1)
	e := w.want(t, 3, "run", "recipe.yaml", "in.jsonl")
	require.Contains(t, e.stderr, "alerts of queue q: webhook: ")
	require.Contains(t, e.stderr, "503")
	require.NotContains(t, e.stderr, "t0ken")
	require.Equal(t, []string{"dead firing"}, r.heard())
	require.Equal(t, []string{"dead firing"}, told(t, w.path("told")))
}

func TestAHoldIsToldAndItsEnd(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "hold: true")
	w.records(t, "in.jsonl", 2)
	w.write(t, "recipe.yaml", strings.Replace(r.recipe("hold: true"), "exit 65", "exit 78", 1))
	w.want(t, 4, "run", "recipe.yaml", "in.jsonl")
	r.mu.Lock()
	require.Len(t, r.got, 1)
	require.Contains(t, r.got[0].Text, "queue q: recipe:q@")
	require.Equal(t, "recipe", string(r.got[0].Hold.Scope))
	r.mu.Unlock()
	require.Equal(t, []string{"hold firing"}, r.heard())
	w.want(t, 4, "run", "recipe.yaml", "in.jsonl")
	require.Empty(t, r.heard())
	w.write(t, "good", "")
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	require.Equal(t, []string{"hold resolved"}, r.heard())
}

func TestASimulatedNoticeSaysSo(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "")
	w.write(t, "recipe.yaml", testRecipe+`alert: {dead: 1, webhook: "`+r.URL+`/${HOOK}", allow_private: true}`+"\n")
	w.lines(t, "in.jsonl", []string{`{"id":"a","title":"one"}`, `{"id":"b","title":`})
	w.want(t, 3, "run", "recipe.yaml", "in.jsonl", "--simulate")
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.got, 1)
	require.True(t, r.got[0].Simulated)
	require.Contains(t, r.got[0].Text, "siding (simulated): queue ")
}

func TestATestNoticeGoesToEachSink(t *testing.T) {
	t.Parallel()
	w, r := newAlertWorld(t, "dead: 1")
	e := w.want(t, 0, "alert", "test", "recipe.yaml")
	require.Contains(t, e.stderr, "webhook: received")
	require.Equal(t, []string{"test firing"}, r.heard())
	require.Equal(t, []string{"test firing"}, told(t, w.path("told")))
	require.NoFileExists(t, w.path("siding.db"))

	r.failNext(1)
	e = w.want(t, 1, "alert", "test", "recipe.yaml", "--json")
	o := objects(t, e.stdout)
	require.Len(t, o, 2)
	require.Equal(t, map[string]any{"type": "alert_test", "v": 1.0, "sink": "command", "ok": true, "error": ""}, o[0])
	require.Equal(t, false, o[1]["ok"])
	require.Contains(t, o[1]["error"], "503")

	w.env = w.env[:len(w.env)-1]
	require.Contains(t, w.want(t, 2, "alert", "test", "recipe.yaml").stderr, "alert.webhook: the environment has no variable HOOK")
	require.Contains(t, w.want(t, 2, "run", "recipe.yaml", "in.jsonl").stderr, "HOOK")
	require.NoFileExists(t, w.path("siding.db"))
	w.write(t, "recipe.yaml", alertRecipe)
	require.Contains(t, w.want(t, 2, "alert", "test", "recipe.yaml").stderr, "has no alerts")
}
