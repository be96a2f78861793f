package claudesim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawSchema makes a random schema that can be met.
func drawSchema(t *rapid.T, depth int) map[string]any {
	kinds := []string{"string", "integer", "number", "boolean", "enum", "const", "format", "pattern", "nullable"}
	if depth < 3 {
		kinds = append(kinds, "object", "object", "array", "array", "anyOf", "oneOf", "allOf", "map")
	}
	inner := func() map[string]any { return drawSchema(t, depth+1) }
	low := rapid.IntRange(0, 6).Draw(t, "low")
	high := low + rapid.IntRange(0, 6).Draw(t, "span")
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "string":
		return map[string]any{"type": "string", "minLength": low, "maxLength": high}
	case "integer":
		return map[string]any{"type": "integer", "minimum": low*10 - 30, "maximum": high * 10, "multipleOf": rapid.IntRange(1, 5).Draw(t, "step")}
	case "number":
		return map[string]any{"type": "number", "exclusiveMinimum": low - 3, "maximum": high + 1}
	case "boolean":
		return map[string]any{"type": "boolean"}
	case "enum":
		return map[string]any{"enum": []any{"red", 2, nil, true, []any{"x"}}}
	case "const":
		return map[string]any{"const": rapid.SampledFrom([]any{"one", 1.5, false}).Draw(t, "const")}
	case "format":
		return map[string]any{"type": "string", "format": rapid.SampledFrom(stringFormats).Draw(t, "format")}
	case "pattern":
		return map[string]any{"type": "string", "pattern": rapid.SampledFrom([]string{`^[a-z]{2,5}$`, `^#[0-9a-fA-F]{6}$`, `^(cat|dog)-\d+$`, `[^x]+y?`, `^\p{L}\w*$`}).Draw(t, "pattern")}
	case "nullable":
		return map[string]any{"type": []string{"string", "null"}, "maxLength": 8}
	case "array":
		s := map[string]any{"type": "array", "items": inner(), "maxItems": high}
		if rapid.Bool().Draw(t, "unique") {
			s["items"], s["uniqueItems"] = map[string]any{"type": "string"}, true
		}
		s["minItems"] = low
		return s
	case "anyOf", "oneOf":
		return map[string]any{kind: []any{map[string]any{"type": "integer", "minimum": 1, "maximum": 9}, map[string]any{"type": "array", "items": inner()}}}
	case "allOf":
		a, b := map[string]any{"type": "object", "required": []string{"a"}, "properties": map[string]any{"a": inner()}}, map[string]any{"required": []string{"b"}, "properties": map[string]any{"b": inner()}}
		return map[string]any{"allOf": []any{a, b}}
	case "map":
		return map[string]any{"type": "object", "additionalProperties": inner(), "minProperties": min(low, 3), "maxProperties": 4}
	}
	props, required := map[string]any{}, []string{}
	for i := range rapid.IntRange(0, 5).Draw(t, "properties") {
		name := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"tag", "summary", "score", "x"}).Draw(t, "name"), i)
		props[name] = inner()
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

func TestGeneratedAnswersFitTheirSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema, err := json.Marshal(drawSchema(t, 0))
		if err != nil {
			t.Fatal(err)
		}
		prompt := rapid.String().Draw(t, "prompt")
		text, fits := generate(schema, prompt)
		if !fits || !fitsSchema(schema, text) {
			t.Fatalf("%s does not fit %s", text, schema)
		}
		if again, _ := generate(schema, prompt); again != text {
			t.Fatalf("the same question got two answers: %s and %s", text, again)
		}
	})
}

func TestSchemasThatReferToThemselvesAreMet(t *testing.T) {
	for _, schema := range []string{
		`{"$defs":{"node":{"type":"object","required":["name","children"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}},"$ref":"#/$defs/node"}`,
		`{"$defs":{"list":{"anyOf":[{"type":"null"},{"type":"object","required":["next"],"properties":{"next":{"$ref":"#/$defs/list"}}}]}},"$ref":"#/$defs/list"}`,
		`{"type":"object","properties":{"self":{"$ref":"#"}}}`,
		`{"type":"object","required":["kind"],"properties":{"kind":{"enum":["a","b"]},"extra":{"type":"integer"}},"if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["extra"]}}`,
		`{"type":"string","not":{"pattern":"^a"}}`,
		`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2}`,
		`{"type":"array","contains":{"const":7},"items":{"type":"integer"},"minItems":3}`,
		`true`,
	} {
		for i := range 20 {
			text, fits := generate(json.RawMessage(schema), fmt.Sprint("record ", i))
			require.True(t, fits, "%s for %s", text, schema)
		}
	}
}

func TestDescriptionsAreObeyedWhereTheSchemaIsSilent(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string","description":"{maxLength: 6}"},"description":"Words.\n\n{maxItems: 2, minItems: 2}"}},"required":["tags"]}`)
	for i := range 50 {
		text, _ := generate(schema, fmt.Sprint("a picture of a very long mountainside number ", i))
		var v struct{ Tags []string }
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		require.Len(t, v.Tags, 2)
		for _, tag := range v.Tags {
			require.LessOrEqual(t, len([]rune(tag)), 6)
		}
	}
}

func TestAnswersAreMadeOfTheWordsOfThePrompt(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}},"required":["tags"]}`)
	prompt := "Title: Herbstwald über dem Fluss 森の中\nDescription: goldene Blätter, Nebel"
	text, _ := generate(schema, prompt)
	var v struct{ Tags []string }
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	for _, tag := range v.Tags {
		require.Contains(t, strings.ToLower(prompt), tag)
	}
	other, _ := generate(schema, "Title: Desert road at noon\nDescription: dunes and heat")
	require.NotEqual(t, text, other)
}

func TestAnswersKeepTheOrderOfTheSchema(t *testing.T) {
	text, _ := generate(json.RawMessage(`{"type":"object","required":["z","a","m"],"properties":{"z":{"type":"null"},"a":{"type":"null"},"m":{"type":"null"}}}`), "x")
	require.Equal(t, `{"z":null,"a":null,"m":null}`, text)
}

func TestTokensAddUpAndCutExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Model{Newer: rapid.Bool().Draw(t, "newer")}
		text := rapid.String().Draw(t, "text")
		limit := rapid.Int64Range(0, 40).Draw(t, "limit")
		cut := cutTokens(text, limit, m)
		if !strings.HasPrefix(text, cut) || tokensOf(cut, m) > limit || (cut != text && tokensOf(text, m) <= limit) {
			t.Fatalf("%q cut to %q at %d", text, cut, limit)
		}
	})
}

// Whatever checkJSON takes, the standard library takes; whatever it refuses and the library takes is one of the things
// in which the service is stricter.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,-0.5e+3,"a\u00e9\ud83d\ude00"]`, `{"a":{"b":[null,true,false]}}`, `"\ud800"`, `[1,]`, `{"a" 1}`, "\"\xff\"", "", `01`, `"abcdefgh\"ijklmnop"`, "\"abcdefg\x1f\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		err := checkJSON(body)
		valid := json.Valid(body)
		if err == nil && !valid {
			t.Fatalf("took %q", body)
		}
		if err != nil && valid && !strings.Contains(err.msg, "surrogate") && !strings.Contains(err.msg, "recursion") {
			t.Fatalf("refused %q: %v", body, err)
		}
		if err != nil && (err.line < 1 || err.column < 1 || err.char < 0) {
			t.Fatalf("place of %q: %v", body, err)
		}
	})
}
