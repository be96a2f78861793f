package intake

import (
	"encoding/json"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
)

func FuzzLines(f *testing.F) {
	for _, text := range []string{"", "\ufeff1\r\n2\n\n", "{\"a\":\"\xff\"}\n\x00", "\xff\xfe", " \r\r\n"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, chunk int) {
		r, err := NewReader("x.jsonl", &slowly{text, max(1, chunk)}, 0, Options{ID: "/id", MaxBody: 64})
		if err != nil {
			return
		}
		for {
			m, err := r.Next()
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			require.Equal(t, string(m.Body), text[m.Source.Offset:][:len(m.Body)])
			require.NoError(t, siding.CheckID(m.ID))
		}
	})
}

func FuzzArray(f *testing.F) {
	for _, text := range []string{"", "[]", `[1, {"a":"]"} ,,"x\""]`, "[[[[", `[{"a":[1},2]`, "[1] 2", "[1 \n", `["`} {
		f.Add(text, 2)
	}
	f.Fuzz(func(t *testing.T, text string, chunk int) { checkArray(t, text, max(1, chunk)) })
}

func FuzzCSV(f *testing.F) {
	for _, text := range []string{"1,2\n", "\"x\ny\",2\n", "\"x\n1,2\n3,\"y\"", "1,\"2\"\"\"\r\n\n", "a\"b,c\n", "\xff,\x00\n"} {
		f.Add(text, 4)
	}
	f.Fuzz(func(t *testing.T, text string, chunk int) { checkCSV(t, "a,b\n"+text, max(1, chunk)) })
}

func FuzzID(f *testing.F) {
	for _, text := range []string{`{"id":"a"}`, `{"id":12`, `[{"id":"\u0061"}]`, `{"x":"y"z","id":1}`, `{"id":1,"id":{}}`, "{\"id\":\"\xff\""} {
		f.Add(text, "/id")
	}
	f.Fuzz(func(t *testing.T, body, pointer string) {
		p, err := ParsePointer(pointer)
		if err != nil || p.IsZero() {
			return
		}
		if found := scanID([]byte(body), p); found.ok {
			require.NoError(t, siding.CheckID(string(found.text)))
		}
		if json.Valid([]byte(body)) && utf8.ValidString(body) {
			checkAgainstDecoder(t, body, pointer)
		}
	})
}
