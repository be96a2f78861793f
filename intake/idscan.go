package intake

import (
	"bytes"
	"errors"
)

// foundID is what a scan for the event ID came to.
type foundID struct {
	text  []byte // the ID, where ok
	ok    bool
	unfit string // why the value that stands there cannot be an ID; empty: there is none
	at    int64  // byte offset of the value, where one was found
}

func (f foundID) none() bool { return !f.ok && f.unfit == "" }

// scanID looks for the value that the pointer leads to, in the bytes of a record that may be broken anywhere. It takes
// linear time and does not recurse.
//
// Only containers on the way are looked into; all others are passed over by counting brackets outside strings. Where
// something stands that JSON does not allow, the scan goes on behind the next comma of the same container. A name that
// comes twice counts the last time, as in Go and most other readers, but nothing that stands behind a break replaces
// what was found before it.
func scanID(b []byte, p Pointer) foundID {
	s := idScan{b: b}
	s.space()
	if p.IsZero() || !s.enter() {
		return foundID{}
	}
	for len(s.path) > 0 && s.i < len(b) {
		s.step(p)
	}
	return s.found
}

type idScan struct {
	b      []byte
	i      int
	path   []onPath // containers that are open on the way
	broken bool
	found  foundID
}

type onPath struct {
	array bool
	index int // of the element that comes next
}

// step uses one member or element of the innermost container, or its end.
func (s *idScan) step(p Pointer) {
	s.space()
	if s.i == len(s.b) {
		return
	}
	top := &s.path[len(s.path)-1]
	if c := s.b[s.i]; c == '}' || c == ']' {
		s.broken = s.broken || (c == ']') != top.array
		s.i++
		s.path = s.path[:len(s.path)-1]
		if len(s.path) > 0 {
			s.separator()
		}
		return
	}
	want := p.tokens[len(s.path)-1]
	var match bool
	if top.array {
		match = top.index == want.index
		top.index++
	} else {
		key, ok := s.key()
		if !ok {
			s.broken = true
			s.separator()
			return
		}
		match = s.isName(key, want.name)
	}
	s.space()
	switch {
	case !match:
		s.skipValue()
	case len(s.path) == len(p.tokens):
		s.keep(s.value())
	default:
		s.keep(foundID{}) // a second one of this name takes the place of the first, with all that was in it
		if s.enter() {
			return
		}
		s.skipValue()
	}
	s.separator()
}

func (s *idScan) keep(f foundID) {
	if !s.broken || s.found.none() {
		s.found = f
	}
}

// enter opens the container that begins here, if one does.
func (s *idScan) enter() bool {
	if s.i == len(s.b) || s.b[s.i] != '{' && s.b[s.i] != '[' {
		return false
	}
	s.path = append(s.path, onPath{array: s.b[s.i] == '['})
	s.i++
	return true
}

// key uses a member's name and its colon, and gives what stands between the quotes.
func (s *idScan) key() ([]byte, bool) {
	if s.b[s.i] != '"' {
		return nil, false
	}
	inner, closed := s.str()
	s.space()
	if !closed || s.i == len(s.b) || s.b[s.i] != ':' {
		return nil, false
	}
	s.i++
	return inner, true
}

func (s *idScan) isName(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key) == name
	}
	if len(key) > 6*len(name) { // no escape is longer than six bytes for one
		return false
	}
	text, err := unquote(key)
	return err == nil && string(text) == name
}

// value uses the value that begins here and says whether it can be an ID.
func (s *idScan) value() foundID {
	at := int64(s.i)
	if s.i == len(s.b) {
		s.broken = true
		return foundID{}
	}
	switch c := s.b[s.i]; c {
	case '{', '[':
		s.skipValue()
		if c == '{' {
			return foundID{unfit: "is an object", at: at}
		}
		return foundID{unfit: "is an array", at: at}
	case '"':
		return s.text(at)
	}
	word := s.word()
	delimited := s.i < len(s.b) && (isSpace(s.b[s.i]) || isEnd(s.b[s.i])) && s.ended()
	switch {
	case !delimited: // cut off, or not what it seems
	case string(word) == "null":
		return foundID{unfit: "is null", at: at}
	case isNumber(word), string(word) == "true", string(word) == "false":
		return fit(word, at)
	}
	s.broken = true
	return foundID{}
}

// text uses a string and says whether it can be an ID.
func (s *idScan) text(at int64) foundID {
	inner, closed := s.str()
	if !closed || !s.ended() {
		s.broken = true
		return foundID{}
	}
	text, err := unquote(inner)
	switch {
	case err == nil:
		return fit(text, at)
	case errors.Is(err, errSurrogate):
		return foundID{unfit: "has a lone surrogate", at: at}
	}
	s.broken = true
	return foundID{}
}

// ended tells whether nothing stands behind a value that makes it doubtful: only a comma, a closing bracket or the end.
func (s *idScan) ended() bool {
	i := s.i
	for i < len(s.b) && isSpace(s.b[i]) {
		i++
	}
	return i == len(s.b) || isEnd(s.b[i])
}

// isEnd tells the bytes that may follow a value.
func isEnd(c byte) bool { return c == ',' || c == '}' || c == ']' }

// separator uses what stands between a value and the next one. What does not belong there is passed over.
func (s *idScan) separator() {
	for {
		s.space()
		if s.i == len(s.b) {
			return
		}
		switch c := s.b[s.i]; {
		case c == ',':
			s.i++
			return
		case isEnd(c):
			return
		case c == ':':
			s.i++
		default:
			s.skipValue()
		}
		s.broken = true
	}
}

// skipValue passes over one value of any kind, or over whatever stands in its place. It uses at least one byte, unless a
// comma or a closing bracket stands here.
func (s *idScan) skipValue() {
	for depth := 0; s.i < len(s.b); {
		switch c := s.b[s.i]; {
		case c == '"':
			s.str()
		case c == '{' || c == '[':
			depth++
			s.i++
		case (c == '}' || c == ']') && depth > 0:
			depth--
			s.i++
		case depth > 0:
			s.i++
		case isEnd(c):
			s.broken = true // no value at all
			return
		default:
			if len(s.word()) == 0 {
				s.i++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// word uses a run of bytes that are neither white space nor mean anything in JSON.
func (s *idScan) word() []byte {
	from := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case isSpace(c), isEnd(c), c == '"', c == ':', c == '{', c == '[':
			return s.b[from:s.i]
		}
		s.i++
	}
	return s.b[from:]
}

// str uses a string, and gives what stands between its quotes and whether it is closed.
func (s *idScan) str() (inner []byte, closed bool) {
	from := s.i + 1
	end := bytes.IndexByte(s.b[from:], '"')
	if end >= 0 && bytes.IndexByte(s.b[from:from+end], '\\') < 0 {
		s.i = from + end + 1
		return s.b[from : from+end], true
	}
	for i := from; end >= 0 && i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			s.i = i + 1
			return s.b[from:i], true
		}
	}
	s.i = len(s.b)
	return nil, false
}

func (s *idScan) space() {
	for s.i < len(s.b) && isSpace(s.b[s.i]) {
		s.i++
	}
}
