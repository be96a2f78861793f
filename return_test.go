package siding_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestAResultTakesThePlaceOfAField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, field, result, want string }{
		{`{"a":1,"b":2}`, "/a", `"x"`, `{"a":"x","b":2}`},
		{`{"a":1,"b":2}`, "/b", `{"c":[1]}`, `{"a":1,"b":{"c":[1]}}`},
		{" { \"a\" : \t1 ,\r\n\"b\":2 } \n", "/a", ` [1, 2] `, " { \"a\" : \t[1, 2] ,\r\n\"b\":2 } \n"},
		{`{"a":1}`, "/b", `"x"`, `{"a":1,"b":"x"}`},
		{`{"a":1 }`, "/b", `"x"`, `{"a":1,"b":"x" }`},
		{`{}`, "/b", `"x"`, `{"b":"x"}`},
		{`{ }`, "/b", `"x"`, `{"b":"x" }`},
		{`{"a":{"b":{}}}`, "/a/b/c", `null`, `{"a":{"b":{"c":null}}}`},
		{`{"a":[{"b":1},{"b":2}]}`, "/a/1/b", `3`, `{"a":[{"b":1},{"b":3}]}`},
		{`[1, 2, 3]`, "/0", `true`, `[true, 2, 3]`},
		{`[[],[[]]]`, "/1/0", `"x"`, `[[],["x"]]`},
		// The last of equal keys is the one that counts.
		{`{"a":1,"a":2,"b":3}`, "/a", `9`, `{"a":1,"a":9,"b":3}`},
		{`{"a":{"x":1},"a":{"x":2}}`, "/a/x", `9`, `{"a":{"x":1},"a":{"x":9}}`},
		// Keys are compared as they are meant, not as they are written.
		{`{"\u0061":1,"a\"b":2}`, "/a", `9`, `{"\u0061":9,"a\"b":2}`},
		{`{"\u0061":1,"a\"b":2}`, `/a"b`, `9`, `{"\u0061":1,"a\"b":9}`},
		{`{"a/b":1,"m~n":2,"":3}`, "/a~1b", `9`, `{"a/b":9,"m~n":2,"":3}`},
		{`{"a/b":1,"m~n":2,"":3}`, "/m~0n", `9`, `{"a/b":1,"m~n":9,"":3}`},
		{`{"a/b":1,"m~n":2,"":3}`, "/", `9`, `{"a/b":1,"m~n":2,"":9}`},
		{`{}`, "/ä \"\n", `1`, `{"ä \"\n":1}`},
		// What looks like structure within a text is none.
		{`{"a":"}\",{[","b":"\\"}`, "/b", `1`, `{"a":"}\",{[","b":1}`},
		{`{"a":12345678901234567890,"b":1e999,"c":-0.0}`, "/c", `0`, `{"a":12345678901234567890,"b":1e999,"c":0}`},
		{"{\"a\":\"\xff\",\"b\":1}", "/b", `2`, "{\"a\":\"\xff\",\"b\":2}"},
		// A result that is not JSON is a text.
		{`{"a":1}`, "/a", "two words\nof \"text\" <b>", `{"a":"two words\nof \"text\" \u003cb\u003e"}`},
		{`{"a":1}`, "/a", `{"cut`, `{"a":"{\"cut"}`},
	} {
		got, err := siding.ReturnResult([]byte(c.body), c.field, []byte(c.result))
		require.NoError(t, err, "%s %s", c.body, c.field)
		require.Equal(t, c.want, string(got), "%s %s", c.body, c.field)
		require.True(t, json.Valid(got))
	}
}

func TestAResultWithoutAPlaceSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, field, result, want string }{
		{`{"a":1}`, "", `1`, "no field is named"},
		{`{"a":1}`, "a", `1`, `did you mean "/a"?`},
		{`{"a":1}`, "/a", ``, "there is no result"},
		{`{"a":1}`, "/a", " \n", "there is no result"},
		{`{"a":1}`, "/a", "\xff", "not valid UTF-8"},
		{`{"a":1`, "/a", `1`, "the body is not valid JSON"},
		{``, "/a", `1`, "the body is not valid JSON"},
		{`{"a":1}`, "/a/b", `1`, "at /a/b: /a is neither an object nor a list"},
		{`"text"`, "/a", `1`, "at /a: the record is neither an object nor a list"},
		{`{"a":1}`, "/b/c", `1`, "at /b/c: there is no /b"},
		{`[1]`, "/1", `1`, "the record is a list without such an element"},
		{`[]`, "/0", `1`, "the record is a list without such an element"},
		{`{"a":[1]}`, "/a/-", `1`, "/a is a list without such an element"},
		{`{"a":[1]}`, "/a/00", `1`, "/a is a list without such an element"},
		{`{"a":[1]}`, "/a/99999999999999999999", `1`, "/a is a list without such an element"},
		{`[{}]`, "/0/a\x1b[31m\n~1/b", `1`, `there is no /0/a`},
	} {
		_, err := siding.ReturnResult([]byte(c.body), c.field, []byte(c.result))
		require.ErrorContains(t, err, c.want, "%s %s", c.body, c.field)
		require.NotContains(t, err.Error(), "\x1b")
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestNestingIsBoundedAndCostsNoStack(t *testing.T) {
	t.Parallel()
	const depth = 9_000
	body := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	got, err := siding.ReturnResult([]byte(body), strings.Repeat("/a", depth), []byte("2"))
	require.NoError(t, err)
	require.Equal(t, strings.Replace(body, "1", "2", 1), string(got))

	body = strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	_, err = siding.ReturnResult([]byte(body), "/0", []byte("2"))
	require.ErrorContains(t, err, "not valid JSON")
}

// written draws a JSON value as somebody may have written it, and what it means.
func written(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	var b strings.Builder
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		b.WriteString(strconv.Itoa(rapid.Int().Draw(t, "number")))
	case 1:
		b.WriteString(rapid.SampledFrom([]string{"true", "null", "1e3", "-0.5"}).Draw(t, "word"))
	case 2, 3:
		text, _ := json.Marshal(rapid.StringMatching(`[a-c"\\{}\[\],:/~é]{0,5}`).Draw(t, "text"))
		b.Write(text)
	case 4:
		b.WriteByte('[')
		for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(space() + written(t, depth-1) + space())
		}
		b.WriteString(space() + "]")
	default:
		b.WriteByte('{')
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			if i > 0 {
				b.WriteByte(',')
			}
			key, _ := json.Marshal(rapid.SampledFrom([]string{"a", "b", "c", "/", "~", "\"", ""}).Draw(t, "key"))
			b.WriteString(space() + string(key) + space() + ":" + space() + written(t, depth-1) + space())
		}
		b.WriteString(space() + "}")
	}
	return b.String()
}

// put is what ReturnResult means, on decoded values.
func put(v any, names []string, value any) (any, bool) {
	if len(names) == 0 {
		return value, true
	}
	switch at := v.(type) {
	case map[string]any:
		inner, known := at[names[0]]
		if !known && len(names) > 1 {
			return v, false
		}
		changed, ok := put(inner, names[1:], value)
		if ok {
			at[names[0]] = changed
		}
		return at, ok
	case []any:
		i, err := strconv.Atoi(names[0])
		if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != names[0] {
			return v, false
		}
		changed, ok := put(at[i], names[1:], value)
		if ok {
			at[i] = changed
		}
		return at, ok
	}
	return v, false
}

func TestReturningAResultChangesOneValueAndNoOtherByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(written(t, 4))
		var names []string
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			names = append(names, rapid.SampledFrom([]string{"a", "b", "c", "/", "~", "\"", "", "0", "1", "2", "-"}).Draw(t, "name"))
		}
		field := ""
		for _, name := range names {
			field += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		}
		result := []byte(`{"returned":[42]}`)
		kept := bytes.Clone(body)
		got, err := siding.ReturnResult(body, field, result)
		require.Equal(t, kept, body, "the body handed in is left alone")

		var before, after any
		require.NoError(t, json.Unmarshal(body, &before))
		want, ok := put(before, names, map[string]any{"returned": []any{42.0}})
		require.Equal(t, ok, err == nil, "%v", err)
		if !ok {
			return
		}
		require.NoError(t, json.Unmarshal(got, &after))
		require.Equal(t, want, after)
		at := bytes.Index(got, result)
		head, tail := got[:at], got[at+len(result):]
		require.True(t, bytes.HasSuffix(body, tail))
		if !bytes.HasPrefix(body, head) { // a key was added
			key, _ := json.Marshal(names[len(names)-1])
			head = bytes.TrimSuffix(head, append(key, ':'))
			require.True(t, bytes.HasPrefix(body, bytes.TrimSuffix(head, []byte(","))), "%s", got)
			require.Len(t, body, len(bytes.TrimSuffix(head, []byte(",")))+len(tail))
		}
	})
}

func FuzzReturnResult(f *testing.F) {
	for _, body := range []string{`{"a":{"b":[1,{"c":"d"}]}}`, `[]`, `{"a":1,"a":2}`, "{\"\\u0000\":\"\xff\"}", `{"a`, `  1 `} {
		for _, field := range []string{"/a", "/a/b/1/c", "/0", "/~1", "x"} {
			f.Add([]byte(body), field, []byte(`"r"`))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, field string, result []byte) {
		got, err := siding.ReturnResult(body, field, result)
		if err != nil {
			require.Nil(t, got)
			return
		}
		require.True(t, json.Valid(got), "%q", got)
		// It is there now, so that a second one takes its place.
		again, err := siding.ReturnResult(got, field, []byte("0"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(again), len(got), "%q", again)
	})
}
