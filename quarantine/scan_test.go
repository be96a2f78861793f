package quarantine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzTheScannerTakesWhatEncodingJSONTakes(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e+3,true,null,"x\u00e4\n"],"b":{}}`, `[]`, ` "a" `, `{"a":1,}`, `[1,]`, `[01]`, `[-]`, `[1.]`, `[10.`, `tru`, `nullx`,
		`{"a" 1}`, `{"a":}`, "\"\xff\"", "\"\n\"", `"\x"`, `"\u12"`, `"\u12g4"`, "", "  ", "[", "{\"a\":\"b", "\xef\xbb\xbf{}", `[1 2]`, `{,}`, `[,]`, `1 2`, `"\u+123"`,
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fault := syntax(b)
		require.Equal(t, json.Valid(b), fault == nil, "%q: %+v", b, fault)
		if fault != nil {
			require.True(t, fault.at >= 0 && fault.at <= len(b))
			require.NotEmpty(t, fault.code)
			require.NotEmpty(t, fault.text)
		}
	})
}

func TestWhatIsWrongWithJSONIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, code string
		at         int
	}{
		{"", codeEmpty, 0},
		{" \n", codeEmpty, 0},
		{"\xef\xbb\xbf{}", codeBOM, 0},
		{`{"a":1`, codeEnd, 6},
		{`{"a":`, codeEnd, 5},
		{`{"a"`, codeEnd, 4},
		{`[1,`, codeEnd, 3},
		{`[tru`, codeEnd, 1},
		{`[-`, codeEnd, 1},
		{`{"a":"x`, codeOpenText, 5},
		{`{"a":"x\`, codeOpenText, 5},
		{`{"a":"x\u12`, codeOpenText, 5},
		{"[\"a\nb\"]", codeNewline, 3},
		{"[\"a\x00b\"]", codeControl, 3},
		{`["C:\Pictures"]`, codeBadEscape, 4},
		{`["\u12g4"]`, codeBadEscape, 2},
		{`["a "b" c"]`, codeQuote, 5},
		{`[1 2]`, codeMissingComma, 3},
		{`[1}`, codeMismatch, 2},
		{`{"a":1]`, codeMismatch, 6},
		{`[1,]`, codeTrailingComma, 2},
		{`{"a":1 , }`, codeTrailingComma, 7},
		{`[1,,2]`, codeExtraComma, 3},
		{`{,}`, codeExtraComma, 1},
		{`{'a':1}`, codeSingleQuote, 1},
		{`['a']`, codeSingleQuote, 1},
		{`{a:1}`, codeUnquotedKey, 1},
		{`[NaN]`, codeNaN, 1},
		{`[-Infinity]`, codeBadNumber, 1},
		{`[01]`, codeBadNumber, 1},
		{`[.5]`, codeBadNumber, 1},
		{`[True]`, codeBadLiteral, 1},
		{`[1] // no`, codeTrailing, 4},
		{`[1, // no
2]`, codeComment, 4},
		{`{"a" 1}`, codeMissingColon, 5},
		{`{}{}`, codeTrailing, 2},
		{strings.Repeat("[", 1_000_000), codeTooDeep, maxDepth},
	} {
		f := syntax([]byte(c.body))
		require.NotNil(t, f, c.body)
		require.Equal(t, c.code, f.code, "%s: %s", clip([]byte(c.body), 40), f.text)
		require.Equal(t, c.at, f.at, "%s", clip([]byte(c.body), 40))
	}
}

func TestTheScannerKnowsWhereItIs(t *testing.T) {
	t.Parallel()
	var at []string
	require.Nil(t, walk([]byte(`{"a":[1,{"b/c":"x"}],"~":[],"\u0041":null}`), func(s *scanner, tok token) bool {
		if tok.kind >= kindString {
			at = append(at, *s.pointer())
		}
		return true
	}))
	require.Equal(t, []string{"/a/0", "/a/1/b~1c", "/A"}, at)
}
