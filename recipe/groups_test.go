package recipe

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

func variables(name string) (string, bool) {
	v, ok := map[string]string{"SECRET": "s3cret-path", "TOKEN": "t0ken-value", "PATH": os.Getenv("PATH")}[name]
	return v, ok
}

func TestARecipeThatSendsToAnAddress(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	r, err := Parse("r.yaml", []byte(sends), dir)
	require.NoError(t, err)
	require.False(t, r.AsksClaude())
	w := r.webhook
	require.Equal(t, "https://example.com/hook/${SECRET}", w.URL)
	require.Equal(t, "PUT", w.Method)
	require.Equal(t, map[string]string{"Authorization": "Bearer ${TOKEN}", "X-From": "siding"}, w.Headers)
	require.Equal(t, "Event-Id", w.IdempotencyHeader)
	require.Equal(t, 10*time.Second, w.Timeout)
	require.Equal(t, [][]int{{409}, {404}, {403, 401}, {500}}, [][]int{w.Done, w.Transient, w.Permanent, w.Gray})
	require.True(t, w.FollowRedirects)
	require.True(t, w.AllowPrivate)
	require.True(t, w.JSON)
	require.EqualValues(t, 2048, w.MaxResponse)
	require.Equal(t, siding.UnknownQuarantine, w.OnUnknown)
	require.NotEmpty(t, w.InputSchema)
	require.NotEmpty(t, r.Digest())

	store := memory.Open(memory.Options{})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	_, err = r.Handler(Env{Journal: store, LookupEnv: func(string) (string, bool) { return "", false }})
	require.ErrorContains(t, err, "TOKEN")
	require.ErrorContains(t, err, "SECRET")
	h, err := r.Handler(Env{Journal: store, LookupEnv: variables})
	require.NoError(t, err)
	require.Equal(t, r.Digest(), h.Digest())
	require.Equal(t, siding.GateKeys{
		Lane:   siding.GateKey{Scope: siding.ScopeLane, Name: "webhook/example.com"},
		Recipe: siding.GateKey{Scope: siding.ScopeRecipe, Name: "events@" + r.Digest()},
	}, h.GateKeys(), "an address has no account")
}

func TestARecipeThatRunsACommand(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	r, err := Parse("r.yaml", []byte(runs), dir)
	require.NoError(t, err)
	c := r.command
	require.Equal(t, []string{"python3", "normalise.py", "--version=2"}, c.Argv)
	require.Equal(t, dir, c.Dir)
	require.Equal(t, []string{"TOKEN", "MODE=fast"}, c.Env)
	require.Equal(t, [2]time.Duration{time.Minute, 2 * time.Second}, [2]time.Duration{c.Timeout, c.Grace})
	require.Equal(t, [][]int{{3, 4}, {5}}, [][]int{c.Permanent, c.Gray})
	require.EqualValues(t, 4096, c.MaxOutput)
	require.NotEmpty(t, c.OutputSchema)
	require.NotEmpty(t, c.InputSchema)
	require.True(t, c.JSON)
	_, err = r.Handler(Env{LookupEnv: func(string) (string, bool) { return "", false }})
	require.ErrorContains(t, err, "TOKEN")
	h, err := r.Handler(Env{LookupEnv: variables})
	require.NoError(t, err)
	require.Equal(t, r.Digest(), h.Digest())
	require.Equal(t, "command/python3", h.GateKeys().Lane.Name)
	require.Equal(t, "readings@"+r.Digest(), h.GateKeys().Recipe.Name)
}

func TestTheFolderOfACommandIsTheRecipes(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell here")
	}
	dir := t.TempDir()
	put(t, dir, "word.txt", `"here"`)
	put(t, dir, "recipe.yaml", "version: 1\nqueue: q\ncommand: {argv: [/bin/sh, -c, cat word.txt]}\n")
	r, err := Load(filepath.Join(dir, "recipe.yaml"))
	require.NoError(t, err)
	h, err := r.Handler(Env{})
	require.NoError(t, err)
	res, err := h.Handle(t.Context(), &siding.Delivery{Message: siding.Message{ID: "a", Queue: "q", Body: []byte("{}")}})
	require.NoError(t, err)
	require.JSONEq(t, `"here"`, string(res.Body))
}

func TestTheDefaultsOfTheOtherHandlers(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"webhook.timeout": "30s", "command.timeout": "5m", "command.grace": "5s", "webhook.method": http.MethodPost,
		"webhook.max_response": "1048576", "command.max_output": "1048576", "webhook.idempotency_header": "Idempotency-Key",
	} {
		require.Equal(t, "`"+want+"`", find(path).Default, path)
	}
	r, err := Parse("r.yaml", []byte("version: 1\nqueue: q\nwebhook: {url: https://example.com}\n"), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, r.webhook.Timeout)
	require.EqualValues(t, 1<<20, r.webhook.MaxResponse)
	require.False(t, r.webhook.AllowPrivate)
	r, err = Parse("r.yaml", []byte("version: 1\nqueue: q\ncommand: {argv: [x]}\n"), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, [2]time.Duration{5 * time.Minute, 5 * time.Second}, [2]time.Duration{r.command.Timeout, r.command.Grace})
}

func TestWhatARecipeDoesIsOneThing(t *testing.T) {
	t.Parallel()
	head := "version: 1\nqueue: q\n"
	const hook, run = "webhook: {url: https://example.com}\n", "command: {argv: [x]}\n"
	for text, wants := range map[string][]string{
		head:                            {"r.yaml: nothing says what to do with a record"},
		head + hook + run:               {"r.yaml:4:1: webhook and command exclude each other"},
		small + run:                     {"claude and command exclude each other"},
		head + "webhook:\n":             {"r.yaml:3:1: webhook has no value"},
		head + "webhook: {}\n":          {"r.yaml:3:1: webhook.url is missing"},
		head + "webhook: {url: x}\n":    {"r.yaml:3:16: webhook.url: it is not an http"},
		head + "command: [convert]\n":   {"r.yaml:3:10: command must be a group of keys"},
		head + "command: {grace: 1s}\n": {"r.yaml:3:1: command.argv is missing"},
		head + "command: {argv: []}\n":  {"command.argv: it is empty"},
		head + "command: {argv: [x], permanent: [0], gray: [a]}\n":                   {"0 is no exit status", "each entry of command.gray must be a whole number"},
		head + "command: {argv: [x], env: [\"A B\"]}\n":                              {"command.env: \"A B\" is no name"},
		head + "command: {argv: [x], timeout: 1ms}\n":                                {"command.timeout: it is 1ms"},
		head + "command: {argv: [x], max_output: 99999999999}\n":                     {"command.max_output: it is 99999999999"},
		head + "webhook: {url: https://a.b, headers: [x]}\n":                         {"webhook.headers must be a group of texts"},
		head + "webhook: {url: https://a.b, headers: {A: 1}}\n":                      {"each value in webhook.headers must be a text"},
		head + "webhook: {url: https://a.b, headers: {Host: x}}\n":                   {"webhook.headers: Host cannot be set"},
		head + "webhook: {url: https://a.b, done: [-1], gray: [99], permanent: 4}\n": {"webhook.done lists -1", "webhook.permanent must be a list"},
		head + "webhook: {url: https://a.b, gray: [99]}\n":                           {"webhook.gray: 99 is no status"},
		head + "webhook: {url: https://a.b, follow: true}\n":                         {"there is no key follow in webhook"},
		head + hook + "budget: {usd: 5}\n":                                           {"r.yaml:4:9: a budget would mean nothing: webhook costs no money"},
		head + run + "budget: {usd: 5}\n":                                            {"command costs no money"},
		head + run + "preflight: {max_input_tokens: 5}\n":                            {"preflight is for claude only"},
		small + "budget: {usd: 0}\n":                                                 {"r.yaml:7:15: budget.usd is 0"},
		small + "budget: {}\n":                                                       {"budget says no amount"},
		strings.Replace(small, "haiku-4-5", "mythos-5-2", 1) + "budget: {usd: 1}\n":  {"r.yaml:7:15: budget.usd: no price is known"},
	} {
		_, err := Parse("r.yaml", []byte(text), t.TempDir())
		require.Error(t, err, text)
		for _, want := range wants {
			require.ErrorContains(t, err, want, text)
		}
	}
}

func TestABudgetIsExact(t *testing.T) {
	t.Parallel()
	r, err := Parse("r.yaml", []byte(small+"budget: {usd: 0.000000000001}\n"), t.TempDir())
	require.NoError(t, err)
	require.EqualValues(t, 1, r.claude.Budget)
	with, err := Parse("r.yaml", []byte(small+"budget: {usd: 5}\n"), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, r.Digest(), with.Digest(), "a budget that is raised changes no answer")
}
