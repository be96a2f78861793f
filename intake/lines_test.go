package intake

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLinesOfEveryOddKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an empty file has no records":               {"", []string{}},
		"white space alone is no record":             {" \n\t\r\n\n  ", []string{}},
		"a byte order mark is skipped":               {"\ufeff{\"a\":1}\n2", []string{`{"a":1}`, "2"}},
		"a mark further on is kept":                  {"1\n\ufeff2", []string{"1", "\ufeff2"}},
		"a file of nothing but a mark is empty":      {"\ufeff", []string{}},
		"carriage returns at line ends are dropped":  {"1\r\n2\r\n", []string{"1", "2"}},
		"one of two carriage returns is dropped":     {"1\r\r\n2", []string{"1\r", "2"}},
		"a carriage return within a line splits not": {"1\r2\n", []string{"1\r2"}},
		"a carriage return at the end is dropped":    {"1\r", []string{"1"}},
		"no line feed at the end":                    {"1\n2", []string{"1", "2"}},
		"empty lines are skipped":                    {"\n\n1\n\n \n2\n\n", []string{"1", "2"}},
		"white space around a record is kept":        {"  1  \n", []string{"  1  "}},
		"U+2028, U+2029 and NEL do not split":        {"\"a\u2028b\u2029c\u0085d\"\n2", []string{"\"a\u2028b\u2029c\u0085d\"", "2"}},
		"vertical tab and form feed do not split":    {"1\v2\f3\n", []string{"1\v2\f3"}},
		"NUL is kept":                                   {"\"a\x00b\"\n\x00\n", []string{"\"a\x00b\"", "\x00"}},
		"invalid UTF-8 is kept":                         {"{\"a\":\"\xff\xfe\x80\"}\n\xc3\n", []string{"{\"a\":\"\xff\xfe\x80\"}", "\xc3"}},
		"a truncated line stays with itself":            {"{\"a\":\n{\"b\":1}", []string{`{"a":`, `{"b":1}`}},
		"a lone surrogate is kept":                      {`"\ud800"` + "\n", []string{`"\ud800"`}},
		"numbers are kept as written":                   {"12345678901234567890\n1e999\n1.000\n-0", []string{"12345678901234567890", "1e999", "1.000", "-0"}},
		"the same record twice is two records":          {"1\n1\n", []string{"1", "1"}},
		"what looks like the end of a terminal is kept": {"\"\x1b[2J\"\n", []string{"\"\x1b[2J\""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRead(t, JSONLines, c.text, Options{})
			require.Equal(t, c.want, bodies(all))
			for _, m := range all {
				require.Nil(t, m.Dead)
				require.Empty(t, m.ID)
				require.EqualValues(t, sha256.Sum256(m.Body), m.Source.SourceHash)
				require.Equal(t, string(m.Body), c.text[m.Source.Offset:][:len(m.Body)])
				require.EqualValues(t, 1+strings.Count(c.text[:m.Source.Offset], "\n"), m.Source.Line)
			}
		})
	}
}

func TestALineBeyondTheLimitIsSetAsideByItsHead(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	giant := io.MultiReader(strings.NewReader("1\n{\"id\":\"big\",\"x\":\""), &repeated{'x', size}, strings.NewReader("\"}\r\n{\"id\":\"next\"}\n"))
	r, err := NewReader("big.jsonl", giant, 0, Options{ID: "/id"})
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err)
	m, err := r.Next()
	require.NoError(t, err)

	sum := sha256.New()
	io.WriteString(sum, "{\"id\":\"big\",\"x\":\"")
	io.Copy(sum, &repeated{'x', size})
	io.WriteString(sum, "\"}")
	require.Equal(t, "big", m.ID)
	require.Len(t, m.Body, 64<<10)
	require.Equal(t, siding.CauseBodyTooLarge, m.Dead.Cause)
	require.EqualValues(t, sum.Sum(nil), m.Source.SourceHash[:])
	for _, part := range []string{fmt.Sprint(size + 19), fmt.Sprintf("%x", sum.Sum(nil)), "line 2, byte 2", "big.jsonl"} {
		require.Contains(t, m.Dead.Error(), part)
	}
	m, err = r.Next()
	require.NoError(t, err)
	require.Equal(t, "next", m.ID)
	require.EqualValues(t, 3, m.Source.Line)
}

func TestTheLimitIsTheLongestRecordTakenWhole(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{JSONLines, JSONArray} {
		for _, end := range []string{"\n", "\r\n", ""} {
			for _, chunk := range []int{1, 3, 1000} {
				text := `"12345678"` + end
				if format == JSONArray {
					text = "[" + text + "  ]"
				}
				read := func(limit int64) siding.NewMessage {
					r, err := NewReader("x", &slowly{text, chunk}, 0, Options{Format: format, MaxBody: limit})
					require.NoError(t, err)
					m, err := r.Next()
					require.NoError(t, err)
					_, err = r.Next()
					require.ErrorIs(t, err, io.EOF)
					return m
				}
				whole, cut := read(10), read(9)
				require.Nil(t, whole.Dead)
				require.Equal(t, `"12345678"`, string(whole.Body))
				require.Equal(t, siding.CauseBodyTooLarge, cut.Dead.Cause)
				require.Equal(t, `"12345678`, string(cut.Body))
				require.Equal(t, whole.Source.SourceHash, cut.Source.SourceHash, "the hash is of the whole record")
			}
		}
	}
}

// The bytes of the records and what stands between them are the file, whatever it holds and however it arrives.
func TestLinesAreTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := hostileText().Draw(t, "text")
		r, err := NewReader("x", &slowly{text, rapid.IntRange(1, 9).Draw(t, "chunk")}, 0, Options{Format: JSONLines})
		if err != nil {
			require.Error(t, refuse([]byte(text)))
			return
		}
		at := 0
		if strings.HasPrefix(text, "\ufeff") {
			at = 3
		}
		for {
			m, err := r.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			from := int(m.Source.Offset)
			require.Empty(t, strings.Trim(text[at:from], " \t\r\n"), "between records there is nothing but white space")
			at = from + len(m.Body)
			require.Equal(t, text[from:at], string(m.Body))
			require.NotContains(t, string(m.Body), "\n")
		}
		require.Empty(t, strings.Trim(text[at:], " \t\r\n"))
	})
}

// hostileText draws texts of the bytes that mean something to a scanner, and of some that do not.
func hostileText() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"\n", "\r", "\r\n", " ", "\t", "\"", "\\", "\\\"", "{", "}", "[", "]", ",", ";", ":", "1", "null", "true", "-1e9", "é", "\xff", "\x00",
		"\u2028", "\ufeff", `"id"`, `"id":`, `"id":1`, `{"id":"a"}`, `\u0069`, `\ud800`, `""`, "/",
	})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 40).Draw(t, "words"), "") })
}
