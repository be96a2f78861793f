package siding

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of stored texts, in bytes.
const (
	MaxErrorText = 8 << 10 // the text of one failure
	MaxHeader    = 4 << 10 // a header's name or value, a worker's name, an operator's note
)

// Scrub makes any text safe to store and to show: valid UTF-8 without control characters, and at most limit bytes.
//
// Bytes that are not UTF-8 become \xNN; control characters (but tab and newline), the bidirectional overrides and the
// Unicode line separators become \uNNNN, so that nothing reaches a terminal or a database that either would act on.
// A longer text keeps its beginning and its end, cut between runes, with the number of bytes left out between them.
// A limit under 64 counts as 64. Scrub never fails and never panics.
func Scrub(s string, limit int) string {
	limit = max(limit, 64)
	if len(s) <= limit && clean(s) {
		return s
	}
	// What is far outside the limit is dropped before it is escaped, so that megabytes of hostile text cost little.
	const mark = "\n… %d bytes left out …\n"
	keep := limit - len(mark) - 20
	head, tail := s, ""
	if len(s) > limit {
		head, tail = cutHead(s, keep*3/4), cutTail(s, keep/4)
	}
	head, tail = escape(head), escape(tail)
	if tail == "" && len(head) <= limit {
		return head
	}
	if tail == "" { // short, and grown by escaping
		tail = head
	}
	head, tail = cutHead(head, keep*3/4), cutTail(tail, keep/4)
	return head + fmt.Sprintf(mark, max(0, len(s)-keep)) + tail
}

func clean(s string) bool {
	for i, r := range s {
		if unsafe(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// unsafe tells whether a terminal, a log or a page could act on the rune rather than show it.
func unsafe(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case unicode.IsControl(r):
		return true
	case r == '\u2028' || r == '\u2029' || r == '\ufeff':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f', r == '\u061c':
		return true
	}
	return false
}

func escape(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x80 && unsafe(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unsafe(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// cutHead gives at most n bytes of the beginning of s, ending between runes.
func cutHead(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // no text: every byte is escaped on its own
}

// cutTail gives at most n bytes of the end of s, beginning between runes.
func cutTail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for i := from; i < len(s) && i < from+utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s[from:]
}

// CheckID says what is wrong with an event ID, or nil. It wraps [ErrInvalidID].
func CheckID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidID)
	case len(id) > MaxIDBytes:
		return fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrInvalidID, len(id), MaxIDBytes)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrInvalidID)
	}
	for i, r := range id {
		if unsafe(r) || r == '\t' || r == '\n' {
			return fmt.Errorf("%w: control character U+%04X at byte %d", ErrInvalidID, r, i)
		}
	}
	return nil
}
