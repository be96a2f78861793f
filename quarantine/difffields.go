package quarantine

import (
	"bytes"
	"slices"
	"strconv"
)

// The bounds within which a diff takes values apart; beyond, a value changes as a whole.
const (
	maxDiffDepth   = 32
	maxDiffMembers = 100_000
)

// pair is a value before and after, and its place.
type pair struct {
	at       string
	old, now []byte
	depth    int
}

// fields compares two JSON texts field by field.
func (d *Diff) fields(before, after []byte) {
	todo := []pair{{old: bytes.TrimSpace(before), now: bytes.TrimSpace(after)}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if bytes.Equal(p.old, p.now) {
			continue
		}
		inner, ok := p.takeApart()
		if !ok {
			d.field(p.at, p.old, p.now)
			continue
		}
		for _, next := range slices.Backward(inner) { // the first one next
			todo = append(todo, next)
		}
	}
}

// field adds the change of a value; nil: it is not there.
func (d *Diff) field(at string, old, now []byte) {
	if d.full() {
		d.More++
		return
	}
	a, b := sides(old, now)
	d.add(Change{Pointer: &at, Old: given(a, old != nil), New: given(b, now != nil)})
}

// takeApart gives the values of a container that differ; false: it is none, or not on both sides. What is there on one
// side only is paired with nil.
func (p pair) takeApart() ([]pair, bool) {
	if p.depth == maxDiffDepth || len(p.old) == 0 || len(p.now) == 0 || p.old[0] != p.now[0] {
		return nil, false
	}
	switch p.old[0] {
	case '{', '[':
	default:
		return nil, false
	}
	a, ok1 := membersOf(p.old)
	b, ok2 := membersOf(p.now)
	if !ok1 || !ok2 {
		return nil, false
	}
	if p.old[0] == '[' {
		return p.elements(a, b), true
	}
	var inner []pair
	now := make(map[string][]byte, len(b))
	for _, m := range b {
		now[m.name] = m.value
	}
	old := make(map[string][]byte, len(a))
	for _, m := range a {
		old[m.name] = m.value
	}
	seen := make(map[string]bool, len(a))
	for _, list := range [][]namedValue{a, b} {
		for _, m := range list {
			if seen[m.name] {
				continue
			}
			seen[m.name] = true
			if !bytes.Equal(old[m.name], now[m.name]) {
				inner = append(inner, pair{string(appendName([]byte(p.at), m.name)), old[m.name], now[m.name], p.depth + 1})
			}
		}
	}
	if len(inner) == 0 { // white space, order, or a name that comes twice
		return nil, sameJSON(p.old, p.now)
	}
	return inner, true
}

// elements pairs the elements of two arrays: those at the beginning and the end that are alike are left out.
func (p pair) elements(a, b []namedValue) (inner []pair) {
	from := 0
	for from < min(len(a), len(b)) && bytes.Equal(a[from].value, b[from].value) {
		from++
	}
	alike := 0
	for alike < min(len(a), len(b))-from && bytes.Equal(a[len(a)-1-alike].value, b[len(b)-1-alike].value) {
		alike++
	}
	for i := from; i < max(len(a), len(b))-alike; i++ {
		one := pair{at: p.at + "/" + strconv.Itoa(i), depth: p.depth + 1}
		if i < len(a)-alike {
			one.old = a[i].value
		}
		if i < len(b)-alike {
			one.now = b[i].value
		}
		inner = append(inner, one)
	}
	return inner
}

// namedValue is a member of a container, as it is written.
type namedValue struct {
	name  string // in an array: empty
	value []byte
}

// membersOf lists the members of a container; false: there are too many.
func membersOf(text []byte) (list []namedValue, ok bool) {
	from := 0
	fits := true
	walk(text, func(s *scanner, t token) bool {
		depth := len(s.open)
		switch t.kind {
		case kindClose:
			if depth == 1 {
				list[len(list)-1].value = text[from:t.to]
			}
			return true
		case kindKey:
			return true
		case kindObject, kindArray:
			depth--
		}
		if depth != 1 {
			return true
		}
		if fits = len(list) < maxDiffMembers; !fits {
			return false
		}
		c := &s.open[0]
		m := namedValue{value: text[t.from:t.to]}
		if !c.array {
			m.name = unquote(text[c.key[0]:c.key[1]])
		}
		from = t.from
		list = append(list, m)
		return true
	})
	return list, fits
}
