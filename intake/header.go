package intake

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// maxHeader is the longest header row, in bytes.
const maxHeader = 1 << 20

// header is the first row of a CSV file: the names of its columns.
type header struct {
	names []string
	keys  [][]byte // the names as JSON writes them, each with its colon
	id    int      // the column of the event ID; -1: none
}

// sniffBytes is how much of a file is searched for a separator, in bytes.
const sniffBytes = 64 << 10

// sniff finds the separator: the one of comma, semicolon and tab that stands in the first line outside quotes. Where
// none or several do, it is the comma.
func sniff(text []byte) byte {
	found := byte(0)
	quoted := false
	for _, c := range bytes.TrimLeft(text, " \r\n") {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted, c != ',' && c != ';' && c != '\t' && c != '\n':
		case c == '\n' && found != 0:
			return found
		case c == '\n', found != 0 && found != c:
			return ','
		default:
			found = c
		}
	}
	if found == 0 {
		return ','
	}
	return found
}

func newHeader(row *csvRow, p piece, id Pointer) (header, error) {
	if !p.whole {
		return header{}, fmt.Errorf("the header row has %d bytes, and %d are allowed; does the file have a header?", p.size, maxHeader)
	}
	if row.fault != nil {
		return header{}, fmt.Errorf("the header row cannot be taken apart: byte %d: %w", row.at, row.fault)
	}
	h := header{id: -1}
	columns := map[string]int{}
	for i, field := range row.fields {
		name := string(field)
		switch first, twice := columns[name]; {
		case !utf8.ValidString(name):
			return header{}, fmt.Errorf("the name of column %d in the header is not valid UTF-8; convert the file to UTF-8", i+1)
		case strings.TrimSpace(name) == "":
			return header{}, fmt.Errorf("column %d has no name in the header; give it one, or take the column out", i+1)
		case twice:
			return header{}, fmt.Errorf("columns %d and %d have the same name %q in the header; rename one", first, i+1, show(name))
		}
		columns[name] = i + 1
		h.names = append(h.names, name)
		h.keys = append(h.keys, append(appendQuoted(nil, field), ':'))
	}
	if !id.IsZero() {
		if h.id = columns[id.tokens[0].name] - 1; h.id < 0 || len(id.tokens) > 1 {
			return header{}, fmt.Errorf("the event ID is to be found at %s, and the header has no such column; it has %s",
				show(id.String()), h.list())
		}
	}
	return h, nil
}

// list names the columns, the first of them where there are many.
func (h header) list() string {
	var shown []string
	for i, name := range h.names {
		if i == 20 {
			shown = append(shown, fmt.Sprintf("and %d more", len(h.names)-i))
			break
		}
		shown = append(shown, show(name))
	}
	return strings.Join(shown, ", ")
}

// object writes a row as a JSON object of strings, or says why it cannot be one.
func (h header) object(row *csvRow, raw []byte, limit int64) ([]byte, *siding.Failure) {
	if row.fault != nil {
		return nil, setAside(siding.CauseInvalidCSV, row.fault, int64(row.at))
	}
	if have, want := len(row.fields), len(h.names); have != want {
		// Which field is missing or too many, nobody knows; all but the first may stand in the wrong column.
		row.intact = min(row.intact, 1)
		at := len(raw)
		if have > want {
			at = row.starts[want]
		}
		return nil, setAside(siding.CauseInvalidCSV, fmt.Errorf("the row has %d fields, and the header has %d; is a field with a "+
			"separator in it not in quotes?", have, want), int64(at))
	}
	if at := invalidUTF8(raw); at >= 0 {
		return nil, setAside(siding.CauseInvalidUTF8, errors.New("the row is not valid UTF-8"), int64(at))
	}
	out := make([]byte, 0, len(raw)+h.size()+3*len(h.names)+2)
	for i, field := range row.fields {
		out = append(out, ',')
		out = append(out, h.keys[i]...)
		out = appendQuoted(out, field)
		if int64(len(out)) > limit {
			return nil, setAside(siding.CauseBodyTooLarge, fmt.Errorf("the row has %d bytes and would have more than the %d that are "+
				"allowed (max_body) as JSON; the first %d of the row are kept here", len(raw), limit, min(len(raw), headBytes)), -1)
		}
	}
	out[0] = '{'
	return append(out, '}'), nil
}

func (h header) size() int {
	n := 0
	for _, key := range h.keys {
		n += len(key)
	}
	return n
}

// identify gives a row its event ID, as the function of the same name does for JSON. A row that is set aside keeps its
// own where that stands before the fault.
func (h header) identify(m *siding.NewMessage, row *csvRow) {
	if h.id < 0 {
		return
	}
	unfit := "is not there"
	if h.id < row.intact {
		id := fit(bytes.Clone(row.fields[h.id]), 0)
		if id.ok {
			m.ID = string(id.text)
			return
		}
		unfit = id.unfit
	}
	m.ID = siding.RecordID(m.Source.SourceHash, 0)
	if m.Dead == nil {
		m.Dead = invalidID(fmt.Errorf("the event ID in column %s %s", show(h.names[h.id]), unfit), -1)
	}
}

// invalidUTF8 gives the place of the first byte that is no UTF-8, or -1.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
