package claudesim

import "fmt"

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
