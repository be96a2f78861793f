package claude

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

var update = flag.Bool("update", false, "write the golden files anew")

// variants are recipes that differ in everything that shapes a request.
func variants() map[string]Config {
	c := func(change func(*Config)) Config {
		base := config(nil, nil)
		change(&base)
		return base
	}
	return map[string]Config{
		"text":   c(func(c *Config) { c.System, c.StopSequences = "", []string{"END", "<&>"} }),
		"schema": c(func(c *Config) { c.Output.Schema = []byte(tagsSchema) }),
		"tool":   c(func(c *Config) { c.Output = Output{Schema: []byte(tagsSchema), Via: ViaTool} }),
		"input":  c(func(c *Config) { c.InputSchema = []byte(`{"required": ["title"]}`) }),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "%s: these bytes are hashed and stored; they never change", name)
}

func TestRequestBytesAndDigestsNeverChange(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	for name, c := range variants() {
		h := newHandler(t, c)
		p, f := h.prepare([]byte("{\"title\":\"<b>Dünen & Meer\u2028\\u0000 😀\"}"))
		require.Nil(t, f)
		golden(t, "request-"+name+".json", append(h.build(p, c.MaxTokens).body, '\n'))
		digests[name] = h.Digest()
	}
	text, err := json.MarshalIndent(digests, "", "  ")
	require.NoError(t, err)
	golden(t, "digests.json", append(text, '\n'))
}

func TestTheSDKReadsTheRequestAsItIsMeant(t *testing.T) {
	t.Parallel()
	for name, c := range variants() {
		h := newHandler(t, c)
		p, f := h.prepare([]byte(`{"title":"Dunes"}`))
		require.Nil(t, f)
		p.images = []imageFile{{mediaType: "image/png", data: "AAAA"}}
		body := h.build(p, 77).body
		var params anthropic.MessageNewParams
		require.NoError(t, json.Unmarshal(body, &params))
		require.Equal(t, int64(77), params.MaxTokens)
		again, err := json.Marshal(params)
		require.NoError(t, err)
		// Unknown keys are silently dropped by the SDK's types; so nothing of ours may be unknown to them.
		require.JSONEq(t, strings.Replace(string(body), `"system":"You tag wallpapers."`, `"system":[{"type":"text","text":"You tag wallpapers."}]`, 1),
			string(again), name)
	}
}

func TestHashes(t *testing.T) {
	t.Parallel()
	h := newHandler(t, variants()["schema"])
	p, _ := h.prepare([]byte(`{"title":"Dunes"}`))
	r := h.build(p, 100)
	require.Equal(t, siding.Hash(sha256.Sum256(r.body)), r.hash)
	require.Equal(t, r, h.build(p, 100), "the same prompt gives the same bytes")
	more := h.build(p, 200)
	require.NotEqual(t, r.hash, more.hash)
	require.Equal(t, r.ask, more.ask, "the question does not depend on max_tokens")
	for _, name := range []string{"schema", "tool", "input"} {
		other := newHandler(t, variants()[name])
		require.Equal(t, r.ask, other.build(p, 100).ask, "nor on the output: %s", name)
	}
	q, _ := h.prepare([]byte(`{"title":"Other"}`))
	require.NotEqual(t, r.ask, h.build(q, 100).ask)
}

func TestTheDigestKnowsWhatCounts(t *testing.T) {
	t.Parallel()
	base := newHandler(t, variants()["schema"]).Digest()
	change := func(f func(*Config)) string {
		c := variants()["schema"]
		f(&c)
		return newHandler(t, c).Digest()
	}
	root := t.TempDir()
	for name, f := range map[string]func(*Config){
		"model": func(c *Config) { c.Model = "claude-sonnet-5" }, "max tokens": func(c *Config) { c.MaxTokens++ }, "system": func(c *Config) { c.System = "x" },
		"prompt": func(c *Config) { c.Prompt += " " }, "images": func(c *Config) { c.Images = Images{Fields: []string{"/i"}, Root: root} },
		"schema": func(c *Config) { c.Output.Schema = []byte(`{"type":"array"}`) }, "via": func(c *Config) { c.Output.Via = ViaTool },
		"stop": func(c *Config) { c.StopSequences = []string{"x"} }, "input": func(c *Config) { c.InputSchema = []byte(`{}`) },
		"no schema": func(c *Config) { c.Output = Output{} },
	} {
		require.NotEqual(t, base, change(f), name)
	}
	var compact any
	require.NoError(t, json.Unmarshal([]byte(tagsSchema), &compact))
	for name, f := range map[string]func(*Config){
		"white space": func(c *Config) { c.Output.Schema = []byte(strings.Join(strings.Fields(tagsSchema), " ")) },
		"via":         func(c *Config) { c.Output.Via = ViaSchema }, "key": func(c *Config) { c.APIKey = "other" }, "url": func(c *Config) { c.BaseURL = "http://x" },
		"timeout": func(c *Config) { c.Timeout = minTimeout }, "unknown": func(c *Config) { c.OnUnknown = siding.UnknownQuarantine },
		"prices": func(c *Config) { c.Prices = Prices{} }, "preflight": func(c *Config) { c.MaxInputTokens = 5 },
	} {
		require.Equal(t, base, change(f), name)
	}
	require.Regexp(t, `^[0-9a-f]{16}$`, base)
}

func TestConfigurationsThatCannotWorkSayWhichField(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		"model:": func(c *Config) { c.Model = " " }, "max_tokens:": func(c *Config) { c.MaxTokens = 0 }, "prompt: it is empty": func(c *Config) { c.Prompt = "" },
		"prompt: prompt:1": func(c *Config) { c.Prompt = "{{" }, "system:": func(c *Config) { c.System = "\xff" }, "stop_sequences: entry 2": func(c *Config) { c.StopSequences = []string{"a", " "} },
		"output.schema: the schema is not valid JSON": func(c *Config) { c.Output.Schema = []byte("{") },
		"output.schema: the schema cannot be used":    func(c *Config) { c.Output.Schema = []byte(`{"type":"objekt"}`) },
		"are not followed":                            func(c *Config) { c.Output.Schema = []byte(`{"$ref":"file:///etc/passwd"}`) },
		"output.via: it is":                           func(c *Config) { c.Output.Via = "xml" }, "output.via: tool needs": func(c *Config) { c.Output.Via = ViaTool },
		`"type": "object"`: func(c *Config) { c.Output = Output{Schema: []byte(`{"type":"array"}`), Via: ViaTool} },
		"input.schema:":    func(c *Config) { c.InputSchema = []byte(`7`) }, "images.root: it is missing": func(c *Config) { c.Images.Fields = []string{"/a"} },
		"images.fields:": func(c *Config) { c.Images = Images{Fields: []string{"a"}, Root: "."} }, "images.root: stat": func(c *Config) { c.Images = Images{Fields: []string{"/a"}, Root: "/nowhere/at/all"} },
		"images.fields: in the JSON Pointer":       func(c *Config) { c.Images = Images{Fields: []string{"/a~2b"}, Root: "."} },
		"images.root: build.go is not a directory": func(c *Config) { c.Images = Images{Fields: []string{"/a"}, Root: "build.go"} },
		"timeout:": func(c *Config) { c.Timeout = 1 }, "on_unknown:": func(c *Config) { c.OnUnknown = "x" }, "base_url:": func(c *Config) { c.BaseURL = "ftp://user:secret@x" },
		"api_key:": func(c *Config) { c.APIKey = "sk-secret\nsecret" }, "prices: row 1": func(c *Config) { c.Prices = Prices{{}} },
		"max_input_tokens:": func(c *Config) { c.MaxInputTokens = -1 },
	} {
		c := config(newJournal(), nil)
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	c := config(newJournal(), nil)
	c.MaxTokens, c.Model, c.Prompt = 0, "", ""
	_, err := New(c)
	for _, field := range []string{"model:", "max_tokens:", "prompt:"} {
		require.ErrorContains(t, err, field, "all at once")
	}
}

func TestAKeyIsNeededOnlyToAsk(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_BASE_URL", "")
	c := config(nil, nil)
	c.APIKey, c.BaseURL = "", ""
	h := newHandler(t, c)
	require.NotEmpty(t, h.Digest())
	require.Equal(t, "claude/claude-haiku-4-5", h.Lane())
	_, err := h.Handle(t.Context(), delivery("a", `{"title":"x"}`))
	require.Equal(t, siding.OutcomeHeld, siding.FailureOf(err).Outcome)
	c.Journal = newJournal()
	_, err = New(c)
	require.ErrorContains(t, err, "ANTHROPIC_API_KEY")
	t.Setenv("ANTHROPIC_API_KEY", "from-environment\n")
	t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere")
	h = newHandler(t, c)
	require.Equal(t, "from-environment", h.c.APIKey)
	require.Equal(t, "http://elsewhere", h.c.BaseURL)
}
