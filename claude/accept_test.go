package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

// message writes an answer as the service does.
func message(stop string, blocks ...any) []byte {
	if blocks == nil {
		blocks = []any{}
	}
	return encode(map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "content": blocks, "stop_reason": stop, "stop_sequence": nil,
		"stop_details": nil, "usage": map[string]any{"input_tokens": 10, "output_tokens": 5},
	})
}

func textBlock(s string) any { return map[string]any{"type": "text", "text": s} }

func toolBlock(name string, input any) any {
	return map[string]any{"type": "tool_use", "id": "toolu_1", "name": name, "input": input}
}

func judgeBytes(t *testing.T, r rules, body []byte) (string, *siding.Failure) {
	t.Helper()
	a, ok := parseAnswer(body)
	require.True(t, ok)
	result, f := r.judge(a)
	return string(result), f
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	word := textBlock("a word")
	for name, c := range map[string]struct {
		rules   rules
		body    []byte
		outcome siding.Outcome // "" for accepted
		cause   siding.Cause
	}{
		"end_turn with text":              {rules{}, message("end_turn", word), "", ""},
		"end_turn without content":        {rules{}, message("end_turn"), siding.OutcomeGray, siding.CauseEmptyAnswer},
		"end_turn with white space":       {rules{}, message("end_turn", textBlock(" \n")), siding.OutcomeGray, siding.CauseEmptyAnswer},
		"only thinking":                   {rules{}, message("end_turn", map[string]any{"type": "thinking", "thinking": "hm"}), siding.OutcomeGray, siding.CauseEmptyAnswer},
		"a stop sequence that was set":    {rules{stops: true}, message("stop_sequence", word), "", ""},
		"a stop sequence that was not":    {rules{}, message("stop_sequence", word), siding.OutcomeGray, siding.CauseUnknownStopReason},
		"a tool that was asked for":       {rules{tools: true, tool: "answer"}, message("tool_use", toolBlock("answer", map[string]any{})), "", ""},
		"a tool that was not":             {rules{}, message("tool_use", toolBlock("x", map[string]any{})), siding.OutcomeGray, siding.CauseUnknownStopReason},
		"another tool":                    {rules{tools: true, tool: "answer"}, message("tool_use", toolBlock("x", map[string]any{})), siding.OutcomePermanent, siding.CauseSchemaMismatch},
		"text instead of the tool":        {rules{tools: true, tool: "answer"}, message("end_turn", word), siding.OutcomePermanent, siding.CauseSchemaMismatch},
		"max_tokens, also with good JSON": {rules{}, message("max_tokens", word), siding.OutcomeGray, siding.CauseTruncated},
		"the context window":              {rules{}, message("model_context_window_exceeded", word), siding.OutcomePermanent, siding.CauseInputTooLarge},
		"refusal":                         {rules{}, message("refusal"), siding.OutcomePermanent, siding.CauseRefused},
		"pause_turn":                      {rules{}, message("pause_turn", word), siding.OutcomeGray, siding.CauseUnknownStopReason},
		"no reason":                       {rules{}, message("", word), siding.OutcomeGray, siding.CauseUnknownStopReason},
		"a new reason":                    {rules{}, message("solar_flare", word), siding.OutcomeGray, siding.CauseUnknownStopReason},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := judgeBytes(t, c.rules, c.body)
			if c.outcome == "" {
				require.Nil(t, f)
				return
			}
			require.NotNil(t, f)
			require.Equal(t, c.outcome, f.Outcome)
			require.Equal(t, c.cause, f.Cause)

			// What a loop around the SDK sees is the same, but for what only the recipe knows.
			if !c.rules.tools && c.rules.stops == false {
				var m anthropic.Message
				require.NoError(t, json.Unmarshal(c.body, &m))
				if m.StopReason != "tool_use" {
					require.Equal(t, c.cause, siding.FailureOf(Accept(&m)).Cause)
				}
			}
		})
	}
}

func TestTheRefusalsCategoryIsKept(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"m","type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio"}}`)
	_, f := judgeBytes(t, rules{}, body)
	require.Contains(t, f.Error(), "bio")
	var m anthropic.Message
	require.NoError(t, json.Unmarshal(body, &m))
	require.ErrorContains(t, Accept(&m), "bio")
}

func TestResults(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema([]byte(tagsSchema))
	require.NoError(t, err)
	good := "{\n  \"title\": \"T <b>\", \"mood\": \"calm\", \"tags\": [\"x\"], \"title\": \"U <b>\"\n}"
	result, f := judgeBytes(t, rules{json: schema}, message("end_turn", textBlock(good[:10]), textBlock(good[10:])))
	require.Nil(t, f)
	require.Equal(t, `{"title":"U <b>","mood":"Calm","tags":["x"]}`, result, "compact, keys in order, the schema's spelling, the last of two")

	result, f = judgeBytes(t, rules{json: schema, tools: true, tool: "answer"}, message("tool_use", textBlock("Sure."), toolBlock("answer", json.RawMessage(good))))
	require.Nil(t, f)
	require.Equal(t, `{"title":"U <b>","mood":"Calm","tags":["x"]}`, result)

	result, f = judgeBytes(t, rules{}, message("end_turn", textBlock("He said \"<hi>\"\n")))
	require.Nil(t, f)
	require.Equal(t, `"He said \"<hi>\"\n"`, result, "plain text is a JSON string")

	number, err := CompileSchema([]byte(`{"type":"object","properties":{"n":{"type":"number"}}}`))
	require.NoError(t, err)
	result, f = judgeBytes(t, rules{json: number}, message("end_turn", textBlock(`{"n": 12345678901234567890.10e2}`)))
	require.Nil(t, f)
	require.Equal(t, `{"n":12345678901234567890.10e2}`, result, "numbers stay as they are written")
}

func TestMismatchesNameThePlaceAndTheValue(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema([]byte(tagsSchema))
	require.NoError(t, err)
	for text, want := range map[string]string{
		"Here is what I found: a dune.":                     "not JSON",
		"```json\n{}\n```":                                  "not JSON",
		`{"title":"t","mood":"Calm","tags":["a"]} and more`: "not JSON",
		`{"title":"t","mood":"Calm","tags":["a",7]}`:        `at "/tags/1"`,
		`{"title":"t","mood":"Angry","tags":[]}`:            `at "/mood"`,
		`{"title":"t","mood":"Calm"}`:                       "tags",
		`{"title":"t","mood":"Calm","tags":[],"x":1}`:       "x",
		`{"title":1e999999999,"mood":"Calm","tags":[]}`:     "too large to be checked",
		`[]`: `at ""`,
		`{"title":` + strings.Repeat(`[`, 100_000) + `}`:           "not JSON",
		`{"title":["` + strings.Repeat("x", 5000) + `"],"tags":1}`: "and 2 more",
	} {
		_, f := judgeBytes(t, rules{json: schema}, message("end_turn", textBlock(text)))
		require.NotNil(t, f, text)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.Equal(t, siding.CauseSchemaMismatch, f.Cause)
		require.Contains(t, f.Error(), want)
		require.Less(t, len(f.Error()), 1000, "bounded")
	}
	_, f := judgeBytes(t, rules{json: schema}, message("end_turn", textBlock(`{"title":"t","mood":"Angry","tags":[]}`)))
	require.Contains(t, f.Error(), `"Angry"`)
}

func TestTheSameFaultReadsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema([]byte(`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"}}}`))
	require.NoError(t, err)
	first := ""
	for range 50 {
		_, err := schema.conform([]byte(`{"d":1,"c":1,"b":1,"a":1}`))
		require.Error(t, err)
		if first == "" {
			first = err.Error()
		}
		require.Equal(t, first, err.Error())
	}
}

func TestEnumsAreComparedWithoutCapitals(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema([]byte(`{"type":"object","properties":{
		"kind":{"const":"Wallpaper"}, "list":{"type":"array","items":{"enum":["Ä","one","ONE TWO"]}}, "n":{"enum":[1,"x"]},
		"deep":{"$ref":"#/$defs/deep"}, "either":{"anyOf":[{"enum":["Red"]},{"type":"null"}]}
	}, "$defs":{"deep":{"type":"object","properties":{"a/b":{"enum":["Yes","No"]}}}}}`))
	require.NoError(t, err)
	got, err := schema.conform([]byte(`{"kind":"WALLPAPER","list":["ä","One","one two"],"n":"X","deep":{"a/b":"yes"},"either":"RED"}`))
	require.NoError(t, err)
	require.Equal(t, `{"kind":"Wallpaper","list":["Ä","one","ONE TWO"],"n":"x","deep":{"a/b":"Yes"},"either":"Red"}`, string(got))
	_, err = schema.conform([]byte(`{"list":["two"]}`))
	require.ErrorContains(t, err, `at "/list/0"`)
}

func TestAcceptJSON(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema([]byte(tagsSchema))
	require.NoError(t, err)
	read := func(body []byte) *anthropic.Message {
		var m anthropic.Message
		require.NoError(t, json.Unmarshal(body, &m))
		return &m
	}
	good := `{"title":"t","mood":"DARK","tags":[]}`
	got, err := AcceptJSON(read(message("end_turn", textBlock(good))), schema)
	require.NoError(t, err)
	require.Equal(t, `{"title":"t","mood":"Dark","tags":[]}`, string(got))
	got, err = AcceptJSON(read(message("tool_use", toolBlock("any", json.RawMessage(good)))), schema)
	require.NoError(t, err)
	require.Equal(t, `{"title":"t","mood":"Dark","tags":[]}`, string(got))
	got, err = AcceptJSON(read(message("end_turn", textBlock(" [1, 2]"))), nil)
	require.NoError(t, err)
	require.Equal(t, `[1,2]`, string(got))
	_, err = AcceptJSON(read(message("end_turn", textBlock("prose"))), nil)
	require.Equal(t, siding.CauseSchemaMismatch, siding.FailureOf(err).Cause)
	_, err = AcceptJSON(read(message("max_tokens", textBlock(good))), schema)
	require.Equal(t, siding.CauseTruncated, siding.FailureOf(err).Cause)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	read := func(usage string) siding.Usage {
		a, _ := parseAnswer([]byte(`{"usage":` + usage + `}`))
		return a.Usage
	}
	require.Equal(t, siding.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite5m: 4, CacheWrite1h: 5},
		read(`{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":5}}`))
	require.Equal(t, siding.Usage{CacheWrite5m: 9}, read(`{"cache_creation_input_tokens":9,"cache_creation":null}`), "without the breakdown: the default of five minutes")
	require.Equal(t, siding.Usage{}, read(`{"input_tokens":-4,"output_tokens":"x","cache_read_input_tokens":1.5}`))
	require.Equal(t, siding.Usage{}, read(`[]`))
}

func TestAcceptanceNeverPanics(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema([]byte(tagsSchema))
	require.NoError(t, err)
	value := rapid.SampledFrom([]string{`null`, `7`, `"x"`, `[]`, `{}`, `[null]`, `[7]`, `[{"type":"text"}]`, `[{"type":"text","text":7}]`, `[{"type":"tool_use","name":"answer"}]`,
		`[{"type":"tool_use","name":"answer","input":null}]`, `[{"type":"text","text":"{}"}]`, `"end_turn"`, `"tool_use"`, `"message"`, `{"category":[]}`})
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Custom(func(t *rapid.T) []byte {
			out := `{"id":"m","type":"message"`
			for _, key := range []string{"id", "type", "content", "stop_reason", "stop_details", "usage", "stop_sequence"} {
				if rapid.Bool().Draw(t, key) {
					out += `,"` + key + `":` + value.Draw(t, "value")
				}
			}
			return []byte(out + "}")
		})).Draw(t, "body")
		r := rules{stops: rapid.Bool().Draw(t, "stops"), tools: rapid.Bool().Draw(t, "tools"), tool: "answer"}
		if rapid.Bool().Draw(t, "schema") {
			r.json = schema
		}
		a, _ := parseAnswer(body)
		result, f := r.judge(a)
		if f == nil && (!json.Valid(result) || a.ID == "") || f != nil && result != nil {
			t.Fatalf("%q gives %q and %v", body, result, f)
		}
		f.Stored()
		var m anthropic.Message
		if json.Unmarshal(body, &m) == nil {
			_ = Accept(&m)
			_, _ = AcceptJSON(&m, r.json)
		}
	})
}

func TestInputSchemas(t *testing.T) {
	t.Parallel()
	c := config(nil, nil)
	c.InputSchema = []byte(`{"type":"object","properties":{"title":{"type":"string","maxLength":10},"n":{"type":"number","maximum":1e400}}}`)
	h := newHandler(t, c)
	for body, want := range map[string]string{
		`{"title":"far too long for this"}`: `at "/title"`,
		`{"title":7}`:                       `at "/title"`,
		`[]`:                                `at ""`,
		`{"title":"x","n":1e999999999}`:     "too large to be checked",
		`{"title":"x","n":1e999}`:           `at "/n"`,
		`{"title":"x","n":-1e-99999999999999999999}`: "too large to be checked",
	} {
		_, f := h.prepare([]byte(body))
		require.NotNil(t, f, body)
		require.Equal(t, siding.CauseSchemaViolation, f.Cause)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.True(t, f.NoCall)
		require.Contains(t, f.Error(), want)
	}
	_, f := h.prepare([]byte(`{"title":"x","n":12345678901234567890}`))
	require.Nil(t, f)
}
