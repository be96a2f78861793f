package claudesim

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deep a body may nest. The service has such a limit too; its number is not published.
const maxDepth = 1024

// A syntaxError says what is wrong with a body and where, counted in characters as the service counts them.
type syntaxError struct {
	msg          string
	line, column int // from 1
	char         int // from 0
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("The request body is not valid JSON: %s: line %d column %d (char %d)", e.msg, e.line, e.column, e.char)
}

// checkJSON is stricter than encoding/json where the service is: it refuses lone surrogates, invalid UTF-8 and deep
// nesting. It needs no recursion, so that no body can exhaust the stack.
func checkJSON(body []byte) *syntaxError {
	s := scanner{src: body}
	msg := s.document()
	if msg == "" {
		return nil
	}
	e := &syntaxError{msg: msg, line: 1, column: 1}
	for _, r := range string(body[:min(s.at, len(body))]) {
		e.char++
		e.column++
		if r == '\n' {
			e.line, e.column = e.line+1, 1
		}
	}
	return e
}

type scanner struct {
	src   []byte
	at    int
	stack []byte // the closing bracket of each open object and array
}

const endOfData = "unexpected end of data"

func (s *scanner) space() {
	for s.at < len(s.src) && (s.src[s.at] == ' ' || s.src[s.at] == '\n' || s.src[s.at] == '\t' || s.src[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

// document scans one value and nothing after it.
func (s *scanner) document() string {
	for {
		opened, msg := s.value()
		if msg != "" {
			return msg
		}
		if opened {
			continue
		}
		more, msg := s.after()
		if msg != "" {
			return msg
		}
		if !more {
			break
		}
	}
	if s.space(); s.at < len(s.src) {
		return "unexpected content after document"
	}
	return ""
}

// value scans a scalar or an empty container whole, or opens a container up to its first value.
func (s *scanner) value() (opened bool, msg string) {
	switch c := s.peek(); {
	case s.at >= len(s.src):
		return false, endOfData
	case c == '{' || c == '[':
		if len(s.stack) == maxDepth {
			return false, "recursion limit exceeded"
		}
		s.at++
		if s.peek() == c+2 { // '{'+2 is '}', '['+2 is ']'
			s.at++
			return false, ""
		}
		s.stack = append(s.stack, c+2)
		if c == '{' {
			return true, s.key()
		}
		return true, ""
	case c == '"':
		return false, s.text()
	case c == '-' || (c >= '0' && c <= '9'):
		return false, s.number()
	default:
		return false, s.word()
	}
}

// after closes what ends here, and says whether another value follows.
func (s *scanner) after() (more bool, msg string) {
	for len(s.stack) > 0 {
		c := s.peek()
		switch {
		case s.at >= len(s.src):
			return false, endOfData
		case c == s.stack[len(s.stack)-1]:
			s.at++
			s.stack = s.stack[:len(s.stack)-1]
		case c == ',':
			s.at++
			if s.stack[len(s.stack)-1] == '}' {
				return true, s.key()
			}
			return true, ""
		default:
			return false, "unexpected character, expected a comma or a closing bracket"
		}
	}
	return false, ""
}

func (s *scanner) key() string {
	if s.peek() != '"' {
		if s.at >= len(s.src) {
			return endOfData
		}
		return "unexpected character, expected a string for object key"
	}
	if msg := s.text(); msg != "" {
		return msg
	}
	if s.peek() != ':' {
		if s.at >= len(s.src) {
			return endOfData
		}
		return "unexpected character, expected a colon after object key"
	}
	s.at++
	return ""
}

func (s *scanner) word() string {
	for _, w := range []string{"true", "false", "null"} {
		if len(s.src)-s.at >= len(w) && string(s.src[s.at:s.at+len(w)]) == w {
			s.at += len(w)
			return ""
		}
	}
	return "unexpected character"
}

func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.src) && s.src[s.at] >= '0' && s.src[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

func (s *scanner) number() string {
	const bad = "invalid number"
	if s.src[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.src) && s.src[s.at] == '0' {
		s.at++
	} else if !s.digits() {
		return bad
	}
	if s.at < len(s.src) && s.src[s.at] == '.' {
		if s.at++; !s.digits() {
			return bad
		}
	}
	if s.at < len(s.src) && s.src[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.src) && (s.src[s.at] == '+' || s.src[s.at] == '-') {
			s.at++
		}
		if !s.digits() {
			return bad
		}
	}
	return ""
}

func (s *scanner) text() string {
	for s.at++; s.at < len(s.src); {
		s.plain()
		if s.at >= len(s.src) {
			break
		}
		switch c := s.src[s.at]; {
		case c == '"':
			s.at++
			return ""
		case c == '\\':
			if msg := s.escape(); msg != "" {
				return msg
			}
		case c < 0x20:
			return "unexpected control character in string"
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, n := utf8.DecodeRune(s.src[s.at:])
			if r == utf8.RuneError && n == 1 {
				return "str is not valid UTF-8: surrogates not allowed"
			}
			s.at += n
		}
	}
	return endOfData
}

// plain skips eight bytes at a time while they are ordinary ASCII: images come as megabytes of it. A byte is not
// ordinary when its top bit is set, when it is under a space, or when it is a quote or a backslash; the formula finds
// the last three by what a subtraction borrows.
func (s *scanner) plain() {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	below := func(v uint64, n uint64) uint64 { return (v - ones*n) & ^v & tops }
	for s.at+8 <= len(s.src) {
		v := binary.LittleEndian.Uint64(s.src[s.at:])
		if v&tops|below(v, 0x20)|below(v^ones*'"', 1)|below(v^ones*'\\', 1) != 0 {
			return
		}
		s.at += 8
	}
}

func (s *scanner) escape() string {
	if s.at+1 >= len(s.src) {
		s.at = len(s.src)
		return endOfData
	}
	switch s.src[s.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return ""
	case 'u':
	default:
		return "invalid escaped character in string"
	}
	unit, ok := hex4(s.src, s.at+2)
	switch {
	case !ok && s.at+6 > len(s.src):
		s.at = len(s.src)
		return endOfData
	case !ok:
		return "invalid escaped sequence in string"
	case unit >= 0xDC00 && unit < 0xE000:
		return "invalid high surrogate in string"
	case unit < 0xD800 || unit >= 0xE000:
		s.at += 6
		return ""
	}
	low, ok := hex4(s.src, s.at+8)
	if s.at+7 >= len(s.src) || s.src[s.at+6] != '\\' || s.src[s.at+7] != 'u' || !ok {
		return "no low surrogate in string"
	}
	if low < 0xDC00 || low >= 0xE000 {
		return "invalid low surrogate in string"
	}
	s.at += 12
	return ""
}

func hex4(src []byte, at int) (v rune, ok bool) {
	if at+4 > len(src) {
		return 0, false
	}
	for _, c := range src[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
