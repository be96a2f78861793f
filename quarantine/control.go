package quarantine

import (
	"unicode/utf16"
	"unicode/utf8"
)

// isControl tells the characters that strip-control takes out: all control characters but tab and line breaks.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r <= 0x9f
}

// stripControl takes out control characters but tab, newline and carriage return: as they are, and, in JSON, as escapes.
func stripControl(d Draft) ([]byte, error) {
	escapes := isJSON(d.ContentType)
	w := rewriter{b: d.Body}
	for i := 0; i < len(d.Body); {
		n := 1
		switch c := d.Body[i]; {
		case c == '\\' && escapes:
			var control bool
			if n, control = controlEscape(d.Body[i:]); control {
				w.replace(i, i+n, "")
			}
		case c < utf8.RuneSelf:
			if isControl(rune(c)) {
				w.replace(i, i+1, "")
			}
		default:
			var r rune
			if r, n = utf8.DecodeRune(d.Body[i:]); isControl(r) {
				w.replace(i, i+n, "")
			}
		}
		i += n
	}
	return w.result(), nil
}

// controlEscape reads the escape with which b begins, and tells whether it stands for a control character.
func controlEscape(b []byte) (n int, control bool) {
	switch n = escapeLength(b); n {
	case 6:
		return n, isControl(hex4(b[2:]))
	case 2:
		return n, b[1] == 'b' || b[1] == 'f'
	}
	return 1, false
}

// fixSurrogates puts U+FFFD in the place of each half of a surrogate pair that stands alone: as an escape, in JSON, and in
// the three bytes that some writers make of it. Two halves that belong together and were written in three bytes each
// become the character that they stand for.
func fixSurrogates(d Draft) ([]byte, error) {
	escapes := isJSON(d.ContentType)
	w := rewriter{b: d.Body}
	for i := 0; i < len(d.Body); {
		b := d.Body[i:]
		n := 1
		switch {
		case b[0] == '\\' && escapes:
			n = max(escapeLength(b), 1)
			if n == 6 && utf16.IsSurrogate(hex4(b[2:])) {
				if pairedEscape(b) {
					n = 12
				} else {
					w.replace(i, i+n, `\ufffd`)
				}
			}
		case rawSurrogate(b) >= 0:
			n = 3
			with := "\uFFFD"
			if both := utf16.DecodeRune(rawSurrogate(b), rawSurrogate(b[3:])); both != utf8.RuneError {
				n, with = 6, string(both)
			}
			w.replace(i, i+n, with)
		}
		i += n
	}
	return w.result(), nil
}

// pairedEscape tells whether b begins with the escapes of both halves of a surrogate pair.
func pairedEscape(b []byte) bool {
	return len(b) >= 12 && b[6] == '\\' && b[7] == 'u' && utf16.DecodeRune(hex4(b[2:]), hex4(b[8:])) != utf8.RuneError
}

// rawSurrogate reads half of a surrogate pair that was written in three bytes as if it were a character, or gives -1.
func rawSurrogate(b []byte) rune {
	if len(b) < 3 || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2] < 0x80 || b[2] > 0xbf {
		return -1
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}
