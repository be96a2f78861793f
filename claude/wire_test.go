package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding/claudesim"
)

func wireOf(t require.TestingT, text string) (string, error) {
	s, err := CompileSchema([]byte(text))
	require.NoError(t, err, text)
	wire, err := s.wireSchema()
	return string(wire), err
}

func TestStructuredOutputIsToldWhatItTakes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, text := range wireCases {
		wire, err := wireOf(t, text)
		require.NoError(t, err, text)
		fmt.Fprintf(&b, "%s\n%s\n\n", text, wire)
	}
	golden(t, "wire.txt", []byte(b.String()))
}

// wireCases are schemas; testdata/wire.txt has what is sent of each.
var wireCases = []string{
	`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
	`{"title":"T","type":"object","properties":{"b":{"type":"string","minLength":1,"maxLength":9,"description":"A word."},"a":{"type":"integer","minimum":0,"exclusiveMaximum":7.50}},"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/x.json","$comment":"c"}`,
	`{"type":"array","minItems":1,"items":{"type":"number","multipleOf":0.5}}`,
	`{"type":"array","minItems":3,"maxItems":5,"uniqueItems":true,"contains":{"const":1}}`,
	`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"string"}],"additionalItems":false}`,
	`{"oneOf":[{"type":"string","pattern":"^a+$"},{"type":"string","pattern":"(?i)^b"},{"type":"null"}]}`,
	`{"anyOf":[{"type":"string"}],"oneOf":[{"minLength":2},{"maxLength":1}]}`,
	`{"type":"string","format":"date","default":"2026-01-01"}`,
	`{"type":"string","format":"regex","description":"A rule.","not":{"const":"<x> & \"y\""}}`,
	`{"enum":["a",1,null,true]}`,
	`{"enum":["a",["b"]],"const":{"x":1}}`,
	`{"type":["object","null"],"properties":{"é\"":{}},"additionalProperties":true,"minProperties":1,"propertyNames":{"maxLength":3},"dependentRequired":{"a":["b"]}}`,
	`{"type":"object","properties":{},"additionalProperties":{"type":"integer","maximum":3},"maxProperties":4}`,
	`{"type":"object","additionalProperties":true}`,
	`{"type":"object","properties":{},"additionalProperties":false}`,
	`{"type":"object","oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k","x"]},{"type":"object","properties":{"k":{"const":"b"},"y":{"type":"string"}}}]}`,
	`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}],"if":{"required":["a"]},"then":{"required":["b"]}}`,
	`{"type":"object","properties":{"a":{"$ref":"#/$defs/t~1ag","description":"dropped"}},"$defs":{"t/ag":{"type":"string","maxLength":3},"none":false}}`,
	`{"$ref":"#/definitions/a","definitions":{"a":{"type":"object","properties":{"b":{"$ref":"#/definitions/b"}}},"b":{"type":"boolean"}}}`,
	`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"]}]}`,
	`true`,
	`{}`,
}

func TestWhatStructuredOutputCannotSayIsRefusedAtItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                                                                        `at "/properties/a/$ref": structured output takes no schema that contains itself`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`:                                         `at "/$defs/n/items/$ref": structured output takes no schema that contains itself (#/$defs/n)`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"items":{"$ref":"#/$defs/a"}}}}`:                     `at "/$defs/b/items/$ref": structured output takes no schema that contains itself`,
		`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`:                                                     `at "/properties/b/$ref": structured output follows references like #/$defs/name only`,
		`{"$ref":"#x","$defs":{"x":{"$anchor":"x"}}}`:                                                                              `at "/$ref": structured output follows references like`,
		`{"$ref":"inner","$defs":{"x":{"$id":"inner"}}}`:                                                                           `at "/$ref": structured output follows references like`,
		`{"$defs":{"x":{"$id":"inner"}}}`:                                                                                          `at "/$defs/x/$id": `,
		`{"items":{"$dynamicRef":"#"}}`:                                                                                            `at "/items/$dynamicRef": `,
		`{"type":"object"}`:                                                                                                        `at "": structured output needs to know what an object has`,
		`{"anyOf":[{"type":"null"},{"type":["object","null"],"properties":{}}]}`:                                                   `at "/anyOf/1": structured output needs to know what an object has`,
		`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`:                                         `at "/additionalProperties": structured output takes no other properties`,
		`{"type":"object","properties":{"a":{}},"required":["a","b"]}`:                                                             `at "/required/1": structured output needs "b" among the properties`,
		`{"type":"object","patternProperties":{"^x":{}}}`:                                                                          `at "/patternProperties": `,
		`{"allOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}`:                              `at "": structured output needs all properties of an object in one place`,
		`{"type":"object","properties":{"a":{}},"anyOf":[{"allOf":[{"$ref":"#/$defs/b"}]}],"$defs":{"b":{"properties":{"b":{}}}}}`: `at "": structured output needs all properties`,
		`false`: "no answer fits it",
	} {
		_, err := wireOf(t, text)
		require.ErrorContains(t, err, want, text)
		require.Equal(t, text != "false", strings.Contains(err.Error(), "via: tool"), text)
		c := config(nil, nil)
		c.Output.Schema = []byte(text)
		_, err = New(c)
		require.ErrorContains(t, err, "output.schema: ", text)
		if strings.HasPrefix(text, `{"type":"object"`) {
			c.Output.Via = ViaTool
			require.JSONEq(t, text, string(newHandler(t, c).wire), "a tool takes it as it is")
		}
	}
}

func TestTheWholeSchemaDecidesAndTheDigestIsOfIt(t *testing.T) {
	t.Parallel()
	const text = `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string","maxLength":20},"minItems":2,"maxItems":5}},"required":["tags"]}`
	h, j, s := setup(t, func(c *Config) { c.Output.Schema = []byte(text) })
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f, "a simulator as strict as the service takes the request, and its model reads the hints")
	requireBill(t, j, s)
	_, mismatch := h.output.conform([]byte(`{"tags":["one"]}`))
	require.ErrorContains(t, mismatch, "minItems")
	require.Contains(t, string(h.build(prompt{text: "x"}, 10).body), `"additionalProperties":false`)

	c := variants()["schema"]
	c.Output.Schema = []byte(text)
	d := newHandler(t, c).Digest()
	c.Output.Schema = h.wire
	require.NotEqual(t, d, newHandler(t, c).Digest())
}

// TestEveryGoodAnswerFitsWhatIsSent draws schemas and values of them.
func TestEveryGoodAnswerFitsWhatIsSent(t *testing.T) {
	t.Parallel()
	s := sim(t)
	rapid.Check(t, func(t *rapid.T) {
		schema := drawSchema(t, 3)
		text := mustJSON(schema)
		whole, err := CompileSchema([]byte(text))
		require.NoError(t, err, text)
		wire, err := whole.wireSchema()
		require.NoError(t, err, text)
		again, err := CompileSchema(wire)
		require.NoError(t, err, "%s", wire)
		twice, err := again.wireSchema()
		require.NoError(t, err, "%s", wire)
		require.Equal(t, string(wire), string(twice), "what is taken is sent as it is")
		for range 5 {
			v := drawFor(t, schema)
			if whole.check(v) == nil {
				require.NoError(t, again.check(v), "%s\n%s\n%s", text, wire, mustJSON(v))
			}
		}
		refusal := askSim(t, s, wire)
		require.Empty(t, refusal, "%s\n%s", text, wire)
	})
}

// askSim gives what a simulator as strict as the service says against a schema; empty: nothing.
func askSim(t *rapid.T, s *claudesim.Server, wire []byte) string {
	body := []byte(`{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"x"}],"output_config":{"format":{"type":"json_schema","schema":` + string(wire) + `}}}`)
	c := config(nil, s.Client())
	h, err := New(c)
	require.NoError(t, err)
	r := h.send(t.Context(), body, "")
	require.NoError(t, r.err)
	if r.status == 200 {
		return ""
	}
	return string(r.body)
}

func mustJSON(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(buf.String())
}

var propertyNames = []string{"a", "b", "c"}

// drawSchema draws one of those that structured output can express in part, and whose objects name all that
// drawValue puts into them.
func drawSchema(t *rapid.T, depth int) any {
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "any"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "array", "anyOf", "oneOf", "allOf", "map")
	}
	m := map[string]any{}
	small := func(name string) int { return rapid.IntRange(0, 4).Draw(t, name) }
	maybe := func(key string, v func() any) {
		if rapid.Bool().Draw(t, key) {
			m[key] = v()
		}
	}
	list := func() any {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawSchema(t, depth-1) }), 1, 3).Draw(t, "list")
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	switch kind {
	case "any":
		return true
	case "enum":
		m["enum"] = []any{"x", 1, nil, []any{}}[:1+rapid.IntRange(0, 3).Draw(t, "n")]
	case "string":
		maybe("minLength", func() any { return small("least") })
		maybe("maxLength", func() any { return small("most") })
		maybe("pattern", func() any { return rapid.SampledFrom([]string{"^x", "(?:y)"}).Draw(t, "pattern") })
		maybe("format", func() any { return rapid.SampledFrom([]string{"date", "iri"}).Draw(t, "format") })
	case "integer", "number":
		maybe("minimum", func() any { return small("least") })
		maybe("exclusiveMaximum", func() any { return small("most") })
		maybe("multipleOf", func() any { return 2 })
	case "object":
		props := map[string]any{}
		for _, name := range propertyNames {
			props[name] = drawSchema(t, depth-1)
		}
		m["properties"] = props
		maybe("required", func() any { return propertyNames[:1] })
		maybe("maxProperties", func() any { return small("most") })
		maybe("additionalProperties", func() any { return rapid.Bool().Draw(t, "open") })
	case "map":
		kind = "object"
		m["additionalProperties"] = drawSchema(t, depth-1)
	case "array":
		m["items"] = drawSchema(t, depth-1)
		maybe("minItems", func() any { return small("least") })
		maybe("maxItems", func() any { return small("most") })
		maybe("uniqueItems", func() any { return true })
		maybe("prefixItems", func() any { return []any{map[string]any{"type": "string"}} })
	default:
		m[kind] = list()
		maybe("not", func() any { return map[string]any{"const": "x"} })
	}
	if !slices.Contains([]string{"enum", "anyOf", "oneOf", "allOf"}, kind) {
		m["type"] = kind
		if rapid.Bool().Draw(t, "nullable") && kind != "null" {
			m["type"] = []any{kind, "null"}
		}
	}
	maybe("description", func() any { return "words" })
	return m
}

// drawFor draws a value that mostly fits a schema.
func drawFor(t *rapid.T, schema any) any {
	m, ok := schema.(map[string]any)
	if !ok || rapid.IntRange(0, 9).Draw(t, "astray") == 0 {
		return drawValue(t, 2)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := m[key].([]any); ok {
			return drawFor(t, rapid.SampledFrom(list).Draw(t, key))
		}
	}
	switch {
	case m["properties"] != nil:
		out := map[string]any{}
		for _, name := range propertyNames {
			if rapid.Bool().Draw(t, name) {
				out[name] = drawFor(t, m["properties"].(map[string]any)[name])
			}
		}
		return out
	case m["items"] != nil:
		list := []any{}
		if m["prefixItems"] != nil {
			list = append(list, "first")
		}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			list = append(list, drawFor(t, m["items"]))
		}
		return list
	case m["additionalProperties"] != nil:
		return map[string]any{"a": drawFor(t, m["additionalProperties"])}
	}
	return drawValue(t, 0)
}

func drawValue(t *rapid.T, depth int) any {
	kinds := []string{"x", "number", "bool", "null"}
	if depth > 0 {
		kinds = append(kinds, "object", "array")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "value") {
	case "x":
		return rapid.SampledFrom([]string{"x", "", "xyz", "2026-01-01"}).Draw(t, "text")
	case "number":
		return json.Number(rapid.SampledFrom([]string{"0", "1", "2", "3.5"}).Draw(t, "number"))
	case "bool":
		return true
	case "object":
		m := map[string]any{}
		for _, name := range propertyNames {
			if rapid.Bool().Draw(t, name) {
				m[name] = drawValue(t, depth-1)
			}
		}
		return m
	case "array":
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 3).Draw(t, "array")
	}
	return nil
}
