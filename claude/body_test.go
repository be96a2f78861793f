package claude

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestRecordsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		cause  siding.Cause
		offset int64
	}{
		"invalid UTF-8":                   {"{\"a\":\"x\xff\"}", siding.CauseInvalidUTF8, 7},
		"a rune cut in two":               {"\"\xe4\xb8\"", siding.CauseInvalidUTF8, 1},
		"a surrogate written as bytes":    {"\"\xed\xa0\x80\"", siding.CauseInvalidUTF8, 1},
		"an empty body":                   {"", siding.CauseInvalidJSON, 0},
		"white space":                     {" \n", siding.CauseInvalidJSON, 0},
		"a line cut off":                  {`{"a":"b`, siding.CauseInvalidJSON, 7},
		"a stray bracket":                 {`{"a":1]`, siding.CauseInvalidJSON, 6},
		"two values":                      {`{"a":1} {"a":2}`, siding.CauseInvalidJSON, 8},
		"a raw control character":         {"{\"a\":\"x\x00\"}", siding.CauseInvalidJSON, 7},
		"NaN":                             {`{"a":NaN}`, siding.CauseInvalidJSON, 5},
		"a byte order mark":               {"\ufeff{}", siding.CauseInvalidJSON, 0},
		"a lone high surrogate":           {`{"a":"x\ud800"}`, siding.CauseInvalidText, 7},
		"a lone low surrogate":            {`{"a":"\udc00"}`, siding.CauseInvalidText, 6},
		"a high one before another":       {`{"a":"\ud800A"}`, siding.CauseInvalidText, 6},
		"two high ones":                   {`{"a":"\uD83D\uD83D"}`, siding.CauseInvalidText, 6},
		"one in a key":                    {`{"\udfff":1}`, siding.CauseInvalidText, 2},
		"one behind an escaped backslash": {`{"a":"\\\ud800"}`, siding.CauseInvalidText, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := parseRecord([]byte(c.body))
			require.NotNil(t, f)
			require.Equal(t, siding.OutcomePermanent, f.Outcome)
			require.Equal(t, c.cause, f.Cause, f.Error())
			require.True(t, f.NoCall)
			require.NotNil(t, f.FaultOffset)
			require.Equal(t, c.offset, *f.FaultOffset, f.Error())
		})
	}
}

func TestRecordsThatLookBrokenAndAreNot(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"a":"😀"}`, `{"a":"\\ud800"}`, `{"a":"\\\\ud800"}`, "{\"a\":\"\u2028\u2029\"}", `[]`, `"text"`, `null`, `{"a":"\u0000"}`, " {} \r\n",
	} {
		_, f := parseRecord([]byte(body))
		require.Nil(t, f, body)
	}
}

func TestDeepNestingIsRefusedCleanly(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{100_000, 5_000_000} {
		_, f := parseRecord([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		require.NotNil(t, f)
		require.Equal(t, siding.CauseInvalidJSON, f.Cause)
	}
	deep := strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000)
	record, f := parseRecord([]byte(deep))
	require.Nil(t, f)
	prompt, err := compilePrompt("{{json .}}")
	require.NoError(t, err)
	text, f := render(prompt, record, maxRequest)
	require.Nil(t, f)
	require.Equal(t, deep, text)
}

func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	prompt, err := compilePrompt("{{.n}}|{{json .n}}|{{.m}}|{{json .}}")
	require.NoError(t, err)
	record, f := parseRecord([]byte(`{"n":12345678901234567890,"m":1e999}`))
	require.Nil(t, f)
	text, f := render(prompt, record, maxRequest)
	require.Nil(t, f)
	require.Equal(t, `12345678901234567890|12345678901234567890|1e999|{"m":1e999,"n":12345678901234567890}`, text)
}

func TestOfDuplicateKeysTheLastCounts(t *testing.T) {
	t.Parallel()
	record, f := parseRecord([]byte(`{"a":1,"a":2,"A":3}`))
	require.Nil(t, f)
	require.Equal(t, `{"A":3,"a":2}`, string(encode(record)))
}

func TestParseRecordNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.StringMatching(`\{"a":"(\\u[dD][89a-fA-F][0-9]{2}|x|\\\\|\\n)*"\}`), func(s string) []byte { return []byte(s) }),
		).Draw(t, "body")
		v, f := parseRecord(body)
		if f != nil && (f.FaultOffset == nil || *f.FaultOffset < 0 || *f.FaultOffset > int64(len(body))) {
			t.Fatalf("%v at %v", f, f.FaultOffset)
		}
		if f == nil && (!utf8.Valid(body) || bytes.ContainsRune(encode(v), utf8.RuneError) && !bytes.ContainsRune(body, utf8.RuneError)) {
			t.Fatalf("%q was taken, and reads %s", body, encode(v))
		}
	})
}
