package triage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/siding-dev/siding"
)

// cell makes any text one that fills at most width columns of one line: nothing in it is acted on by a terminal, and what
// cannot be seen is written out.
func cell(s string, width int) string {
	if width <= 0 {
		return ""
	}
	// More bytes than this can fill no line; the rest would only be measured in vain.
	if most := 16*width + 256; len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return ansi.Truncate(plain(s), width, "…")
}

// pad is cell with spaces up to the width.
func pad(s string, width int) string {
	s = cell(s, width)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// marksInARow is how many combining marks one character may carry: more are meant to spill over other lines.
const marksInARow = 3

// plain makes a text safe for one line.
func plain(s string) string {
	s = siding.Scrub(s, max(64, 8*len(s)))
	var b strings.Builder
	marks := 0
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString("  ")
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
			if marks++; marks <= marksInARow {
				b.WriteRune(r)
			}
			continue
		case r == '\u200d': // joins the parts of one picture
			b.WriteRune(r)
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || !utf8.ValidRune(r):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
		marks = 0
	}
	return b.String()
}

func escaped(r rune) string {
	const hex = "0123456789abcdef"
	if r > 0xffff {
		return `\U` + string([]byte{hex[r>>20&15], hex[r>>16&15], hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
	}
	return `\u` + string([]byte{hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
}

// wrap breaks a text into lines of at most width columns.
func wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Hardwrap(plain(s), width, true), "\n")
}
