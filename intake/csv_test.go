package intake

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCSVOfEveryOddKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an empty file has no records":             {"", []string{}},
		"nor has a header alone":                   {"a,b\n", []string{}},
		"records in the order of the header":       {"b,a\n1,x\n2,y", []string{`{"b":"1","a":"x"}`, `{"b":"2","a":"y"}`}},
		"a byte order mark is skipped":             {"\ufeffa,b\r\n1,2\r\n", []string{`{"a":"1","b":"2"}`}},
		"quotes, separators and line feeds":        {"a,b\n\"x \"\"y\"\"\",\"1,2\n3\r\n4\"\n5,\"\"\n", []string{`{"a":"x \"y\"","b":"1,2\n3\r\n4"}`, `{"a":"5","b":""}`}},
		"spaces belong to the fields":              {"a,b\n 1 , 2\n", []string{`{"a":" 1 ","b":" 2"}`}},
		"empty lines are skipped":                  {"\n\na,b\n\n1,2\n \n", []string{`{"a":"1","b":"2"}`}},
		"an empty field in quotes is a record":     {"a\n\"\"\n\nx\n", []string{`{"a":""}`, `{"a":"x"}`}},
		"texts stay texts":                         {"a\n1e999\nnull\ntrue\n", []string{`{"a":"1e999"}`, `{"a":"null"}`, `{"a":"true"}`}},
		"NUL and other control bytes are escaped":  {"a\nx\x00\x01\ty\n", []string{`{"a":"x\u0000\u0001\ty"}`}},
		"U+2028 does not split":                    {"a\nx\u2028y\u0085\n", []string{"{\"a\":\"x\u2028y\u0085\"}"}},
		"semicolons by the header":                 {"a;b\n1,5;2\n", []string{`{"a":"1,5","b":"2"}`}},
		"tabs by the header":                       {"a\tb\n1\t2\n\t\n", []string{`{"a":"1","b":"2"}`, `{"a":"","b":""}`}},
		"a comma where the header has two kinds":   {"a;x,b\n1,2\n", []string{`{"a;x":"1","b":"2"}`}},
		"separators in quotes do not count":        {"\"a,x\";\"b\ny\"\n1;2\n", []string{`{"a,x":"1","b\ny":"2"}`}},
		"a carriage return alone ends no row":      {"a\n1\r2\n", []string{`{"a":"1\r2"}`}},
		"markup is written as it is":               {"a\n<b>&amp;\n", []string{`{"a":"<b>&amp;"}`}},
		"names in the header are escaped":          {"\"a\"\"\\\"\n1\n", []string{`{"a\"\\":"1"}`}},
		"a quoted field at the end without a feed": {"a\n\"x\"\r", []string{`{"a":"x"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRead(t, CSV, c.text, Options{})
			require.Equal(t, c.want, bodies(all))
			for _, m := range all {
				require.Nil(t, m.Dead)
				require.Empty(t, m.ID)
				require.Empty(t, m.ContentType)
				require.True(t, json.Valid(m.Body))
				require.EqualValues(t, 1+strings.Count(c.text[:m.Source.Offset], "\n"), m.Source.Line)
			}
		})
	}
}

func TestSeparatorsByOptionAndFormat(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{`{"a,b":"1,2"}`}, bodies(mustRead(t, CSV, "a,b\n1,2\n", Options{Separator: ';'})))
	require.Equal(t, []string{`{"a,b":"1,2"}`}, bodies(mustRead(t, TSV, "a,b\n1,2\n", Options{})))
	_, err := NewReader("x.csv", strings.NewReader(""), 0, Options{Separator: '|'})
	require.ErrorContains(t, err, "comma, semicolon or tab")
}

func TestABrokenRowIsSetAsideWithItsExactBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows string
		dead []string // the bodies that are set aside
		good []string // the IDs of the others
		text string
		at   int64
	}{
		"a field too few":            {"1,x\n2,x,y\n", []string{"1,x"}, []string{"2"}, "the row has 2 fields, and the header has 3", 3},
		"a field too many":           {"1,x,y,z\r\n2,x,y\n", []string{"1,x,y,z"}, []string{"2"}, "the row has 4 fields", 6},
		"a quote in a plain field":   {"1,x\"y,\"z\nz\"\n2,x,y\n", []string{"1,x\"y,\"z\nz\""}, []string{"2"}, "does not begin with one", 3},
		"text behind a closed field": {"1,\"x\"y,z\n2,x,y\n", []string{"1,\"x\"y,z"}, []string{"2"}, "text follows the quote", 5},
		"a stray quote opens a field that a later line seems to close": {"1,x,\"y\n2,x,y\n3,x,\"z\"\n4,x,y\n", []string{"1,x,\"y"}, []string{"2", "3", "4"}, "a field begins with a quote", 4},
		"a quote that nothing closes":                                  {"1,x,\"y\n2,x,y\n3,x,y", []string{"1,x,\"y"}, []string{"2", "3"}, "a field begins with a quote", 4},
		"an inch mark":                                                 {"1,\"5\" pipe\",z\n2,x,y\n", []string{"1,\"5\" pipe\",z"}, []string{"2"}, "text follows the quote", 5},
		"the last line is not closed":                                  {"1,x,y\n2,x,\"y", []string{"2,x,\"y"}, []string{"1"}, "a field begins with a quote", 4},
		"behind a field of many lines":                                 {"1,\"x\nx\",\"y\n2,x,y\n", []string{"1,\"x\nx\",\"y"}, []string{"2"}, "a field begins with a quote", 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "id,b,c\n" + c.rows
			for chunk := 1; chunk < 12; chunk += 2 {
				r, err := NewReader("x.csv", &slowly{text, chunk}, 0, Options{ID: "/id"})
				require.NoError(t, err)
				dead, good := []string{}, []string{}
				for {
					m, err := r.Next()
					if err == io.EOF {
						break
					}
					require.NoError(t, err)
					require.EqualValues(t, 1+strings.Count(text[:m.Source.Offset], "\n"), m.Source.Line)
					if m.Dead == nil {
						good = append(good, m.ID)
						continue
					}
					dead = append(dead, string(m.Body))
					require.Equal(t, string(m.Body), text[m.Source.Offset:][:len(m.Body)])
					require.Equal(t, siding.CauseInvalidCSV, m.Dead.Cause)
					require.Equal(t, "text/csv", m.ContentType)
					require.ErrorContains(t, m.Dead, c.text)
					require.Equal(t, c.at, *m.Dead.FaultOffset)
					require.Contains(t, []string{"1", "2"}, m.ID, "the first column stands before every fault")
				}
				require.Equal(t, c.dead, dead)
				require.Equal(t, c.good, good)
			}
		})
	}
}

func TestEventIDsOfRows(t *testing.T) {
	t.Parallel()
	all := mustRead(t, CSV, "x,id\n1,a\n2,\n3\n\"4\"z,d\n5,\"e\"z\n\xff,f\n7,\xff\n8,\x1b\n", Options{ID: "/id"})
	hash := func(i int) string { return siding.RecordID(all[i].Source.SourceHash, 0) }
	require.Equal(t, []string{"a", hash(1), hash(2), hash(3), hash(4), "f", hash(6), hash(7)}, ids(all),
		"a row that is set aside keeps its own ID where that stands before the fault")
	require.Equal(t, []siding.Cause{
		"", siding.CauseInvalidID, siding.CauseInvalidCSV, siding.CauseInvalidCSV, siding.CauseInvalidCSV,
		siding.CauseInvalidUTF8, siding.CauseInvalidUTF8, siding.CauseInvalidID,
	}, causes(all))
	require.Equal(t, "\xff,f", string(all[5].Body))
	require.EqualValues(t, 0, *all[5].Dead.FaultOffset)
	require.EqualValues(t, 2, *all[6].Dead.FaultOffset)
	require.Equal(t, `{"x":"2","id":""}`, string(all[1].Body))
}

func TestAHeaderThatCannotServeIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a,b,a\n":           `in.csv: line 1, byte 0: columns 1 and 3 have the same name "a"`,
		"\na,,b\n":          "in.csv: line 2, byte 1: column 2 has no name",
		"a, \n":             "column 2 has no name",
		"a,\"b\n":           "cannot be taken apart: byte 2: a field begins with a quote",
		"a,b\"c\n":          "cannot be taken apart: byte 3: a quote stands in a field",
		"a,\xff\n":          "column 2 in the header is not valid UTF-8",
		"a,b\n1,2":          "found at /id, and the header has no such column; it has a, b",
		"a\x1b[2J,a\x1b[2J": `name "a\\x1b[2J"`,
	} {
		_, err := readAll(t, CSV, text, Options{ID: "/id"})
		require.ErrorContains(t, err, want)
	}
	_, err := readAll(t, CSV, strings.Repeat("a", 2<<20), Options{})
	require.ErrorContains(t, err, "does the file have a header?")
	_, err = readAll(t, CSV, "id\n", Options{ID: "/id/x"})
	require.ErrorContains(t, err, "the header has no such column")
}

func TestRowsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", 400_000)
	r, err := NewReader("x.csv", io.MultiReader(
		strings.NewReader("id,x\n1,"+pad+"\r\n2,\""), &repeated{'y', 1 << 20}, strings.NewReader("\"\n3,z\n4,\"never closed\n"),
		strings.NewReader(strings.Repeat("5,"+pad[:1000]+"\n", 1000)+"6,"+strings.Repeat("\x01", 50_000)+"\n7,ok\n"),
	), 0, Options{ID: "/id", MaxBody: 200_000})
	require.NoError(t, err)
	got := map[string]siding.Cause{}
	fives := 0
	for {
		m, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if m.ID == "5" {
			fives++
			require.Nil(t, m.Dead)
			continue
		}
		got[m.ID] = ""
		if m.Dead != nil {
			got[m.ID] = m.Dead.Cause
		}
		if m.ID == "1" {
			require.Len(t, m.Body, 64<<10)
			require.ErrorContains(t, m.Dead, "the record has 400002 bytes")
		}
	}
	require.Equal(t, 1000, fives, "a quote that is never closed takes no other row with it")
	require.Equal(t, map[string]siding.Cause{
		"1": siding.CauseBodyTooLarge, "2": siding.CauseBodyTooLarge, "3": "", "4": siding.CauseInvalidCSV,
		"6": siding.CauseBodyTooLarge, "7": "",
	}, got)
}

// What Go's reader accepts is read alike; what stands in the file is in the records, whatever it is.
func TestRowsAgreeWithEncodingCSV(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkCSV(t, "a,b\n"+hostileText().Draw(t, "text"), rapid.IntRange(1, 9).Draw(t, "chunk"))
	})
}

func checkCSV(t require.TestingT, text string, chunk int) {
	r, err := NewReader("x.csv", &slowly{text, chunk}, 0, Options{Separator: ','})
	require.NoError(t, err)
	at := strings.IndexByte(text, '\n')
	dead := false
	var got [][]string
	for {
		m, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		from := int(m.Source.Offset)
		require.Empty(t, strings.Trim(text[at:from], " \t\r\n"))
		at = from
		if m.Dead != nil {
			dead = true
			at += len(m.Body)
			require.Equal(t, text[from:at], string(m.Body))
			continue
		}
		var fields struct{ A, B string }
		require.NoError(t, json.Unmarshal(m.Body, &fields))
		got = append(got, []string{fields.A, fields.B})
		at = rowEnd(text, from)
	}
	require.Empty(t, strings.Trim(text[at:], " \t\r\n"))
	if strings.Contains(text, "\r") || dead {
		return // Go's reader changes carriage returns, and stops at the first fault
	}
	reader := csv.NewReader(strings.NewReader(text))
	want, err := reader.ReadAll()
	if err == nil {
		require.Equal(t, want[1:], append([][]string{}, got...))
	}
}

// rowEnd gives where a sound row ends.
func rowEnd(text string, from int) int {
	quoted := false
	for i := from; i < len(text); i++ {
		if text[i] == '"' {
			quoted = !quoted
		} else if text[i] == '\n' && !quoted {
			return i
		}
	}
	return len(text)
}
