package claudesim_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func pngOf(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func withImage(kind, data string) string {
	return `{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":"tag this"},{"type":"image","source":{"type":"base64","media_type":"` + kind + `","data":"` + data + `"}}]}]}`
}

func withMessages(messages string) string {
	return `{"model":"claude-haiku-4-5","max_tokens":100,"messages":` + messages + `}`
}

// What the service refuses is refused here with the same words, and costs nothing.
func TestRequestsThatTheServiceRefusesAreRefused(t *testing.T) {
	picture := pngOf(t, 30, 20)
	cases := []struct {
		name, body string
		status     int
		message    string // a part of it
	}{
		{"empty text", ask(""), 400, "messages: text content blocks must be non-empty"},
		{"blank text", ask(" \n\t\u00a0"), 400, "messages: text content blocks must contain non-whitespace text"},
		{"no content", withMessages(`[{"role":"user","content":[]}]`), 400, "must have non-empty content"},
		{"no messages", withMessages(`[]`), 400, "messages: at least one message is required"},
		{"first role", withMessages(`[{"role":"assistant","content":"x"}]`), 400, "first message must use"},
		{"unknown role", withMessages(`[{"role":"robot","content":"x"}]`), 400, "messages.0.role"},
		{"unknown block", withMessages(`[{"role":"user","content":[{"type":"hologram"}]}]`), 400, "hologram"},
		{"open tool call", withMessages(`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"a","input":{}}]},{"role":"user","content":"y"}]`), 400, "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."},
		{"no JSON", `{"model":`, 400, "The request body is not valid JSON: unexpected end of data: line 1 column 10 (char 9)"},
		{"empty body", ``, 400, "unexpected end of data"},
		{"a list", `[1]`, 400, "valid dictionary"},
		{"lone high surrogate", strings.Replace(ask("caf@"), "@", `\ud83d`, 1), 400, "not valid JSON: no low surrogate in string: line 1 column"},
		{"lone low surrogate", strings.Replace(ask("caf@"), "@", `\ude00`, 1), 400, "invalid high surrogate in string"},
		{"raw control character", strings.Replace(ask("caf@"), "@", "\x01", 1), 400, "unexpected control character in string"},
		{"invalid UTF-8", strings.Replace(ask("caf@"), "@", "\xff", 1), 400, "not valid UTF-8"},
		{"deep nesting", strings.Repeat("[", 100_000), 400, "recursion limit"},
		{"no model", `{"max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 400, "model: Field required"},
		{"unknown model", strings.Replace(ask("x"), "claude-haiku-4-5", "claude-haiku-4-7", 1), 404, "model: claude-haiku-4-7"},
		{"no max_tokens", `{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"x"}]}`, 400, "max_tokens: Field required"},
		{"fractional max_tokens", strings.Replace(ask("x"), "500", "5.5", 1), 400, "max_tokens: Input should be a valid integer"},
		{"negative max_tokens", strings.Replace(ask("x"), "500", "-5", 1), 400, "max_tokens"},
		{"max_tokens above the model's", askFor("x", 128001, ""), 400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001"},
		{"temperature", askFor("x", 10, `,"temperature":0.5`), 400, "temperature"},
		{"top_p", askFor("x", 10, `,"top_p":0.5`), 400, "top_p"},
		{"top_k", askFor("x", 10, `,"top_k":5`), 400, "top_k"},
		{"unknown parameter", askFor("x", 10, `,"extra_body":{}`), 400, "extra_body: Extra inputs are not permitted"},
		{"stream of words", askFor("x", 10, `,"stream":"yes"`), 400, "stream"},
		{"too long", ask(strings.Repeat("word ", 200_000)), 400, "tokens > 200000 maximum"},
		{"too long with the answer", askFor(strings.Repeat("word ", 150_000), 64_000, ""), 400, "input length and `max_tokens` exceed context limit"},
		{"image type", withImage("image/tiff", picture), 400, "messages.0.content.1.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"},
		{"image of another type", withImage("image/jpeg", picture), 400, "appears to be a image/png image"},
		{"image no base64", withImage("image/png", "@@@"), 400, "base64"},
		{"image no image", withImage("image/png", base64.StdEncoding.EncodeToString([]byte("hello"))), 400, "Could not process image"},
		{"image too large", withImage("image/png", strings.Repeat("A", 1<<20+4)), 400, "image exceeds 1 MB maximum: 1048580 bytes > 1048576 bytes"},
		{"image too wide", withImage("image/png", pngOf(t, 8001, 1)), 400, "dimensions exceed max allowed size: 8000 pixels"},
		{"no PDF", withMessages(`[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGVsbG8="}}]}]`), 400, "The PDF specified was not valid."},
		{"thinking budget", askFor("x", 2000, `,"thinking":{"type":"enabled","budget_tokens":5}`), 400, "budget_tokens"},
		{"manual thinking on a newer model", strings.Replace(askFor("x", 2000, `,"thinking":{"type":"enabled","budget_tokens":1024}`), "haiku-4-5", "sonnet-5", 1), 400, "thinking.type.enabled"},
		{"prefill on a newer model", strings.Replace(withMessages(`[{"role":"user","content":"x"},{"role":"assistant","content":"{"}]`), "haiku-4-5", "sonnet-5", 1), 400, "prefill"},
		{"forced tool that is missing", askFor("x", 10, `,"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"b"}`), 400, "Tool 'b' not found"},
		{"tool without an object", askFor("x", 10, `,"tools":[{"name":"a","input_schema":{"type":"array"}}]`), 400, "input_schema.type"},
		{"no schema", askFor("x", 10, `,"output_config":{"format":{"type":"json_schema"}}`), 400, "Field required"},
		{"schema of a string", schema(`"object"`), 400, "valid dictionary"},
		{"schema with maxItems", schema(`{"type":"array","items":{"type":"string"},"maxItems":3}`), 400, "For 'array' type, property 'maxItems' is not supported"},
		{"schema with minLength", schema(`{"type":"string","minLength":3}`), 400, "For 'string' type, property 'minLength' is not supported"},
		{"schema with minItems 2", schema(`{"type":"array","minItems":2}`), 400, "'minItems' values other than 0 or 1"},
		{"open object", schema(`{"type":"object","properties":{"a":{"type":"string"}}}`), 400, "'additionalProperties' must be explicitly set to false"},
		{"recursive schema", schema(`{"$defs":{"n":{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`), 400, "Recursive"},
		{"schema with an endless number", schema(`{"type":"object","additionalProperties":false,"properties":{"a":{"const":1e999999999}}}`), 400, "JSON schema is invalid"},
		{"huge grammar", schema(`{"type":"object","additionalProperties":false,"properties":{` + manyProperties(3000) + `}}`), 400, "compiled grammar is too large"},
	}
	w := inProcess(t, "limits: {image_bytes: 1048576}")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := w.post(c.body)
			require.Equal(t, c.status, got.status, got.body)
			require.Contains(t, got.failure(t).Error.Message, c.message)
		})
	}
	require.Zero(t, w.server.Meter().Totals.Billed)
}

func schema(s string) string {
	return askFor("x", 100, `,"output_config":{"format":{"type":"json_schema","schema":`+s+`}}`)
}

func manyProperties(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = `"p` + jsonInt(i) + `":{"type":"string"}`
	}
	return strings.Join(parts, ",")
}

func TestRequestsThatTheServiceTakesAreTaken(t *testing.T) {
	cases := map[string]string{
		"plain":                     ask("tell me of harbors"),
		"surrogate pair":            strings.Replace(ask("caf@"), "@", `\ud83d\ude00`, 1),
		"escaped NUL":               strings.Replace(ask("caf@"), "@", `\u0000`, 1),
		"system as text and blocks": askFor("x", 50, `,"system":[{"type":"text","text":"You tag."}]`),
		"empty system":              askFor("x", 50, `,"system":""`),
		"image":                     withImage("image/png", pngOf(t, 300, 200)),
		"adaptive thinking":         askFor("x", 50, `,"thinking":{"type":"adaptive"}`),
		"prefill on an older model": withMessages(`[{"role":"user","content":"x"},{"role":"assistant","content":"It shows"}]`),
		"tool result":               withMessages(`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]}]`),
		"tool schema with limits":   askFor("x", 500, `,"tools":[{"name":"a","input_schema":{"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":4}}}}],"tool_choice":{"type":"any"}`),
		"schema by reference":       schema(`{"$defs":{"s":{"type":"string"}},"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"]}`),
	}
	w := inProcess(t, "")
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			got := w.post(body)
			require.Equal(t, 200, got.status, got.body)
		})
	}
	require.Equal(t, int64(len(cases)), w.server.Meter().Totals.Acceptable)
}

func TestHeadersAreCheckedAsTheServiceChecksThem(t *testing.T) {
	w := inProcess(t, "keys: [good]")
	url := w.url + "/v1/messages"
	for _, c := range []struct {
		name   string
		header map[string]string
		status int
		says   string
	}{
		{"x-api-key", map[string]string{"x-api-key": "good"}, 200, ""},
		{"bearer", map[string]string{"x-api-key": "", "Authorization": "Bearer good"}, 200, ""},
		{"no key", map[string]string{"x-api-key": ""}, 401, "x-api-key header is required"},
		{"wrong key", map[string]string{"x-api-key": "bad"}, 401, "invalid x-api-key"},
		{"wrong bearer", map[string]string{"x-api-key": "", "Authorization": "Bearer bad"}, 401, "Invalid bearer token"},
		{"no version", map[string]string{"x-api-key": "good", "anthropic-version": ""}, 400, "anthropic-version: header is required"},
		{"odd version", map[string]string{"x-api-key": "good", "anthropic-version": "latest"}, 400, "anthropic-version"},
	} {
		got := do(w.client, "POST", url, ask("a harbor"), c.header)
		require.Equal(t, c.status, got.status, c.name)
		if c.says != "" {
			require.Contains(t, got.failure(t).Error.Message, c.says, c.name)
		}
	}
	old := do(w.client, "POST", url, askFor("a harbor", 50, `,"temperature":0.5`), map[string]string{"x-api-key": "good", "anthropic-version": "2023-06-01"})
	require.Equal(t, 200, old.status, "older versions know the temperature")
}

func TestTooLargeRequestsAreRefusedWith413(t *testing.T) {
	for _, w := range ways(t, "") {
		got := w.post(strings.Repeat(" ", claudesim.MaxBody+1))
		require.Equal(t, 413, got.status, w.name)
		require.Equal(t, "request_too_large", got.failure(t).Error.Type)
	}
}

func TestImagesAreCountedBySize(t *testing.T) {
	w := inProcess(t, "")
	small := w.post(withImage("image/png", pngOf(t, 30, 25))).message(t)
	large := w.post(withImage("image/png", pngOf(t, 300, 250))).message(t)
	require.Equal(t, int64(99), large.Usage.Input-small.Usage.Input)
}

func TestModelsAndTokenCounts(t *testing.T) {
	w := inProcess(t, "models: [{id: claude-tiny-1, line: haiku, max_input_tokens: 100, max_tokens: 10}]")
	get := func(path string) exchange { return do(w.client, "GET", w.url+path, "", nil) }
	require.Contains(t, get("/v1/models").body, `"claude-haiku-4-5"`)
	one := get("/v1/models/claude-tiny-1")
	require.Equal(t, 200, one.status)
	require.Contains(t, one.body, `"max_input_tokens":100`)
	require.Contains(t, one.body, `"max_tokens":10`)
	require.Equal(t, 404, get("/v1/models/claude-none").status)
	require.Equal(t, 404, get("/v1/nothing").status)
	require.Equal(t, 405, do(w.client, "GET", w.url+"/v1/messages", "", nil).status)

	counted := do(w.client, "POST", w.url+"/v1/messages/count_tokens", `{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"a harbor at night"}]}`, nil)
	require.Equal(t, 200, counted.status)
	answer := w.post(ask("a harbor at night")).message(t)
	require.JSONEq(t, `{"input_tokens":`+jsonInt(int(answer.Usage.Input))+`}`, counted.body)
	require.Equal(t, int64(1), w.server.Meter().Totals.Calls, "counting is free and no message")
}
