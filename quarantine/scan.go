package quarantine

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep JSON may be nested: as deep as encoding/json reads it, and with it every handler.
const maxDepth = 10_000

// kind is what a token is.
type kind byte

const (
	kindEnd    kind = iota // the text has been read to its end
	kindObject             // the brace that opens an object
	kindArray              // the bracket that opens an array
	kindClose              // what closes the innermost of them
	kindKey                // with its quotation marks
	kindString             // with its quotation marks
	kindNumber
	kindLiteral // true, false, null
)

// token is a piece of JSON and where it stands.
type token struct {
	kind     kind
	from, to int
}

// container is an object or array that is open.
type container struct {
	array bool
	from  int
	index int // of the member that was begun last, from 0; -1: none yet
	comma int // in front of that member; -1: it is the first
	key   [2]int
}

// expect is what may come next.
type expect byte

const (
	expectValue        expect = iota
	expectValueOrClose        // the first element of an array
	expectKey
	expectKeyOrClose // the first member of an object
	expectComma      // or what closes
	expectNothing    // the value is whole
)

// scanner takes JSON apart without making anything of it: it does not recurse, and takes memory for the containers only
// that are open. It takes exactly what encoding/json takes; bytes that are not UTF-8 may stand in texts.
type scanner struct {
	b      []byte
	at     int
	open   []container
	expect expect
	lax    bool // control characters may stand in texts too
}

// walk hands the tokens to visit until it gives false, and gives what is wrong with the text; nil: nothing up to there.
func walk(b []byte, visit func(s *scanner, t token) bool) *syntaxFault {
	s := scanner{b: b}
	for {
		t, f := s.next()
		if f != nil {
			return f
		}
		if t.kind == kindEnd || !visit(&s, t) {
			return nil
		}
	}
}

// syntax says what is wrong with a JSON text, or nil.
func syntax(b []byte) *syntaxFault { return walk(b, func(*scanner, token) bool { return true }) }

// next gives the next token.
func (s *scanner) next() (token, *syntaxFault) {
	for {
		s.space()
		if s.at == len(s.b) {
			if s.expect == expectNothing {
				return token{kindEnd, s.at, s.at}, nil
			}
			return token{}, s.atEnd()
		}
		c := s.b[s.at]
		switch s.expect {
		case expectNothing:
			return token{}, s.fault(codeTrailing)
		case expectComma:
			switch {
			case c == ',':
				s.comma()
				continue
			case s.closes(c):
				return s.close(), nil
			}
			return token{}, s.afterValue()
		case expectKeyOrClose, expectKey:
			if c == '"' {
				return s.key()
			}
			if c == '}' && s.expect == expectKeyOrClose {
				return s.close(), nil
			}
			return token{}, s.noKey()
		case expectValueOrClose:
			if c == ']' {
				return s.close(), nil
			}
		}
		return s.value(c)
	}
}

func (s *scanner) space() {
	for s.at < len(s.b) && isSpace(s.b[s.at]) {
		s.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (s *scanner) top() *container { return &s.open[len(s.open)-1] }

// closes tells whether c closes the innermost container.
func (s *scanner) closes(c byte) bool {
	return s.top().array && c == ']' || !s.top().array && c == '}'
}

func (s *scanner) comma() {
	top := s.top()
	top.comma = s.at
	s.at++
	s.expect = expectKey
	if top.array {
		s.expect = expectValue
	}
}

func (s *scanner) close() token {
	s.at++
	s.open = s.open[:len(s.open)-1]
	s.valueEnded()
	return token{kindClose, s.at - 1, s.at}
}

func (s *scanner) valueEnded() {
	s.expect = expectComma
	if len(s.open) == 0 {
		s.expect = expectNothing
	}
}

// key reads a key and its colon.
func (s *scanner) key() (token, *syntaxFault) {
	from := s.at
	end, f := s.text()
	if f != nil {
		return token{}, f
	}
	top := s.top()
	top.index++
	top.key = [2]int{from, end}
	s.space()
	if s.at == len(s.b) {
		return token{}, s.atEnd()
	}
	if s.b[s.at] != ':' {
		return token{}, s.fault(codeMissingColon)
	}
	s.at++
	s.expect = expectValue
	return token{kindKey, from, end}, nil
}

func (s *scanner) value(c byte) (token, *syntaxFault) {
	if n := len(s.open); n > 0 && s.open[n-1].array {
		s.open[n-1].index++
	}
	from := s.at
	switch {
	case c == '{' || c == '[':
		if len(s.open) == maxDepth {
			return token{}, s.fault(codeTooDeep)
		}
		s.open = append(s.open, container{array: c == '[', from: from, index: -1, comma: -1})
		s.at++
		s.expect = expectKeyOrClose
		k := kindObject
		if c == '[' {
			s.expect, k = expectValueOrClose, kindArray
		}
		return token{k, from, s.at}, nil
	case c == '"':
		end, f := s.text()
		if f != nil {
			return token{}, f
		}
		s.valueEnded()
		return token{kindString, from, end}, nil
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if rest := s.b[from:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.at += len(word)
			s.valueEnded()
			return token{kindLiteral, from, s.at}, nil
		}
	}
	return token{}, s.noValue()
}

// text reads a string, of which s.at is the first quotation mark, and gives where it ends.
func (s *scanner) text() (end int, f *syntaxFault) {
	for i := s.at + 1; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			s.at = i + 1
			return s.at, nil
		case c < ' ' && !s.lax:
			return 0, s.faultAt(codeControl, i)
		case c == '\\':
			n := escapeLength(s.b[i:])
			switch {
			case n == 0 && escapeIsCut(s.b[i:]):
				return 0, s.faultAt(codeOpenText, s.at)
			case n == 0:
				return 0, s.faultAt(codeBadEscape, i)
			}
			i += n - 1
		}
	}
	return 0, s.faultAt(codeOpenText, s.at)
}

// escapeLength gives the length of the escape with which b begins, or 0 where it is none.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hex4(b[2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// escapeIsCut tells whether b is the beginning of an escape, cut off at the end of the text.
func escapeIsCut(b []byte) bool {
	if len(b) == 1 {
		return true
	}
	if b[1] != 'u' || len(b) >= 6 {
		return false
	}
	return len(bytes.Trim(b[2:], "0123456789abcdefABCDEF")) == 0
}

// hex4 reads four hexadecimal digits, or gives -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

func (s *scanner) number() (token, *syntaxFault) {
	from, i := s.at, s.at
	if s.b[i] == '-' {
		i++
	}
	digits := func() bool {
		start := i
		for i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9' {
			i++
		}
		return i > start
	}
	has := func(set string) bool { return i < len(s.b) && strings.IndexByte(set, s.b[i]) >= 0 }
	var whole bool
	if has("0") {
		i++
		whole = !has("0123456789")
	} else {
		whole = digits()
	}
	if whole && has(".") {
		i++
		whole = digits()
	}
	if whole && has("eE") {
		i++
		if has("+-") {
			i++
		}
		whole = digits()
	}
	if !whole {
		if i == len(s.b) {
			return token{}, s.faultAt(codeEnd, from)
		}
		return token{}, s.faultAt(codeBadNumber, from)
	}
	s.at = i
	s.valueEnded()
	return token{kindNumber, from, i}, nil
}

// maxPointer bounds, in bytes, the JSON Pointers that are made.
const maxPointer = 1 << 10

// pointer gives the place of the value that was begun last, or of the one that its key announces. nil: it cannot be
// written as a JSON Pointer, or only as one that nobody can read.
func (s *scanner) pointer() *string {
	var b []byte
	for i := range s.open {
		c := &s.open[i]
		switch {
		case c.index < 0: // nothing has begun in it
		case c.array:
			b = strconv.AppendInt(append(b, '/'), int64(c.index), 10)
		default:
			b = appendName(b, unquote(s.b[c.key[0]:c.key[1]]))
		}
		if len(b) > maxPointer {
			return nil
		}
	}
	if !utf8.Valid(b) {
		return nil
	}
	p := string(b)
	return &p
}

// unquote gives what a JSON string says. Bytes that are not UTF-8 stay as they are, where nothing else is escaped.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(raw, &text) // the scanner has read it
	return text
}
