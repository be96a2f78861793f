package quarantine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// fieldRepair changes one field of a JSON body, and keeps every other byte of it.
type fieldRepair struct {
	name string
	args arguments
	mend func(d Draft) ([]byte, error)
}

func (r fieldRepair) String() string { return r.name + ":" + r.args.String() }

func (r fieldRepair) Apply(_ context.Context, d Draft) (Draft, error) {
	body, err := r.mend(d)
	if err != nil {
		return d, err
	}
	d.Body = body
	return d, nil
}

// newDrop reads the arguments of drop: field.
func newDrop(text string) (Repair, error) {
	a, err := parseArguments(text, "field")
	if err != nil {
		return nil, err
	}
	if err := a.need("field"); err != nil {
		return nil, err
	}
	p, err := a.pointer("field")
	if err != nil {
		return nil, err
	}
	if p.whole() {
		return nil, errors.New("field: the whole body cannot be dropped; siding dlq discard gives a message up")
	}
	return fieldRepair{nameDrop, a, func(d Draft) ([]byte, error) { return drop(d.Body, p) }}, nil
}

// drop takes a field out. Where its name comes twice in its object, all of them go: the earlier one would count otherwise.
func drop(body []byte, p pointer) ([]byte, error) {
	s, err := find(body, p)
	if err != nil || len(s.members) == 0 {
		return body, err
	}
	var edits []edit
	for i, m := range s.members {
		switch {
		case m.index == i && m.next >= 0: // nothing stays in front of it
			edits = append(edits, edit{m.from, m.next, ""})
		case m.index == i:
			edits = append(edits, edit{m.from, m.end, ""})
		default:
			edits = append(edits, edit{m.comma, m.end, ""})
		}
	}
	return splice(body, edits...), nil
}

// newSet reads the arguments of set: field and value.
func newSet(text string) (Repair, error) {
	a, err := parseArguments(text, "field", "value")
	if err != nil {
		return nil, err
	}
	if err := a.need("field", "value"); err != nil {
		return nil, err
	}
	p, err := a.pointer("field")
	if err != nil {
		return nil, err
	}
	value := a.get("value")
	if !utf8.ValidString(value) {
		return nil, errors.New("value: it is not valid UTF-8")
	}
	written := strings.TrimSpace(value)
	if syntax([]byte(written)) != nil {
		written = quoteText(value)
	}
	return fieldRepair{nameSet, a, func(d Draft) ([]byte, error) {
		if p.whole() && !isJSON(d.ContentType) {
			return []byte(value), nil
		}
		return set(d.Body, p, written)
	}}, nil
}

// set puts a value, given as JSON, in the place of a field, or adds the field to the object or array it stands in.
func set(body []byte, p pointer, written string) ([]byte, error) {
	if p.whole() {
		if sameJSON(body, []byte(written)) {
			return body, nil
		}
		return []byte(written), nil
	}
	s, err := find(body, p)
	if err != nil {
		return nil, err
	}
	if n := len(s.members); n > 0 {
		m := s.members[n-1]
		if sameJSON(body[m.value:m.end], []byte(written)) {
			return body, nil
		}
		return splice(body, edit{m.value, m.end, written}), nil
	}
	if !s.parent.found {
		return nil, fmt.Errorf("there is no object or array in which %s could stand", p.shown())
	}
	if s.parent.array {
		if i, ok := arrayIndex(p.last()); p.last() != "-" && (!ok || i != s.parent.count) {
			return nil, fmt.Errorf("%s: the array has %d elements, so that %q is no place in it; - stands for the end", p.shown(), s.parent.count, shorten(p.last()))
		}
	} else {
		written = quoteText(p.last()) + ":" + written
	}
	at := s.parent.from + 1
	if s.parent.count > 0 {
		at, written = s.parent.lastEnd, ","+written
	}
	return splice(body, edit{at, at, written}), nil
}

// sameJSON tells whether two JSON texts differ in their white space only.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// newRename reads the arguments of rename: field and to.
func newRename(text string) (Repair, error) {
	a, err := parseArguments(text, "field", "to")
	if err != nil {
		return nil, err
	}
	if err := a.need("field", "to"); err != nil {
		return nil, err
	}
	p, err := a.pointer("field")
	if err != nil {
		return nil, err
	}
	if p.whole() {
		return nil, errors.New("field: the whole body has no name")
	}
	to := pointer{a.get("to"), append(append([]string{}, p.names[:len(p.names)-1]...), a.get("to"))}
	if strings.HasPrefix(a.get("to"), "/") {
		if to, err = a.pointer("to"); err != nil {
			return nil, err
		}
	}
	switch n := len(p.names) - 1; {
	case !utf8.ValidString(to.last()):
		return nil, errors.New("to: it is not valid UTF-8")
	case len(to.names)-1 != n || fmt.Sprintf("%q", to.names[:n]) != fmt.Sprintf("%q", p.names[:n]):
		return nil, fmt.Errorf("to: a field can be renamed within its object, and %s leads elsewhere", to.shown())
	}
	return fieldRepair{nameRename, a, func(d Draft) ([]byte, error) { return rename(d.Body, p, to) }}, nil
}

// rename gives a field another name, in its place. It never overwrites another one.
func rename(body []byte, p, to pointer) ([]byte, error) {
	s, err := find(body, p)
	switch {
	case err != nil:
		return nil, err
	case len(s.members) == 0 || p.last() == to.last():
		return body, nil
	case s.parent.array:
		return nil, fmt.Errorf("%s stands in an array, where nothing has a name", p.shown())
	case len(s.members) > 1:
		return nil, fmt.Errorf("the object has %s %d times, and only the last counts: under another name the one before it would count too", p.shown(), len(s.members))
	}
	if other, err := find(body, to); err != nil || len(other.members) > 0 {
		return nil, errors.Join(err, fmt.Errorf("there is a field %q already, and it would be overwritten", shorten(to.last())))
	}
	m := s.members[0]
	return splice(body, edit{m.from, m.keyTo, quoteText(to.last())}), nil
}

// quoteText writes a text as a JSON string in a body: nothing is escaped that need not be.
func quoteText(text string) string {
	return string(appendText(nil, text))
}

func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		b = appendTextByte(b, text[i])
	}
	return append(b, '"')
}

// appendTextByte adds one byte of a text to a JSON string.
func appendTextByte(b []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, '\\', 'n')
	case c == '\r':
		return append(b, '\\', 'r')
	case c == '\t':
		return append(b, '\\', 't')
	case c < ' ':
		return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
	return append(b, c)
}
