package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// The same fault in different records is one group, and each fault has its own.
func TestFaultsOfRecordsGroupByTheFault(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, "record.schema.json", `{"type":"object","required":["title"],"properties":{"title":{"type":"string","maxLength":20},
		"size":{"type":"number","minimum":1},"kind":{"enum":["photo","drawing"]},"tags":{"type":"array","items":{"type":"string"}},"meta":{"type":"object","additionalProperties":false}}}`)
	asks := "version: 1\nqueue: q\ninput: {schema: record.schema.json}\nclaude: {model: claude-haiku-4-5, max_tokens: 10, prompt: \"{{.title}} {{opt .note}}\", images: {fields: [/image, /more], root: ./images}}\npreflight: {max_input_tokens: 40}\n"
	faults := map[string][]string{
		"UTF-8":       {"{\"title\":\"a\xff\"}", "{\"title\":\"something longer\xc3\"}"},
		"no end":      {`{"title":"x"`, `{"title":"a longer record", "tags": ["a"`},
		"no title":    {`{}`, `{"size":3}`},
		"null title":  {`{"title":null}`, `{"title":null,"size":9}`},
		"long title":  {`{"title":"aaaaaaaaaaaaaaaaaaaaaaaaa"}`, `{"title":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}`},
		"small size":  {`{"title":"x","size":0}`, `{"title":"x","size":-17.5}`},
		"kind":        {`{"title":"x","kind":"film"}`, `{"title":"x","kind":"a \"quoted\" kind"}`, `{"title":"x","kind":3}`},
		"tag":         {`{"title":"x","tags":[1]}`, `{"title":"x","tags":["a","b","c",12345]}`},
		"meta":        {`{"title":"x","meta":{"a":1}}`, `{"title":"y","meta":{"a":{"b":[1,2]}}}`},
		"lone":        {`{"title":"\ud800"}`, `{"title":"abc\udfff"}`},
		"no image":    {`{"title":"x","image":"a.png"}`, `{"title":"x","image":"cat 12/b.jpg"}`, `{"title":"x","image":"it's.gif"}`},
		"image kind":  {`{"title":"x","more":["a.png",3]}`, `{"title":"x","more":["a","b","c",7]}`},
		"above limit": {`{"title":"x","note":"` + words30 + `"}`, `{"title":"x","note":"` + words30 + words30 + words30 + `"}`},
	}
	for name, text := range map[string]string{"claude": asks, "webhook": sends, "command": runs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse("recipe.yaml", []byte(text), dir)
			require.NoError(t, err)
			f, err := r.FactsAlone()
			require.NoError(t, err)
			groups := map[string]string{}
			for fault, bodies := range faults {
				own := ""
				for _, body := range bodies {
					failure := f.Check(siding.Message{Body: []byte(body)})
					if failure == nil {
						require.NotEqual(t, "claude", name, body)
						continue // nothing that this handler looks at
					}
					stored := failure.Stored()
					if own == "" {
						own = stored.Fingerprint
					}
					require.Equal(t, own, stored.Fingerprint, "%s: %s: %s", fault, stored.Text, siding.NormalizeError(stored.Text))
				}
				if own != "" {
					require.Empty(t, groups[own], "%s is one with %s", fault, groups[own])
					groups[own] = fault
				}
			}
		})
	}
}

const words30 = "one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten "
