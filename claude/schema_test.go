package claude

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReferencesOutsideTheSchemaAreRefused(t *testing.T) {
	t.Parallel()
	for ref, shown := range map[string]string{
		"record.schema.json": `"record.schema.json"`, "./a/b.json": `"a/b.json"`, "../up.json": `"/up.json"`, "/etc/passwd": `"/etc/passwd"`,
		"record.json#/$defs/x": `"record.json"`, "//host/x": `"siding://host/x"`, ".": `refers to`, "?x": `refers to`,
		"https://example.com/s.json": `"https://example.com/s.json"`, "file:///etc/passwd": `"file:///etc/passwd"`, "urn:a:b": `"urn:a:b"`,
	} {
		for _, text := range []string{`{"$ref":"` + ref + `"}`, `{"items":{"anyOf":[{"$ref":"` + ref + `"}]}}`, `{"$defs":{"a":{"$dynamicRef":"` + ref + `"}},"$ref":"#/$defs/a"}`} {
			_, err := CompileSchema([]byte(text))
			require.ErrorContains(t, err, "references outside the document are not followed", text)
			require.ErrorContains(t, err, shown, text)
		}
	}
	for _, text := range []string{
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{"type":["string","array"],"maxItems":0,"items":{"$ref":"#"}}`, `{"$ref":"#a","$defs":{"a":{"$anchor":"a","type":"string"}}}`,
		`{"$id":"https://example.com/s.json","$ref":"s.json#/$defs/a","$defs":{"a":{"type":"string"}}}`,
		`{"$ref":"inner.json","$defs":{"a":{"$id":"inner.json","type":"string"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"type":"string"}}}`,
	} {
		s, err := CompileSchema([]byte(text))
		require.NoError(t, err, text)
		require.NoError(t, s.check("x"), text)
		require.Error(t, s.check(1), text)
	}
}
