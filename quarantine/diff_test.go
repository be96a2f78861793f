package quarantine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func compared(before, after string) []string {
	return Compare(Draft{Body: []byte(before)}, Draft{Body: []byte(after)}).Lines()
}

func TestADiffShowsFieldsAndWhatDiffersInThem(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"/a", `  - "x\ud83c"`, `  + "x\ufffd"`,
		"/b/1/c", "  - 1", "  + 2",
		"/gone", "  - null",
		"/new", `  + "é\u200b"`,
	}, compared(`{"a":"x\ud83c","b":[0,{"c":1}],"gone":null}`, "{\"a\":\"x\\ufffd\", \"b\":[0,{\"c\":2}],\"new\":\"é\u200b\"}"))
	require.Equal(t, []string{"/1", "  - 2", "/2", "  - 3"}, compared(`[1,2,3,4]`, `[1,4]`))
	require.Equal(t, []string{"the whole body", "  - [1]", `  + {"a":1}`}, compared(`[1]`, `{"a":1}`))
	require.Equal(t, []string{"/a~1b", "  - 1", "  + 2"}, compared(`{"a/b":1}`, `{"a/b":2}`))
	require.Empty(t, compared(`{"a":1}`, `{ "a": 1 }`))
	require.Equal(t, []string{"/t", `  - "a\xff\xfeb"`, `  + "ab"`}, compared("{\"t\":\"a\xff\xfeb\"}", `{"t":"ab"}`))

	d := Compare(Draft{Body: []byte(`{}`), Headers: map[string]string{"a": "1", "b": "x"}},
		Draft{Body: []byte(`{}`), Headers: map[string]string{"b": "y\x1b[0m", "c": "\u202e"}})
	require.Equal(t, []string{"header a", "  - 1", "header b", "  - x", `  + y\x1b[0m`, "header c", `  + \u202e`}, d.Lines())

	long := strings.Repeat("x", 1<<20)
	d = Compare(Draft{Body: []byte(`{"t":"` + long + `A` + long + `"}`)}, Draft{Body: []byte(`{"t":"` + long + `Bé` + long + `"}`)})
	require.Len(t, d.Changes, 1)
	require.Equal(t, "A", d.Changes[0].Old.Text)
	require.Equal(t, "Bé", d.Changes[0].New.Text)
	require.Less(t, len(d.Changes[0].New.String()), 400)
	d = Compare(Draft{Body: []byte(`{"t":"` + long + `"}`)}, Draft{Body: []byte(`{"t":"x"}`)})
	require.Contains(t, d.Changes[0].Old.Text, " bytes … ")
	require.Less(t, len(d.Changes[0].Old.String()), 500)
	require.Equal(t, len(long)+2, d.Changes[0].Old.Bytes)
}

func TestADiffShowsPlacesWhereABodyCannotBeTakenApart(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"byte 6, line 1", `  - {"a":1,}`, `  + {"a":1}`}, compared(`{"a":1,}`, `{"a":1}`))
	text := "first line\nsecond \xff line\n" + strings.Repeat("all alike here\n", 20) + "and \x1b one more"
	after, err := Repairs{must(ParseRepair("strip-invalid-utf8")), must(ParseRepair("strip-control"))}.Apply(t.Context(), Draft{Body: []byte(text), ContentType: "text/plain"})
	require.NoError(t, err)
	d := Compare(Draft{Body: []byte(text), ContentType: "text/plain"}, after)
	require.Len(t, d.Changes, 2)
	require.EqualValues(t, 2, d.Changes[0].Line)
	require.EqualValues(t, 18, *d.Changes[0].Offset)
	require.Equal(t, `\xff`, d.Changes[0].Old.Text)
	require.Empty(t, d.Changes[0].New.Text)
	require.EqualValues(t, 23, d.Changes[1].Line)
	require.Equal(t, `\x1b`, d.Changes[1].Old.Text)
}

func TestADiffIsBounded(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&a, `"k%d":%d,`, i%90_000, i)
		fmt.Fprintf(&b, `"k%d":%d,`, i%90_000, i+1)
	}
	for _, d := range []Diff{
		Compare(Draft{Body: []byte(`{` + a.String()[:1_000_000] + `"z":0}`)}, Draft{Body: []byte(`{` + b.String()[:1_000_000] + `"z":0}`)}),
		Compare(Draft{Body: []byte(a.String())}, Draft{Body: []byte(b.String())}),
		Compare(Draft{Body: []byte(strings.Repeat("[", 9_000) + "1" + strings.Repeat("]", 9_000))}, Draft{Body: []byte(strings.Repeat("[", 9_000) + "2" + strings.Repeat("]", 9_000))}),
		Compare(Draft{Body: bytes.Repeat([]byte("\xff\x00"), 1<<20)}, Draft{Body: bytes.Repeat([]byte("\x00\xfe\xfd"), 1<<20)}),
		Compare(Draft{Body: bytes.Repeat([]byte("ab"), 1<<20)}, Draft{Body: bytes.Repeat([]byte("ba"), 1<<20)}),
	} {
		require.NotEmpty(t, d.Changes)
		require.LessOrEqual(t, len(d.Changes), maxChanges)
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.Less(t, len(text), 100_000)
	}
}

func TestADiffShowsNothingRaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bodies := rapid.OneOf(
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Custom(func(t *rapid.T) string { return drawDocument(t, hostile).String() }),
			rapid.StringOf(rapid.SampledFrom([]rune("{}\"a:,\n\x1b\u202e\u200bé"))),
		)
		before, after := bodies.Draw(t, "before"), bodies.Draw(t, "after")
		d := Compare(Draft{Body: []byte(before), Headers: map[string]string{"h": before}}, Draft{Body: []byte(after), Headers: map[string]string{"h": after}})
		for _, line := range d.Lines() {
			require.True(t, utf8.ValidString(line), "%q", line)
			for _, r := range line {
				require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d', "%q", line)
			}
		}
		if before == after {
			require.Empty(t, d.Lines())
		} else if !sameJSON([]byte(before), []byte(after)) {
			require.NotEmpty(t, d.Lines())
		}
	})
}
