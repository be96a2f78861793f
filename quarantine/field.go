package quarantine

import (
	"bytes"
	"fmt"
)

// A spot is where a field stands in a body.
type spot struct {
	// members are those of this name in the one container that counts, in their order. Of a name that comes twice the last
	// one counts, as with most readers of JSON. Empty: there is no such field.
	members []member
	// parent is the object or array in which the field stands, or would stand.
	parent parent
}

// member is a value in its container, with its key.
type member struct {
	from       int // of the key, or of the value in an array
	keyTo      int // in an object
	value, end int
	index      int
	comma      int // in front of it; -1: it is the first
	next       int // where the one after it begins; -1: it is the last
}

type parent struct {
	found   bool
	array   bool
	from    int // of what opens it
	to      int // of what closes it
	count   int // of members
	lastEnd int // of the last member, where there is one
}

// finder follows a pointer through the tokens of a body.
type finder struct {
	p       pointer
	matched int // how many of the open containers, from the outermost on, lie on the way
	spot
	inValue bool // the field's own value is being read
}

// find looks for a field. The error says that the body is not well-formed JSON, or that there is nothing in which the
// field could stand.
func find(body []byte, p pointer) (spot, error) {
	f := finder{p: p}
	if fault := walk(body, f.visit); fault != nil {
		return spot{}, fmt.Errorf("the body is not valid JSON: %s, at offset %d; mend that first", fault.text, fault.at)
	}
	if !p.whole() && !f.parent.found {
		return spot{}, nil
	}
	return f.spot, nil
}

func (f *finder) visit(s *scanner, t token) bool {
	if f.p.whole() {
		f.root(s, t)
		return true
	}
	depth := len(s.open)
	switch t.kind {
	case kindClose:
		depth++ // the container that has just been closed
		if depth == f.matched {
			f.matched--
			if depth == len(f.p.names) {
				f.parent.to = t.from
			}
		}
		f.ended(depth-1, t.to)
	case kindKey:
		if c := s.top(); f.matched == depth && depth == len(f.p.names) {
			f.began(t.from, c)
		}
	case kindObject, kindArray:
		f.value(s, t, depth-1)
		if on := depth == 1 || f.matched == depth-1 && f.isNext(s, depth-1); on && depth <= len(f.p.names) {
			f.matched = depth
			if depth == len(f.p.names) {
				f.spot = spot{parent: parent{found: true, array: t.kind == kindArray, from: t.from}}
			}
		}
	default:
		f.value(s, t, depth)
		f.ended(depth, t.to)
	}
	return true
}

// root is for the pointer to the whole body.
func (f *finder) root(s *scanner, t token) {
	if len(f.members) == 0 {
		f.members = []member{{from: t.from, value: t.from, comma: -1, next: -1}}
	}
	if len(s.open) == 0 {
		f.members[0].end = t.to
	}
}

// isNext tells whether the value that begins is the one to which the way leads from the container at this depth.
func (f *finder) isNext(s *scanner, depth int) bool {
	c, name := &s.open[depth-1], f.p.names[depth-1]
	if c.array {
		i, ok := arrayIndex(name)
		return ok && i == c.index
	}
	return isName(s.b[c.key[0]:c.key[1]], name)
}

// isName tells whether a key as it is written is a name.
func isName(key []byte, name string) bool {
	inner := key[1 : len(key)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	return len(inner) <= 6*len(name) && unquote(key) == name // no escape is longer than six bytes for one
}

// began takes in where a member of the field's own container begins.
func (f *finder) began(from int, c *container) {
	if n := len(f.members); n > 0 && f.members[n-1].index == c.index-1 {
		f.members[n-1].next = from
	}
	f.parent.count++
}

// value takes in that a value begins, in the container at this depth.
func (f *finder) value(s *scanner, t token, depth int) {
	if depth == 0 || f.matched != depth {
		return
	}
	if depth < len(f.p.names) {
		if f.isNext(s, depth) { // what was found in an earlier one of this name counts no more
			f.spot = spot{}
		}
		return
	}
	c := &s.open[depth-1]
	m := member{from: t.from, value: t.from, index: c.index, comma: c.comma, next: -1}
	if c.array {
		f.began(t.from, c)
	} else {
		m.from, m.keyTo = c.key[0], c.key[1]
	}
	if f.isNext(s, depth) {
		f.members = append(f.members, m)
		f.inValue = true
	}
}

// ended takes in that a value has ended, in the container at this depth.
func (f *finder) ended(depth, to int) {
	if depth != len(f.p.names) || f.matched != depth {
		return
	}
	f.parent.lastEnd = to
	if f.inValue {
		f.members[len(f.members)-1].end = to
		f.inValue = false
	}
}
