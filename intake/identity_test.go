package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEventIDsAreTakenFromTheRecord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", siding.MaxIDBytes)
	for name, c := range map[string]struct{ body, pointer, want string }{
		"a text":                                {`{"id":"evt-42"}`, "/id", "evt-42"},
		"a text with escapes":                   {`{"id":"\u00e9\/\ud83d\ude00\\"}`, "/id", `é/😀\`},
		"a name with escapes":                   {`{"\u0069d":"a"}`, "/id", "a"},
		"a large number, as written":            {`{"id":12345678901234567890}`, "/id", "12345678901234567890"},
		"a number beyond all floats":            {`{"id": 1e999 }`, "/id", "1e999"},
		"a number with zeros":                   {`{"id":1.50,"x":2}`, "/id", "1.50"},
		"a minus zero":                          {`{"id":-0}`, "/id", "-0"},
		"a boolean":                             {`{"id":true}`, "/id", "true"},
		"the longest text":                      {`{"id":"` + long + `"}`, "/id", long},
		"the last of two, as readers have it":   {`{"id":"a","id":"b"}`, "/id", "b"},
		"in a nested object":                    {`{"x":1,"meta":{"y":[2],"id":"n"},"id":"o"}`, "/meta/id", "n"},
		"in an array":                           {`{"rows":[{"id":"a"},{"id":"b"}]}`, "/rows/1/id", "b"},
		"in an array at the top":                {`["a",["b"],"c"]`, "/2", "c"},
		"under a number as a name":              {`{"0":"a"}`, "/0", "a"},
		"under a name with a slash and a tilde": {`{"a/b~":"x"}`, "/a~1b~0", "x"},
		"under an empty name":                   {`{"":"x"}`, "/", "x"},
		"behind nesting of any depth":           {`{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,"id":"d"}`, "/id", "d"},
		"U+2028 aside, odd characters":          {`{"id":"ä ,{}[]:"}`, "/id", "ä ,{}[]:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRead(t, JSONLines, c.body, Options{ID: c.pointer})
			require.Equal(t, []string{c.want}, ids(all))
			require.Nil(t, all[0].Dead)
		})
	}
}

func TestABrokenRecordKeepsItsIDWhereThatIsIntact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"cut off behind it":                 {`{"id":"a","x":"tru`, "a"},
		"cut off right behind it":           {`{"id":"a"`, "a"},
		"raw bytes before it":               {"{\"x\":\"\xff\xfe\x00\x01\n\",\"id\":\"a\"}", "a"},
		"raw bytes behind it":               {"{\"id\":\"a\",\"x\":\"\xff\xfe\"}", "a"},
		"a quote that is not escaped":       {`{"x":"say "hello" now","id":"a"}`, "a"},
		"a missing value":                   {`{"x":,"id":"a"}`, "a"},
		"a missing colon":                   {`{"x" 1,"id":"a"}`, "a"},
		"a missing comma before it":         {`{"x":1 "y":2, "id":"a"}`, "a"},
		"a word that is none":               {`{"x":nul,"id":"a"}`, "a"},
		"NaN":                               {`{"x":NaN,"y":-Infinity,"id":"a"}`, "a"},
		"single quotes elsewhere":           {`{'x':'y',"id":"a"}`, "a"},
		"a comma too many":                  {`{,"id":"a",,}`, "a"},
		"an escape that is none":            {`{"x":"\q","id":"a"}`, "a"},
		"brackets of the wrong kind":        {`{"x":[1},"id":"a"}`, "a"},
		"more behind the end":               {`{"id":"a"}}{"id":"b"}`, "a"},
		"a second one behind a break":       {`{"id":"a","x":"y"z","id":"b"}`, "a"},
		"a second one that is cut off":      {`{"id":"a","id":12`, "a"},
		"a number with a comma behind it":   {`{"id":12,"x":`, "12"},
		"a lone surrogate in another value": {`{"x":"\ud800","id":"a"}`, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRead(t, JSONLines, strings.ReplaceAll(c.body, "\n", " "), Options{ID: "/id"})
			require.Equal(t, []string{c.want}, ids(all))
			require.Nil(t, all[0].Dead, "its handler finds what is wrong")
		})
	}
}

func TestARecordThatIsBrokenAtItsIDGetsOneFromItsBytesAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"cut off before it":             `{"x":"abc`,
		"cut off within a text":         `{"id":"ab`,
		"cut off within a number":       `{"id":12`,
		"cut off before its value":      `{"id":`,
		"a quote in it not escaped":     `{"id":"a"b","x":1}`,
		"an escape that is none":        `{"id":"a\q"}`,
		"a number that is none":         `{"id":01}`,
		"a word that is none":           `{"id":nul}`,
		"no object":                     `id=1`,
		"nothing but NUL":               "\x00\x00",
		"missing, and invalid UTF-8":    "{\"x\":\"\xff\"}",
		"swallowed by an unpaired text": `{"x":"a"b","id":"c"}`,
		"in single quotes":              `{"id":'a'}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRead(t, JSONLines, body, Options{ID: "/id"})
			require.Equal(t, []string{siding.RecordID(all[0].Source.SourceHash, 0)}, ids(all))
			require.Nil(t, all[0].Dead, "the cause is what broke it, and its handler finds that")
		})
	}
}

func TestARecordWithoutAFitIDIsSetAside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, text string
		at         int64
	}{
		"missing":                {`{"x":1}`, "nothing stands at /id", -1},
		"missing in a text":      {`"id"`, "nothing stands at /id", -1},
		"missing in an array":    {`[1]`, "nothing stands at /id", -1},
		"null":                   {`{"id":null}`, "at /id is null", 6},
		"an object":              {`{"id":{"id":1}}`, "is an object", 6},
		"an array":               {`{"id":["a"]}`, "is an array", 6},
		"empty":                  {`{"id":""}`, "it is empty", 6},
		"10 kB long":             {`{"id":"` + strings.Repeat("x", 10_000) + `"}`, "it has 10000 bytes, and 512 are allowed", 6},
		"a number too long":      {`{"id":` + strings.Repeat("1", 513) + `}`, "it has 513 bytes", 6},
		"control characters":     {`{"id":"a\u0007\n"}`, "control character U+0007 at byte 1", 6},
		"raw control bytes":      {"{\"id\":\"a\x1b[2J\"}", "control character U+001B at byte 1", 6},
		"NUL":                    {"{\"id\":\"\x00\"}", "control character U+0000", 6},
		"invalid UTF-8":          {"{\"id\":\"a\xff\"}", "not valid UTF-8", 6},
		"a lone surrogate":       {`{"id":"\ud800"}`, "lone surrogate", 6},
		"replaced by the second": {`{"id":"a","id":null}`, "is null", 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the same in every run
				all := mustRead(t, JSONLines, c.body, Options{ID: "/id"})
				require.Equal(t, []string{siding.RecordID(all[0].Source.SourceHash, 0)}, ids(all))
				require.Equal(t, c.body, string(all[0].Body))
				dead := all[0].Dead
				require.NotNil(t, dead)
				require.Equal(t, siding.CauseInvalidID, dead.Cause)
				require.Equal(t, siding.OutcomePermanent, dead.Outcome)
				require.True(t, dead.NoCall)
				require.ErrorContains(t, dead, c.text)
				if c.at < 0 {
					require.Nil(t, dead.FaultOffset)
				} else {
					require.Equal(t, c.at, *dead.FaultOffset)
				}
			}
		})
	}
}

func TestRecordsWithOneIDKeepItAndTheirOwnBytes(t *testing.T) {
	t.Parallel()
	all := mustRead(t, JSONLines, "{\"id\":1,\"x\":1}\n{\"id\":1,\"x\":2}\n{\"id\":1,\"x\":1}\n", Options{ID: "/id"})
	require.Equal(t, []string{"1", "1", "1"}, ids(all), "the store tells them apart by their bytes")
	require.NotEqual(t, all[0].Source.SourceHash, all[1].Source.SourceHash)
	require.Equal(t, all[0].Source.SourceHash, all[2].Source.SourceHash)
}

func TestARecordTooLargeKeepsTheIDInItsHead(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", 100)
	all := mustRead(t, JSONLines, `{"id":"a","x":"`+pad+"\"}\n"+`{"x":"`+pad+`","id":"a"}`, Options{ID: "/id", MaxBody: 50})
	require.Equal(t, []string{"a", siding.RecordID(all[1].Source.SourceHash, 0)}, ids(all))
	require.Equal(t, []siding.Cause{siding.CauseBodyTooLarge, siding.CauseBodyTooLarge}, causes(all))
}

// On valid JSON the scan finds what Go's decoder finds.
func TestIDsAgreeWithEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := jsonValue(4).Draw(t, "body")
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "id", "0", "1", "", "~0", "é"}), 1, 3).Draw(t, "tokens")
		checkAgainstDecoder(t, body, "/"+strings.Join(tokens, "/"))
	})
}

func checkAgainstDecoder(t require.TestingT, body, pointer string) {
	p, err := ParsePointer(pointer)
	require.NoError(t, err)
	got := scanID([]byte(body), p)
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	for _, step := range p.tokens {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[step.name]
			if !ok {
				require.True(t, got.none(), "%s in %s", pointer, body)
				return
			}
			v = next
		case []any:
			if step.index < 0 || step.index >= len(c) {
				require.True(t, got.none(), "%s in %s", pointer, body)
				return
			}
			v = c[step.index]
		default:
			require.True(t, got.none(), "%s in %s", pointer, body)
			return
		}
	}
	switch v := v.(type) {
	case string:
		if siding.CheckID(v) == nil && !strings.ContainsRune(v, utf8.RuneError) {
			require.Equal(t, v, string(got.text), "%s in %s", pointer, body)
		}
	case json.Number, bool:
		require.Equal(t, fmt.Sprint(v), string(got.text), "%s in %s", pointer, body)
	default:
		require.NotEmpty(t, got.unfit, "%s in %s", pointer, body)
	}
}

// A valid record that is cut off anywhere has its own ID or none, never another.
func TestACutRecordNeverHasAnotherID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{`"evt-1"`, "123456", `"a\u00e9"`, "true"}).Draw(t, "id")
		body := `{"x":` + jsonValue(3).Draw(t, "before") + `,"id":` + id + `,"y":` + jsonValue(3).Draw(t, "after") + `}`
		p, _ := ParsePointer("/id")
		want := scanID([]byte(body), p)
		require.True(t, want.ok)
		cut := scanID([]byte(body[:rapid.IntRange(0, len(body)).Draw(t, "cut")]), p)
		require.True(t, cut.none() || string(cut.text) == string(want.text), "%v", cut)
	})
}

func TestTheScanTakesLinearTimeAndEndsOnAnything(t *testing.T) {
	t.Parallel()
	p, _ := ParsePointer("/a/0/id")
	for _, unit := range []string{`{`, `[`, `"`, `\`, `{"a":`, `{"a":[`, `"a":`, `,`, `:`, `]`, `}`, `[{`, `{"`, `"a" `, `{"a":[{"id":1}],`} {
		began := time.Now()
		scanID(bytes.Repeat([]byte(unit), 1<<20/len(unit)), p)
		require.Less(t, time.Since(began), 20*time.Second, "quadratic time on 1 MB would take much longer: %s", unit)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := hostileText().Draw(t, "text")
		pointer, _ := ParsePointer(rapid.SampledFrom([]string{"/id", "/0", "/id/0", "//"}).Draw(t, "pointer"))
		if f := scanID([]byte(text), pointer); f.ok {
			require.NoError(t, siding.CheckID(string(f.text)))
		}
	})
}

func TestPointers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "/", "/id", "/a/b/0", "/a~1b/~0", "//", "/ä"} {
		p, err := ParsePointer(text)
		require.NoError(t, err)
		require.Equal(t, text, p.String())
		require.Equal(t, text == "", p.IsZero())
	}
	_, err := ParsePointer("id")
	require.ErrorContains(t, err, `did you mean "/id"?`)
}
