package intake

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSeveralFilesAreOneInput(t *testing.T) {
	t.Parallel()
	a, b, c := write(t, "a.jsonl", "1\n2"), write(t, "b.JSON", "[3,\n4]"), write(t, "c.csv", "x\n5\n")
	empty := write(t, "empty.ndjson", "")
	in, err := Open([]string{a, empty, b, "-", c}, Options{Stdin: strings.NewReader("6\n")})
	require.NoError(t, err)
	var all []siding.NewMessage
	for m, err := range in.All() {
		require.NoError(t, err)
		all = append(all, m)
	}
	require.Equal(t, []string{"1", "2", "3", "4", "6", `{"x":"5"}`}, bodies(all))
	for i, m := range all {
		require.EqualValues(t, i, m.Source.Ordinal)
	}
	require.Equal(t, []string{a, a, b, b, "-", c}, []string{
		all[0].Source.File, all[1].Source.File, all[2].Source.File, all[3].Source.File, all[4].Source.File, all[5].Source.File,
	})
	require.EqualValues(t, 2, all[3].Source.Line)
	read, total := in.Progress()
	require.EqualValues(t, 15, read)
	require.EqualValues(t, -1, total, "nobody knows how long standard input is")
	_, err = in.Next()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, in.Close())
}

func TestFilesAreLookedAtBeforeTheFirstIsRead(t *testing.T) {
	t.Parallel()
	good := write(t, "a.jsonl", "1\n")
	for name, c := range map[string]struct {
		names []string
		o     Options
		err   string
	}{
		"no name":              {nil, Options{}, "no input is named"},
		"a missing file":       {[]string{good, "no\x1bsuch.jsonl"}, Options{}, `no\x1bsuch.jsonl: stat: no such file`},
		"a directory":          {[]string{good, t.TempDir()}, Options{Format: JSONLines}, "it is a directory"},
		"no extension":         {[]string{good, "data"}, Options{}, "data: the name has no extension"},
		"another extension":    {[]string{good, "data.xml"}, Options{}, `the extension ".xml" tells no format`},
		"a packed file":        {[]string{good, "data.jsonl.gz"}, Options{}, "compressed files are not read"},
		"standard input twice": {[]string{"-", "-"}, Options{}, "standard input is named twice"},
		"a bad pointer":        {[]string{good}, Options{ID: "id"}, `did you mean "/id"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(c.names, c.o)
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestFilesThatAreNoTextInUTF8AreRefused(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"\xff\xfe{\x00":                 "in UTF-16; convert it first",
		"\xfe\xff\x00{":                 "in UTF-16; convert it first",
		"\xff\xfe\x00\x00{\x00\x00\x00": "in UTF-32",
		"{\x00\"\x00":                   "looks like UTF-16",
		"\x00[\x00{":                    "looks like UTF-16",
		"\x1f\x8b\x08\x00":              "compressed with gzip; unpack it first",
		"\x28\xb5\x2f\xfd":              "compressed with zstd",
		"PK\x03\x04":                    "a zip archive or a spreadsheet",
	} {
		for _, format := range Formats() {
			_, err := readAll(t, format, head, Options{})
			require.ErrorContains(t, err, "in."+string(format)+": the file ")
			require.ErrorContains(t, err, want)
		}
	}
}

func TestStandardInputThatMayBeAnArrayIsAskedAbout(t *testing.T) {
	t.Parallel()
	open := func(o Options) (*Reader, error) { return NewReader("-", strings.NewReader("\n[1]\n"), 0, o) }
	_, err := open(Options{})
	require.ErrorContains(t, err, "standard input: it begins with [")
	for format, want := range map[Format]string{JSONLines: "[1]", JSONArray: "1"} {
		r, err := open(Options{Format: format})
		require.NoError(t, err)
		m, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, want, string(m.Body))
	}
}

func TestAFileThatCannotBeReadFurtherSaysWhere(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	for _, format := range Formats() {
		text := map[Format]string{JSONLines: "1\n2", JSONArray: "[1,\n2", CSV: "a\n2", TSV: "a\n2"}[format]
		r, err := NewReader("x", io.MultiReader(strings.NewReader(text), &failing{broken}), 0, Options{Format: format})
		require.NoError(t, err)
		for err == nil {
			_, err = r.Next()
		}
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "x: line 2, byte ")
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestBodiesAreSafeToKeep(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{JSONLines, JSONArray, CSV} {
		text := strings.Repeat("aaaa\n", 10_000) + strings.Repeat("bbbb\n", 60_000)
		if format == JSONArray {
			text = "[" + strings.ReplaceAll(text, "\n", ",") + "]"
		}
		all := mustRead(t, format, text, Options{})
		first := string(all[0].Body)
		_ = append(all[0].Body, "xxxxxxxx"...)
		for _, m := range all[1:9_000] {
			if string(m.Body) != first {
				require.Equal(t, first, string(m.Body))
			}
		}
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	text := []byte("ab\ncä\xffd\n")
	for offset, want := range map[int64][2]int64{
		-1: {1, 1}, 0: {1, 1}, 2: {1, 3}, 3: {2, 1}, 6: {2, 3}, 7: {2, 4}, 9: {3, 1}, 99: {3, 1},
	} {
		line, column := Locate(text, offset)
		require.Equal(t, want, [2]int64{line, column}, "offset %d", offset)
	}
}

func TestFormatsByName(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		got, err := ParseFormat(strings.ToUpper(string(f)))
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	f, err := ParseFormat("ndjson")
	require.NoError(t, err)
	require.Equal(t, JSONLines, f)
	_, err = ParseFormat("xml")
	require.ErrorContains(t, err, `there is no input format "xml"`)
}
