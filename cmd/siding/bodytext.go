package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bodyShown is how much of a body is shown without --full, in bytes; around a known fault as much again.
const bodyShown = 4 << 10

// writeBody shows bytes from outside to a person. Bytes that are not UTF-8 and control characters are written as \xNN
// and \uNNNN, highlighted where colours are allowed, so that nothing is sent that a terminal acts on.
func writeBody(w io.Writer, body []byte, fault *int64, full, colour bool) {
	if full || len(body) <= bodyShown {
		writeText(w, body, 0, fault, colour)
		_, _ = fmt.Fprintln(w)
		return
	}
	head := cutRune(body, bodyShown)
	writeText(w, head, 0, fault, colour)
	shown := len(head)
	if fault != nil && *fault >= int64(len(head)) && *fault < int64(len(body)) {
		from := max(int(*fault)-bodyShown/2, len(head))
		for from > len(head) && !utf8.RuneStart(body[from]) {
			from--
		}
		part := cutRune(body[from:], bodyShown)
		_, _ = fmt.Fprintf(w, "\n… %d bytes left out …\n", from-len(head))
		writeText(w, part, int64(from), fault, colour)
		shown = from + len(part)
	}
	if rest := len(body) - shown; rest > 0 {
		_, _ = fmt.Fprintf(w, "\n… %d bytes left out; --full shows them …", rest)
	}
	_, _ = fmt.Fprintln(w)
}

// cutRune gives at most n bytes of the beginning of b, ending between runes.
func cutRune(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return b[:i]
		}
	}
	return b[:n]
}

// writeText writes b, which begins at offset at of the body.
func writeText(w io.Writer, b []byte, at int64, fault *int64, colour bool) {
	var s strings.Builder
	mark := func(text string, isFault bool) {
		switch {
		case !colour:
			s.WriteString(text)
		case isFault:
			s.WriteString("\x1b[1;7;31m" + text + "\x1b[0m")
		default:
			s.WriteString("\x1b[7m" + text + "\x1b[0m")
		}
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		isFault := fault != nil && *fault >= at+int64(i) && *fault < at+int64(i+n)
		switch {
		case r == utf8.RuneError && n == 1:
			mark(fmt.Sprintf(`\x%02x`, b[i]), isFault)
		case r == '\n' || r == '\t':
			s.WriteRune(r)
		case unicode.IsControl(r) && r < 0x80:
			mark(fmt.Sprintf(`\x%02x`, r), isFault)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\u2028' || r == '\u2029':
			mark(fmt.Sprintf(`\u%04x`, r), isFault)
		case isFault:
			mark(string(r), true)
		default:
			s.Write(b[i : i+n])
		}
		i += n
	}
	_, _ = io.WriteString(w, s.String())
}

// writeHex shows bytes as a hex dump, whole or its beginning and what lies around the fault.
func writeHex(w io.Writer, body []byte, fault *int64, full bool) {
	const shown = 1 << 10
	if full || len(body) <= shown {
		hexLines(w, body, 0)
		return
	}
	hexLines(w, body[:shown], 0)
	end := shown
	if fault != nil && *fault >= shown && *fault < int64(len(body)) {
		from := max(int(*fault)&^15-shown/2, shown)
		end = min(from+shown, len(body))
		if from > shown {
			_, _ = fmt.Fprintf(w, "… %d bytes left out …\n", from-shown)
		}
		hexLines(w, body[from:end], from)
	}
	if rest := len(body) - end; rest > 0 {
		_, _ = fmt.Fprintf(w, "… %d bytes left out; --full shows them …\n", rest)
	}
}

// hexLines writes sixteen bytes to a line, in the form of hexdump -C.
func hexLines(w io.Writer, b []byte, at int) {
	for i := 0; i < len(b); i += 16 {
		row := b[i:min(i+16, len(b))]
		dump := hex.Dump(row) // its own offset starts at 0 for each row
		_, _ = fmt.Fprintf(w, "%08x%s", at+i, dump[8:])
	}
}

// excerptShown is how much of a body an excerpt shows before and behind a fault, in bytes.
const excerptShown = 40

// excerpt shows on one line what lies around a fault, which is highlighted or stands between » and «; empty where the
// place is not in the body.
func excerpt(body []byte, fault int64, colour bool) string {
	if fault < 0 || fault > int64(len(body)) {
		return ""
	}
	at := int(fault)
	from := max(at-excerptShown, 0)
	for from < at && !utf8.RuneStart(body[from]) {
		from++
	}
	end := at
	if at < len(body) {
		_, n := utf8.DecodeRune(body[at:])
		end += n
	}
	tail := cutRune(body[end:], excerptShown)
	var s strings.Builder
	if from > 0 {
		s.WriteString("…")
	}
	piece := func(b []byte) string {
		var t strings.Builder
		writeText(&t, b, 0, nil, false)
		return inLine(t.String())
	}
	s.WriteString(piece(body[from:at]))
	what := piece(body[at:end])
	if at == len(body) {
		what = "(the end)"
	}
	if colour {
		s.WriteString("\x1b[1;7;31m" + what + "\x1b[0m")
	} else {
		s.WriteString("»" + what + "«")
	}
	s.WriteString(piece(tail))
	if end+len(tail) < len(body) {
		s.WriteString("…")
	}
	return s.String()
}
