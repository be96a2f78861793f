package intake

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestArraysOfEveryOddKind(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an empty file has no records":                       {"", []string{}},
		"nor has one of white space":                         {" \n ", []string{}},
		"nor an empty array":                                 {" [ \n ] \n", []string{}},
		"a byte order mark is skipped":                       {"\ufeff[1]", []string{"1"}},
		"elements keep their bytes":                          {"[ {\"a\" : 1.0 ,\n\"b\":\"\\u00e9\"} ,\r\n[ 1 , 2 ], \"x,]\\\"\" , null,true , 1e999,12345678901234567890 ]", []string{"{\"a\" : 1.0 ,\n\"b\":\"\\u00e9\"}", "[ 1 , 2 ]", `"x,]\""`, "null", "true", "1e999", "12345678901234567890"}},
		"a trailing comma is passed over":                    {"[1,2,]", []string{"1", "2"}},
		"so are commas with nothing between":                 {"[,1,,2]", []string{"1", "2"}},
		"a broken element stays with itself":                 {`[nul, 1 2, {"a":}, "x"y, {"b":01}, 3]`, []string{"nul", "1 2", `{"a":}`, `"x"y`, `{"b":01}`, "3"}},
		"NUL and invalid UTF-8 are kept":                     {"[\"\xff\x00\", \x00\xfe , 2]", []string{"\"\xff\x00\"", "\x00\xfe", "2"}},
		"a raw line feed within a string is kept":            {"[\"a\nb\",2]", []string{"\"a\nb\"", "2"}},
		"nesting of any depth":                               {"[" + deep + ",2]", []string{deep, "2"}},
		"U+2028 within a string":                             {"[\"a\u2028b\"]", []string{"\"a\u2028b\""}},
		"a bracket in a string closes nothing":               {`["]","}",{"]":"["}]`, []string{`"]"`, `"}"`, `{"]":"["}`}},
		"a backslash before a backslash escapes no quote":    {`["\\","\\\"",1]`, []string{`"\\"`, `"\\\""`, "1"}},
		"white space of other kinds belongs to the elements": {"[\v1\f,\u00a02]", []string{"\v1\f", "\u00a02"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRead(t, JSONArray, c.text, Options{})
			require.Equal(t, c.want, bodies(all))
			for _, m := range all {
				require.Equal(t, string(m.Body), c.text[m.Source.Offset:][:len(m.Body)])
				require.EqualValues(t, 1+strings.Count(c.text[:m.Source.Offset], "\n"), m.Source.Line)
			}
		})
	}
}

func TestABrokenArrayIsAnErrorAtItsPlaceAfterAllBeforeIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
		err  string
	}{
		"no array":                     {"\n{\"a\":1}", []string{}, "line 2, byte 1: a JSON array begins with [, and here stands {"},
		"no closing bracket":           {"[1,\n{\"a\":2}\n", []string{"1", `{"a":2}`}, "line 3, byte 12: the closing ] of the array is missing"},
		"nothing but the opening one":  {"[", []string{}, "line 1, byte 1: the closing ]"},
		"cut within a number":          {"[1,23", []string{"1"}, "line 1, byte 5: the file ends within the element that begins at line 1, byte 3"},
		"cut within an object":         {"[1,\n{\"a\":[", []string{"1"}, "line 2, byte 10: the file ends within the element that begins at line 2, byte 4"},
		"cut within a string":          {"[1,{\"a\":\"b]", []string{"1"}, "byte 11: the file ends within the string that begins at byte 8"},
		"garbage after the end":        {"[1]\n[2]", []string{"1"}, "line 2, byte 4: the array has ended, and more follows ([)"},
		"a brace that closes nothing":  {"[1,2}]", []string{"1"}, "line 1, byte 4: } closes nothing"},
		"a bracket of the wrong kind":  {"[1,{\"a\":[2},3]", []string{"1"}, "line 1, byte 10: } closes nothing"},
		"a bracket for a brace":        {"[{\"a\":1],3]", []string{}, "line 1, byte 7: ] closes nothing"},
		"a control byte for a bracket": {"\x1b[2J", []string{}, "byte 0x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := readAll(t, JSONArray, c.text, Options{})
			require.Equal(t, c.want, bodies(all))
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "in.json", e.File)
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestAnElementBeyondTheLimitIsSetAsideByItsHead(t *testing.T) {
	t.Parallel()
	in := io.MultiReader(strings.NewReader(`[{"id":"a","x":[`), &repeated{'[', 4 << 20}, &repeated{']', 4 << 20}, strings.NewReader(`]} `),
		&repeated{' ', 1 << 20}, strings.NewReader(`,{"id":"b"}`), &repeated{'\n', 4 << 20}, strings.NewReader("]"))
	r, err := NewReader("x.json", in, 0, Options{ID: "/id", MaxBody: 1 << 20})
	require.NoError(t, err)
	m, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "a", m.ID)
	require.Equal(t, siding.CauseBodyTooLarge, m.Dead.Cause)
	require.Contains(t, m.Dead.Error(), "the record has 8388625 bytes")
	m, err = r.Next()
	require.NoError(t, err)
	require.Nil(t, m.Dead)
	require.Equal(t, `{"id":"b"}`, string(m.Body))
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
}

// The scanner finds the elements that encoding/json finds, however the file arrives.
func TestArraysReadAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(jsonValue(3)).Draw(t, "values")
		space := rapid.SampledFrom([]string{"", " ", "\n", "\r\n\t "})
		var b strings.Builder
		b.WriteString(space.Draw(t, "space") + "[" + space.Draw(t, "space"))
		for i, v := range values {
			if i > 0 {
				b.WriteString(space.Draw(t, "space") + "," + space.Draw(t, "space"))
			}
			b.WriteString(v)
		}
		b.WriteString(space.Draw(t, "space") + "]" + space.Draw(t, "space"))
		var want []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(b.String()), &want))

		r, err := NewReader("x.json", &slowly{b.String(), rapid.IntRange(1, 9).Draw(t, "chunk")}, 0, Options{})
		require.NoError(t, err)
		for _, w := range want {
			m, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, string(w), string(m.Body))
		}
		_, err = r.Next()
		require.ErrorIs(t, err, io.EOF)
	})
}

// Whatever the file holds, the records stand in it in order, and what encoding/json reads as an array is read without error.
func TestArrayElementsStandInTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "["}).Draw(t, "open") + hostileText().Draw(t, "text")
		checkArray(t, text, rapid.IntRange(1, 9).Draw(t, "chunk"))
	})
}

func checkArray(t require.TestingT, text string, chunk int) {
	r, err := NewReader("x.json", &slowly{text, chunk}, 0, Options{})
	if err != nil {
		require.Error(t, refuse([]byte(text)))
		return
	}
	at := 0
	var got []string
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			require.False(t, json.Valid([]byte(strings.TrimPrefix(text, "\ufeff"))) && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "["), err)
			return
		}
		from := int(m.Source.Offset)
		require.GreaterOrEqual(t, from, at)
		at = from + len(m.Body)
		require.Equal(t, text[from:at], string(m.Body))
		require.Equal(t, strings.Trim(string(m.Body), " \t\r\n"), string(m.Body))
		require.NotEmpty(t, m.Body)
		got = append(got, string(m.Body))
	}
	var want []json.RawMessage
	if json.Unmarshal([]byte(text), &want) == nil {
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(want[i]), got[i])
		}
	}
}

// jsonValue draws valid JSON with odd strings, numbers and white space.
func jsonValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		most := 3
		if depth == 0 {
			most = 1
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"0", "-0", "1e999", "12345678901234567890", "1.5E-3", "true", "false", "null"}).Draw(t, "word")
		case 1:
			return jsonString().Draw(t, "string")
		case 2:
			return "[" + strings.Join(rapid.SliceOfN(jsonValue(depth-1), 0, 4).Draw(t, "elements"), " , ") + "]"
		}
		var members []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, jsonString().Draw(t, "name")+" :"+jsonValue(depth-1).Draw(t, "value"))
		}
		return "{" + strings.Join(members, ",\n") + "}"
	})
}

// jsonString draws strings, often short ones that pointers ask for, some of them escaped.
func jsonString() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "b", "id", "0", "1", "~", "é", "\u2028", "]", "}", ",", "{", `\"`, `\\`, `\/`, `\n`, `\u0069`, `\u0000`, `\ud83d\ude00`, "😀",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(part, 0, 3).Draw(t, "parts"), "") + `"`
	})
}
