package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// writeJSON writes v as one line of JSON that is valid UTF-8, and that neither a terminal nor a reader that splits lines
// on more than \n acts on: characters that they know are written as escapes, which mean the same in JSON.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeLine(b.Bytes()))
	return err
}

// escapeLine replaces what [siding.Scrub] would keep from a terminal by escapes: DEL, the C1 controls (NEL is among them),
// the Unicode line separators, what turns the direction of text, and the byte order mark. In JSON they stand in strings
// only. (The controls of ASCII, and invalid UTF-8, are no longer there.)
func escapeLine(line []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(line); {
		if !leadsUnsafe(line[i]) {
			i++
			continue
		}
		r, n := utf8.DecodeRune(line[i:])
		if text := string(r); siding.Scrub(text, 0) != text {
			out = fmt.Appendf(append(out, line[done:i]...), `\u%04x`, r)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return line
	}
	return append(out, line[done:]...)
}

// leadsUnsafe tells whether an unsafe character can begin with c: DEL, or the lead byte of one beyond ASCII.
func leadsUnsafe(c byte) bool {
	return c == 0x7f || c == 0xc2 || c == 0xd8 || c == 0xe2 || c == 0xef
}

// usd is an amount of money as a JSON number, exact to the last of its twelve decimals.
type usd siding.Money

// MarshalJSON writes the amount without going through a float.
func (m usd) MarshalJSON() ([]byte, error) {
	neg, n := "", uint64(m)
	if m < 0 {
		neg, n = "-", -n
	}
	s := fmt.Sprintf("%s%d.%012d", neg, n/uint64(siding.USD), n%uint64(siding.USD))
	return []byte(strings.TrimSuffix(strings.TrimRight(s, "0"), ".")), nil
}

// stamp is a time in JSON: RFC 3339 in UTC with microseconds, null for the zero time.
type stamp time.Time

// MarshalJSON writes the time.
func (t stamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(strconv.Quote(time.Time(t).UTC().Format("2006-01-02T15:04:05.000000Z07:00"))), nil
}

// rawJSON gives bytes that are a JSON value as they are, and for others nil and the bytes in base64. No bytes are neither.
func rawJSON(b []byte) (raw json.RawMessage, inBase64 string) {
	switch {
	case len(b) == 0:
		return nil, ""
	case utf8.Valid(b) && json.Valid(b):
		return json.RawMessage(b), ""
	}
	return nil, base64.StdEncoding.EncodeToString(b)
}

// textOrBase64 gives bytes as text where they are one, and otherwise in base64.
func textOrBase64(b []byte) (text *string, inBase64 string) {
	if !utf8.Valid(b) {
		return nil, base64.StdEncoding.EncodeToString(b)
	}
	s := string(b)
	return &s, ""
}

// table writes rows in columns. Cells are scrubbed to one line each, so that no text from outside moves the cursor.
type table struct {
	tw *tabwriter.Writer
}

func newTable(w io.Writer, head ...string) *table {
	t := &table{tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)}
	cells := make([]any, len(head))
	for i, h := range head {
		cells[i] = h
	}
	t.row(cells...)
	return t
}

func (t *table) row(cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		text[i] = oneLine(fmt.Sprint(c), 200)
	}
	_, _ = fmt.Fprintln(t.tw, strings.TrimRight(strings.Join(text, "\t"), "\t"))
}

func (t *table) flush() error { return t.tw.Flush() }

// oneLine makes a text safe for one line or a cell of a table, cut between runes to at most limit bytes.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(siding.Scrub(s, max(siding.MaxErrorText, 2*limit))), " ")
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	return strings.ToValidUTF8(s[:limit-len(mark)], "") + mark
}

// when shows a time for people, in the local zone.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// dollars shows money for people: with as many decimals as small amounts need.
func dollars(m siding.Money) string {
	if m > -siding.USD && m < siding.USD {
		return fmt.Sprintf("$%.4f", m.Dollars())
	}
	return fmt.Sprintf("$%.2f", m.Dollars())
}

// counted gives "1 message", "2 messages".
func counted(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
