package intake

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Format is how a file holds its records.
type Format string

// The formats.
const (
	JSONLines Format = "jsonl" // one record a line
	JSONArray Format = "json"  // the elements of one array
	CSV       Format = "csv"   // a header row and one record a row (RFC 4180); the separator is looked for in the header
	TSV       Format = "tsv"   // CSV with tabs
)

// Formats lists every format.
func Formats() []Format { return []Format{JSONLines, JSONArray, CSV, TSV} }

// Stdin is the name that stands for standard input.
const Stdin = "-"

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	f := Format(strings.ToLower(name))
	if f == "ndjson" {
		f = JSONLines
	}
	if !slices.Contains(Formats(), f) {
		return "", fmt.Errorf("there is no input format %q; it is jsonl, json, csv or tsv", show(name))
	}
	return f, nil
}

// formatOf tells the format from a file's extension. Standard input has JSON Lines.
func formatOf(name string) (Format, error) {
	if name == Stdin {
		return JSONLines, nil
	}
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".jsonl", ".ndjson":
		return JSONLines, nil
	case ".json":
		return JSONArray, nil
	case ".csv":
		return CSV, nil
	case ".tsv":
		return TSV, nil
	case ".gz", ".zst", ".xz", ".bz2", ".zip":
		return "", errors.New("compressed files are not read; unpack it, or send it through standard input: " +
			"unpack it into a pipe, name the input - and give --format")
	case "":
		return "", errors.New("the name has no extension that tells the format; give --format jsonl, json, csv or tsv")
	default:
		return "", fmt.Errorf("the extension %q tells no format; give --format jsonl, json, csv or tsv", show(ext))
	}
}

// magicBytes is how many bytes of a file [refuse] looks at.
const magicBytes = 8

// refuse says why a file that begins so is not text in UTF-8, or nil.
func refuse(head []byte) error {
	for _, m := range []struct{ magic, what, do string }{
		{"\x1f\x8b", "compressed with gzip", "unpack it first (gunzip)"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it first (unzstd)"},
		{"\xfd7zXZ\x00", "compressed with xz", "unpack it first (unxz)"},
		{"BZh91AY", "compressed with bzip2", "unpack it first (bunzip2)"},
		{"PK\x03\x04", "a zip archive or a spreadsheet", "unpack it first, or save the spreadsheet as CSV"},
		{"PAR1", "a Parquet file", "write its rows as JSON Lines first"},
		{"\xff\xfe\x00\x00", "in UTF-32", "convert it first (iconv -f UTF-32 -t UTF-8)"},
		{"\x00\x00\xfe\xff", "in UTF-32", "convert it first (iconv -f UTF-32 -t UTF-8)"},
		{"\xff\xfe", "in UTF-16", "convert it first (iconv -f UTF-16 -t UTF-8)"},
		{"\xfe\xff", "in UTF-16", "convert it first (iconv -f UTF-16 -t UTF-8)"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return fmt.Errorf("the file is %s; %s", m.what, m.do)
		}
	}
	if len(head) >= 4 {
		text := func(c byte) bool { return c >= ' ' && c < 0x7f || isSpace(c) }
		if text(head[0]) && head[1] == 0 && text(head[2]) && head[3] == 0 {
			return errors.New("the file looks like UTF-16; convert it first (iconv -f UTF-16LE -t UTF-8)")
		}
		if head[0] == 0 && text(head[1]) && head[2] == 0 && text(head[3]) {
			return errors.New("the file looks like UTF-16; convert it first (iconv -f UTF-16BE -t UTF-8)")
		}
	}
	return nil
}
