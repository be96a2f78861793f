package quarantine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func applied(body string, texts ...string) (string, error) {
	list, err := ParseRepairs(texts)
	if err != nil {
		return "", err
	}
	d, err := list.Apply(context.Background(), Draft{Body: []byte(body)})
	return string(d.Body), err
}

func TestAFieldIsChangedAndNothingElse(t *testing.T) {
	t.Parallel()
	const body = `{ "a" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`
	for repair, want := range map[string]string{
		`drop:field=/a`:                        `{ "b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`drop:field=/b`:                        `{ "a" : 1, "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`drop:field=/empty`:                    `{ "a" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"} }`,
		`drop:field=/b/0`:                      `{ "a" : 1,"b":[ "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`drop:field=/c~1d/e`:                   `{ "a" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{}, "empty":{} }`,
		`drop:field=/none`:                     body,
		`drop:field=/none/there`:               body,
		`drop:field=/b/x`:                      body,
		`set:field=/a,value=2`:                 `{ "a" : 2,"b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`set:field=/a,value=two`:               `{ "a" : "two","b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`set:field=/a,value="\"2\""`:           `{ "a" : "2","b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`set:field=/b,value=[1.0,"x",{}]`:      body,
		`set:field=/empty/x,value={"y":[1,2]}`: `{ "a" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{"x":{"y":[1,2]}} }`,
		`set:field=/b/3,value=`:                `{ "a" : 1,"b":[ 1.0 , "x" ,{},""], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`set:field=/b/-,value=null`:            `{ "a" : 1,"b":[ 1.0 , "x" ,{},null], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`set:field=/z,value="a,b"`:             `{ "a" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{},"z":"a,b" }`,
		`set:field=,value=7`:                   `7`,
		`rename:field=/a,to=A`:                 `{ "A" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{"e":"\u00e4"}, "empty":{} }`,
		`rename:field=/c~1d/e,to=/c~1d/f`:      `{ "a" : 1,"b":[ 1.0 , "x" ,{}], "c/d":{"f":"\u00e4"}, "empty":{} }`,
		`rename:field=/none,to=b`:              body,
		`rename:field=/a,to=a`:                 body,
	} {
		got, err := applied(body, repair)
		require.NoError(t, err, repair)
		require.Equal(t, want, got, repair)
		again, err := applied(got, repair)
		if !strings.Contains(repair, "/-") && !strings.HasPrefix(repair, "drop:field=/b/0") {
			require.NoError(t, err, repair)
			require.Equal(t, got, again, "%s: a second time it has nothing to do", repair)
		}
	}
	for repair, want := range map[string]string{
		`set:field=/none/x,value=1`:    "no object or array in which /none/x could stand",
		`set:field=/b/9,value=1`:       `the array has 3 elements`,
		`set:field=/b/x,value=1`:       `the array has 3 elements`,
		`rename:field=/a,to=b`:         `there is a field "b" already`,
		`rename:field=/b/0,to=b`:       `stands in an array`,
		`truncate:field=/b,max=1`:      `is no text`,
		`drop:field=`:                  `cannot be dropped`,
		`drop:field=a`:                 `did you mean "/a"`,
		`drop:fields=/a`:               `"fields" is no argument; the arguments are field`,
		`drop`:                         `field=… is missing`,
		`set:field=/a`:                 `value=… is missing`,
		"set:field=/a,value=\xff":      `not valid UTF-8`,
		`rename:field=/a,to=/b/c`:      `leads elsewhere`,
		`rename:field=,to=x`:           `has no name`,
		`truncate:field=/a,max=-1`:     `"-1" is no number from 0 up`,
		`truncate:field=/a`:            `max=… is missing`,
		`truncate:max=1,unit=lines`:    `"lines" is none; it is chars, bytes and tokens`,
		`truncate:field=/a,max=1e3`:    `is no number`,
		`rename:field=/a,to=b,field=x`: `given twice`,
	} {
		_, err := applied(body, repair)
		require.ErrorContains(t, err, want, repair)
	}
	_, err := applied(`{"a":1`, `drop:field=/a`)
	require.ErrorContains(t, err, "the body is not valid JSON: it ends before it is whole: one object or array is still open, at offset 6; mend that first")
}

func TestOfANameThatComesTwiceTheLastCounts(t *testing.T) {
	t.Parallel()
	const body = `{"a":{"x":1},"a":1,"a":{"x":2,"y":3,"x":4},"b":0}`
	for repair, want := range map[string]string{
		`set:field=/a/x,value=5`: `{"a":{"x":1},"a":1,"a":{"x":2,"y":3,"x":5},"b":0}`,
		`drop:field=/a/x`:        `{"a":{"x":1},"a":1,"a":{"y":3},"b":0}`,
		`drop:field=/a`:          `{"b":0}`,
	} {
		got, err := applied(body, repair)
		require.NoError(t, err, repair)
		require.Equal(t, want, got, repair)
	}
	_, err := applied(body, `rename:field=/a,to=c`)
	require.ErrorContains(t, err, "3 times")
	got, err := applied(`{"a":{"x":1},"a":2}`, `drop:field=/a/x`)
	require.NoError(t, err)
	require.Equal(t, `{"a":{"x":1},"a":2}`, got, "the first a does not count")
	got, err = applied(`{"a":1,"a":2,"b":3,"a":4}`, `drop:field=/a`)
	require.NoError(t, err)
	require.Equal(t, `{"b":3}`, got)
	got, err = applied(`{"a":1,"a":2}`, `drop:field=/a`)
	require.NoError(t, err)
	require.Equal(t, `{}`, got)
}

func TestFieldRepairsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := drawDocument(t, rapid.String()).String()
		places := pointers(decoded(body), "")
		if len(places) == 0 {
			return
		}
		slices.Sort(places)
		at := rapid.SampledFrom(places).Draw(t, "place")
		p, err := parsePointer(at)
		require.NoError(t, err)

		got, err := applied(body, "set:"+arguments{{"field", at}, {"value", `"new\u0041"`}}.String())
		require.NoError(t, err)
		require.Equal(t, changed(decoded(body), p.names, func(in any, name string) any {
			switch in := in.(type) {
			case map[string]any:
				in[name] = "newA"
			case []any:
				i, _ := arrayIndex(name)
				in[i] = "newA"
			}
			return in
		}), decoded(got))
		head := strings.Index(got, `"new\u0041"`)
		if head >= 0 { // the place had another value
			require.True(t, strings.HasPrefix(body, got[:head]))
			require.True(t, strings.HasSuffix(body, got[head+len(`"new\u0041"`):]))
		}

		got, err = applied(body, "drop:field="+quoteArgument(at))
		require.NoError(t, err)
		require.Equal(t, changed(decoded(body), p.names, func(in any, name string) any {
			switch in := in.(type) {
			case map[string]any:
				delete(in, name)
			case []any:
				i, _ := arrayIndex(name)
				return slices.Delete(in, i, i+1)
			}
			return in
		}), decoded(got))

		got, err = applied(body, "rename:"+arguments{{"field", at}, {"to", "another"}}.String())
		if err != nil {
			require.ErrorContains(t, err, "in an array")
			require.Equal(t, body, got)
			return
		}
		require.Equal(t, changed(decoded(body), p.names, func(in any, name string) any {
			m := in.(map[string]any)
			m["another"] = m[name]
			delete(m, name)
			return m
		}), decoded(got))
	})
}

func TestATextIsCutAtAWord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ text, args, want string }{
		{"one two three", "max=13", "one two three"},
		{"one two three", "max=12", "one two"},
		{"one two three", "max=8", "one two"},
		{"one two three", "max=7", "one two"},
		{"one two three", "max=6", "one"},
		{"one two three", "max=2", "on"},
		{"one two three", "max=0", ""},
		{"  one", "max=3", "  o"},
		{"one " + long, "max=200", "one " + long[:196]},
		{"äöü", "max=2,unit=chars", "äö"},
		{"äöü", "max=3,unit=bytes", "ä"},
		{"ae\u0301", "max=2", "a"}, // a letter and its mark
		{"a👩‍🚀b", "max=3", "a"},    // three runes that are one character
		{"🇳🇵🇦🇹", "max=3", "🇳🇵"},    // two flags
		{"日本語の文章", "max=3", "日本語"}, // no spaces
		{"a\u0301" + strings.Repeat("\u0301", 400), "max=50", "a" + strings.Repeat("\u0301", 49)},
		{"one two three four", "max=3,unit=tokens", "one two"},
	} {
		got, err := applied(`{"id":1, "t": `+quoteText(c.text)+` }`, "truncate:field=/t,"+c.args)
		require.NoError(t, err)
		require.Equal(t, `{"id":1, "t": `+quoteText(c.want)+` }`, got, "%s %s", c.text, c.args)
	}
	got, err := applied(`{"t":"a\u00e4\ud83d\ude00\ud83d\n\"xyz"}`, "truncate:field=/t,max=6")
	require.NoError(t, err)
	require.Equal(t, `{"t":"a\u00e4\ud83d\ude00\ud83d"}`, got, "what stays keeps its bytes")

	text, err := Repairs{must(ParseRepair("truncate:max=7"))}.Apply(t.Context(), Draft{Body: []byte("one two three"), ContentType: "text/plain"})
	require.NoError(t, err)
	require.Equal(t, "one two", string(text.Body))
	_, err = applied("{\"t\":\"abc\xff\"}", "truncate:field=/t,max=2")
	require.ErrorContains(t, err, "/t is not valid UTF-8")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestWhatIsCutIsNeverTooLong(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("ab  \n\u0301🇳👩\u200d🚀é1\"\\"))))
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		most := rapid.Int64Range(0, 40).Draw(t, "max")
		for _, unit := range units {
			repair := "truncate:" + arguments{{"field", "/t"}, {"max", itoa(most)}, {"unit", unit}}.String()
			got, err := applied(`{"t":`+quoteText(text)+`}`, repair)
			require.NoError(t, err)
			s := decoded(got).(map[string]any)["t"].(string)
			require.True(t, utf8.ValidString(s))
			require.True(t, strings.HasPrefix(text, s))
			c := counter{unit: unit}
			n := int64(0)
			for _, r := range s {
				n = c.add(r)
			}
			require.LessOrEqual(t, n, most, "%s of %q", unit, s)
			again, err := applied(got, repair)
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	})
}

func FuzzNoRepairPanics(f *testing.F) {
	for _, body := range []string{`{"a":"x\ud83c","b":[1,{"c":"d"}]}`, "\xff{", `{"a":"x "y" z",`, "\xed\xa0\xbd\xed\xb8\x80", `["\b\u0001`} {
		f.Add([]byte(body), "/a")
	}
	names := slices.Sorted(maps.Keys(builtinRepairs()))
	f.Fuzz(func(t *testing.T, body []byte, at string) {
		given := string(body)
		field := quoteArgument(at)
		for _, name := range names {
			text := name
			switch name {
			case nameCommand:
				continue
			case nameTruncate:
				text += ":max=2,field=" + field
			case nameDrop:
				text += ":field=" + field
			case nameSet:
				text += ":value=x,field=" + field
			case nameRename:
				text += ":to=z,field=" + field
			case nameRequest:
				text += ":max_tokens=5"
			case nameJQ:
				text += ":.a"
			}
			r, err := ParseRepair(text)
			if err != nil {
				continue // not a JSON Pointer
			}
			again, err := ParseRepair(r.String())
			require.NoError(t, err, r.String())
			require.Equal(t, r.String(), again.String())
			d, err := r.Apply(t.Context(), Draft{Body: body})
			require.Equal(t, given, string(body), "%s changes what it is given", text)
			if err == nil && json0(body) {
				require.True(t, json0(d.Body) || name == nameStripUTF8, "%s: %q gives %q", text, body, d.Body)
			}
		}
	})
}

func json0(b []byte) bool { return syntax(b) == nil }
