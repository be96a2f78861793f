package quarantine

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What can be wrong with a JSON text.
const (
	codeEmpty         = "empty"
	codeBOM           = "byte-order-mark"
	codeEnd           = "truncated-end"
	codeOpenText      = "open-string"
	codeControl       = "unescaped-control"
	codeNewline       = "unescaped-newline"
	codeQuote         = "unescaped-quote"
	codeBadEscape     = "invalid-escape"
	codeBadNumber     = "invalid-number"
	codeNaN           = "not-a-number"
	codeBadLiteral    = "unknown-word"
	codeComment       = "comment"
	codeSingleQuote   = "single-quotes"
	codeUnquotedKey   = "unquoted-key"
	codeTrailingComma = "trailing-comma"
	codeExtraComma    = "extra-comma"
	codeMissingComma  = "missing-comma"
	codeMissingColon  = "missing-colon"
	codeMismatch      = "mismatched-bracket"
	codeTrailing      = "trailing-garbage"
	codeTooDeep       = "too-deep"
	codeUnexpected    = "unexpected-byte"
)

// syntaxFault is the first thing that is wrong with a JSON text.
type syntaxFault struct {
	code string
	at   int // where in the text
	text string
	// quotes tells whether it may come from a quotation mark that is not escaped.
	quotes bool
}

func (s *scanner) fault(code string) *syntaxFault { return s.faultAt(code, s.at) }

func (s *scanner) faultAt(code string, at int) *syntaxFault {
	f := &syntaxFault{code: code, at: at}
	c := "the end"
	if at < len(s.b) {
		c = showByte(s.b[at:])
	}
	switch code {
	case codeOpenText:
		f.text = "the text ends inside a string that begins here"
	case codeEnd:
		f.text = "it ends in the middle of a number"
	case codeControl:
		f.text = fmt.Sprintf("a string has %s in it, which must be written as an escape", c)
		if s.b[at] == '\n' || s.b[at] == '\r' {
			f.code, f.text = codeNewline, "a string has a line break in it, which must be written as an escape"
		}
	case codeBadEscape:
		f.text = fmt.Sprintf(`%s is no escape that JSON knows`, shorten(string(clip(s.b[at:], 6))))
	case codeBadNumber:
		f.text = fmt.Sprintf("%s is no number as JSON writes it", shorten(word(s.b[at:])))
	case codeTrailing:
		f.text = fmt.Sprintf("something follows after the value: %s", shorten(string(clip(s.b[at:], 40))))
		f.quotes = c == `"`
	case codeMissingColon:
		f.text = fmt.Sprintf("there should be a colon after a key, and it is %s", c)
		f.quotes = true
	case codeTooDeep:
		f.text = fmt.Sprintf("it is nested deeper than %d, which no reader here takes", maxDepth)
	}
	return f
}

// atEnd is for a text that ends where something must follow.
func (s *scanner) atEnd() *syntaxFault {
	if len(bytes.TrimLeft(s.b, " \t\r\n")) == 0 {
		return &syntaxFault{code: codeEmpty, at: 0, text: "it is empty"}
	}
	what := "it ends before it is whole"
	if n := len(s.open); n == 1 {
		what += ": one object or array is still open"
	} else if n > 1 {
		what += fmt.Sprintf(": %d objects and arrays are still open", n)
	}
	return &syntaxFault{code: codeEnd, at: len(s.b), text: what}
}

// afterValue is for something that stands where a comma or a closing bracket must be.
func (s *scanner) afterValue() *syntaxFault {
	c := s.b[s.at]
	f := &syntaxFault{at: s.at}
	switch {
	case c == '}' || c == ']':
		f.code, f.text = codeMismatch, fmt.Sprintf("%c closes what %c has opened at offset %d", c, s.b[s.top().from], s.top().from)
	case s.isComment():
		f.code, f.text = codeComment, "a comment; JSON has none"
	case s.afterText():
		f.code, f.quotes = codeQuote, true
		f.text = fmt.Sprintf("after a string comes %s: a quotation mark in it is not escaped, or a comma is missing", shorten(word(s.b[s.at:])))
	default:
		f.code, f.text = codeMissingComma, fmt.Sprintf("there should be a comma or a closing bracket, and it is %s", shorten(word(s.b[s.at:])))
	}
	return f
}

// afterText tells whether a string has just ended.
func (s *scanner) afterText() bool {
	before := bytes.TrimRight(s.b[:s.at], " \t\r\n")
	return len(before) > 0 && before[len(before)-1] == '"'
}

// noKey is for something that stands where a key must be.
func (s *scanner) noKey() *syntaxFault {
	c := s.b[s.at]
	f := &syntaxFault{at: s.at}
	switch {
	case c == '}' || c == ']':
		f.code, f.at, f.text = codeTrailingComma, s.top().comma, "a comma stands before what closes the object"
		if c == ']' {
			f.code, f.at, f.text = codeMismatch, s.at, "] closes what { has opened"
		}
	case c == ',':
		f.code, f.text = codeExtraComma, "a comma stands where a key must be"
	case c == '\'':
		f.code, f.text = codeSingleQuote, "a key stands in single quotes; JSON has only double ones"
	case s.isComment():
		f.code, f.text = codeComment, "a comment; JSON has none"
	default:
		f.code, f.text = codeUnquotedKey, fmt.Sprintf("there should be a key in quotation marks, and it is %s", shorten(word(s.b[s.at:])))
	}
	return f
}

// noValue is for something that stands where a value must be.
func (s *scanner) noValue() *syntaxFault {
	c, w := s.b[s.at], word(s.b[s.at:])
	f := &syntaxFault{at: s.at, code: codeUnexpected, text: fmt.Sprintf("there should be a value, and it is %s", shorten(w))}
	switch {
	case s.at == 0 && bytes.HasPrefix(s.b, bom):
		f.code, f.text = codeBOM, "it begins with a byte order mark"
	case c == ']' && len(s.open) > 0 && s.top().array && s.top().comma >= 0:
		f.code, f.at, f.text = codeTrailingComma, s.top().comma, "a comma stands before what closes the array"
	case c == ',':
		f.code, f.text = codeExtraComma, "a comma stands where a value must be"
	case c == '}' || c == ']':
		f.code, f.text = codeMismatch, fmt.Sprintf("%c stands where a value must be", c)
	case c == '\'':
		f.code, f.text = codeSingleQuote, "a text stands in single quotes; JSON has only double ones"
	case s.isComment():
		f.code, f.text = codeComment, "a comment; JSON has none"
	case w == "NaN" || w == "Infinity":
		f.code, f.text = codeNaN, w+" is no value in JSON"
	case c == '+' || c == '.':
		f.code, f.text = codeBadNumber, fmt.Sprintf("%s is no number as JSON writes it", shorten(w))
	case isLetter(c) && s.at+len(w) == len(s.b) && halfWord(w) != "":
		f.code, f.text = codeEnd, fmt.Sprintf("it ends in the middle of %s", halfWord(w))
	case isLetter(c):
		f.code, f.text = codeBadLiteral, fmt.Sprintf("%s is no value in JSON; those without quotation marks are true, false, null and numbers", shorten(w))
	}
	return f
}

var bom = []byte("\xef\xbb\xbf")

func (s *scanner) isComment() bool {
	rest := s.b[s.at:]
	return bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) || rest[0] == '#'
}

// halfWord gives the word of JSON of which w is only the beginning; empty: none.
func halfWord(w string) string {
	for _, whole := range []string{"true", "false", "null"} {
		if w != "" && w != whole && strings.HasPrefix(whole, w) {
			return whole
		}
	}
	return ""
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

// word gives what stands at the beginning of b, up to white space or a sign that means something in JSON.
func word(b []byte) string {
	const most = 200
	end := bytes.IndexAny(clip(b, most), " \t\r\n,:{}[]\"")
	switch {
	case end > 0:
		b = b[:end]
	case end == 0:
		b = b[:1]
	}
	return string(clip(b, most))
}

// clip gives at most n bytes of the beginning of b.
func clip(b []byte, n int) []byte { return b[:min(n, len(b))] }

// showByte names the character with which b begins.
func showByte(b []byte) string {
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 || r < ' ' || r == 0x7f {
		return fmt.Sprintf("the byte 0x%02x", b[0])
	}
	return shorten(string(b[:n]))
}
