package recipe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/alert"
	"github.com/siding-dev/siding/memory"
)

const small = `version: 1
queue: tag-jobs
claude:
  model: claude-haiku-4-5
  max_tokens: 1024
  prompt: "{{.title}}"
`

// everything has every key that this version takes.
const everything = `version: 1
queue: tag-jobs
input:
  id: /meta/id
  schema: record.schema.json
claude:
  model: claude-haiku-4-5
  max_tokens: 1024
  system: You tag wallpapers.
  prompt: |
    Title: {{.title}}
    Description: {{opt .description}}
  images: {fields: [/image_path], root: ./images}
  output: {schema: tags.schema.json, via: tool}
  stop_sequences: ["END", 'stop']
  timeout: 2m30s
  mode: message
preflight:
  max_input_tokens: 150_000
  tokens: service
  oversize: {queue: summaries, recipe: summarise.yaml}
retry: {max_retries: 0, base: 500ms, factor: 1.5, cap: 1m, jitter: 0, gray_retries: 2, gray: [schema-mismatch, refused]}
concurrency: 16
on_unknown: quarantine
budget: {usd: 5.00}
then: {queue: albums, field: /tags}
alert: {dead: 10, new_group: true, hold: true, review_prompt: true, command: [notify-send, siding], webhook: "https://example.com/${HOOK}", allow_private: true}
`

// sends and runs have every key of their groups.
const (
	sends = `version: 1
queue: events
input: {id: /id, schema: record.schema.json}
webhook:
  url: https://example.com/hook/${SECRET}
  method: PUT
  headers: {Authorization: "Bearer ${TOKEN}", X-From: siding}
  idempotency_header: Event-Id
  timeout: 10s
  done: [409]
  transient: [404]
  permanent: [403, 401]
  gray: [500]
  follow_redirects: true
  allow_private: true
  max_response: 2048
on_unknown: quarantine
`
	runs = `version: 1
queue: readings
input: {schema: record.schema.json}
command:
  argv: [python3, normalise.py, --version=2]
  env: [TOKEN, MODE=fast]
  timeout: 1m
  grace: 2s
  permanent: [3, 4]
  gray: [5]
  max_output: 4096
  output: {schema: tags.schema.json}
`
)

// folder makes a folder with the files that everything names.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "record.schema.json", `{"type":"object"}`)
	put(t, dir, "tags.schema.json", `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}},"required":["tags"],"additionalProperties":false}`)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "images"), 0o700))
	put(t, dir, "summarise.yaml", summarise)
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func TestARecipeWithEveryKey(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, "recipe.yaml", "\ufeff"+strings.ReplaceAll(everything, "\n", "\r\n"))
	r, err := Load(filepath.Join(dir, "recipe.yaml"))
	require.NoError(t, err)
	require.Equal(t, "tag-jobs", r.Queue)
	require.Equal(t, "/meta/id", r.IDPointer)
	require.Equal(t, 16, r.Concurrency)
	require.Equal(t, siding.Policy{
		MaxRetries: 0, GrayRetries: 2, Gray: []siding.Cause{siding.CauseSchemaMismatch, siding.CauseRefused},
		Backoff:  siding.Backoff{Base: 500 * time.Millisecond, Factor: 1.5, Cap: time.Minute, Jitter: 0},
		MaxWaits: 20, MaxInterruptions: 10, OnUnknown: siding.UnknownQuarantine,
	}, r.Policy())
	require.Equal(t, "Title: {{.title}}\nDescription: {{opt .description}}\n", r.claude.Prompt)
	require.Equal(t, []string{"END", "stop"}, r.claude.StopSequences)
	require.Equal(t, 150*time.Second, r.claude.Timeout)
	require.EqualValues(t, 150_000, r.claude.MaxInputTokens)
	require.Equal(t, siding.UnknownQuarantine, r.claude.OnUnknown)
	require.Equal(t, filepath.Join(dir, "images"), r.claude.Images.Root)
	require.Equal(t, 5*siding.USD, r.claude.Budget)
	require.True(t, r.AsksClaude())
	require.True(t, r.claude.CountTokens)
	require.Equal(t, "summaries", r.claude.Oversize)
	require.Equal(t, &siding.Then{Queue: "albums", Field: "/tags"}, r.Then)
	require.Equal(t, "summaries", r.Side.Queue)
	require.Equal(t, filepath.Join(dir, "summarise.yaml"), r.Side.Name)
	require.Equal(t, &siding.Then{Queue: "tag-jobs", Field: "/description"}, r.Side.Then)
	require.Equal(t, alert.Rules{Dead: 10, NewGroup: true, Hold: true, ReviewPrompt: true}, r.AlertRules())
	for _, k := range Keys() {
		if k.Refused == "" {
			name, text := k.Path[strings.LastIndexByte(k.Path, '.')+1:], everything
			switch group, _, _ := strings.Cut(k.Path, "."); group {
			case "webhook":
				text = sends
			case "command":
				text = runs
			}
			require.Contains(t, text, name+":", "the test must have every key")
		}
	}
}

func TestTheDefaults(t *testing.T) {
	t.Parallel()
	r, err := Parse("r.yaml", []byte(small), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, siding.DefaultPolicy(), r.Policy())
	require.Equal(t, 8, r.Concurrency)
	require.Empty(t, r.IDPointer)
	require.Equal(t, "r.yaml", r.Name)
	for path, want := range map[string]any{
		"retry.max_retries": siding.DefaultPolicy().MaxRetries, "retry.base": siding.DefaultPolicy().Backoff.Base,
		"retry.factor": siding.DefaultPolicy().Backoff.Factor, "retry.jitter": siding.DefaultPolicy().Backoff.Jitter,
		"retry.gray_retries": siding.DefaultPolicy().GrayRetries, "on_unknown": siding.DefaultPolicy().OnUnknown,
		"concurrency": r.Concurrency, "claude.timeout": "10m",
	} {
		require.Equal(t, fmt.Sprintf("`%v`", want), find(path).Default, path)
	}
	require.Equal(t, 10*time.Minute, r.claude.Timeout)
	require.Equal(t, 60*time.Second, siding.DefaultPolicy().Backoff.Cap)
}

func TestTheDigestIsOfWhatShapesTheRequestAndItsAcceptance(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	digest := func(text string) string {
		r, err := Parse("r.yaml", []byte(text), dir)
		require.NoError(t, err)
		h, err := r.Handler(Env{})
		require.NoError(t, err)
		require.Equal(t, r.Digest(), h.Digest())
		return r.Digest()
	}
	base := digest(small)
	require.NotEmpty(t, base)
	for _, more := range []string{"concurrency: 3\n", "retry: {max_retries: 9}\n", "on_unknown: quarantine\n", "input: {id: /id}\n", "# a word\n"} {
		require.Equal(t, base, digest(small+more), more)
	}
	require.Equal(t, base, digest(strings.Replace(small, "tag-jobs", "other", 1)))
	for _, more := range []string{"input: {schema: record.schema.json}\n", "  system: x\n", "  output: {schema: tags.schema.json}\n"} {
		require.NotEqual(t, base, digest(small+more), more)
	}
	require.NotEqual(t, base, digest(strings.Replace(small, "title", "name", 1)))
	require.NotEqual(t, base, digest(strings.Replace(small, "1024", "1025", 1)))
}

func TestAHandlerNeedsAKeyOnlyToAsk(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	r, err := Parse("r.yaml", []byte(small), t.TempDir())
	require.NoError(t, err)
	h, err := r.Handler(Env{})
	require.NoError(t, err)
	require.Equal(t, "claude/claude-haiku-4-5", h.Lane())
	_, _, priced := h.Estimate(siding.Message{Body: []byte(`{"title":"x"}`)})
	require.True(t, priced)

	store := memory.Open(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	h, err = r.Handler(Env{Journal: store})
	require.ErrorContains(t, err, "ANTHROPIC_API_KEY")
	require.Nil(t, h)
	h, err = r.Handler(Env{Journal: store, APIKey: "sk-test", BaseURL: "http://127.0.0.1:1", StoreID: "s"})
	require.NoError(t, err)
	gates := h.GateKeys()
	require.Regexp(t, "^claude/[0-9a-f]{8}$", gates.Account.Name)
	require.Equal(t, siding.GateKey{Scope: siding.ScopeLane, Name: h.Lane()}, gates.Lane)
	require.Equal(t, siding.GateKey{Scope: siding.ScopeRecipe, Name: "tag-jobs@" + r.Digest()}, gates.Recipe)
}

func TestABadEnvironmentIsNoFaultOfTheRecipe(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "two\nlines")
	t.Setenv("ANTHROPIC_BASE_URL", "nowhere")
	r, err := Parse("r.yaml", []byte(small), t.TempDir())
	require.NoError(t, err)
	_, err = r.Handler(Env{})
	require.ErrorContains(t, err, "api_key")
	require.ErrorContains(t, err, "base_url")
	require.NotContains(t, err.Error(), "two")
}
