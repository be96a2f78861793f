package intake

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pointer is a JSON Pointer (RFC 6901): the names and places that lead from a record to one of its values. The empty
// pointer stands for no value here, not for the whole record.
type Pointer struct {
	tokens []token
}

// token is one step: a member's name and, where it can be one, an element's index.
type token struct {
	name  string
	index int // -1: not an index
}

// ParsePointer reads a pointer like /id, /meta/id or /rows/0. In a name, ~1 stands for / and ~0 for ~. The empty text
// gives the empty pointer.
func ParsePointer(text string) (Pointer, error) {
	if text == "" {
		return Pointer{}, nil
	}
	if !utf8.ValidString(text) {
		return Pointer{}, fmt.Errorf("the JSON Pointer %q is not valid UTF-8", show(text))
	}
	if text[0] != '/' {
		return Pointer{}, fmt.Errorf("a JSON Pointer begins with /; did you mean %q?", "/"+show(text))
	}
	var p Pointer
	for name := range strings.SplitSeq(text[1:], "/") {
		for i := 0; i < len(name); i++ {
			if name[i] == '~' && (i+1 == len(name) || name[i+1] != '0' && name[i+1] != '1') {
				return Pointer{}, fmt.Errorf("in the JSON Pointer %q a ~ is followed by neither 0 nor 1; ~0 stands for ~ and ~1 for /", show(text))
			}
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		p.tokens = append(p.tokens, token{name: name, index: arrayIndex(name)})
	}
	return p, nil
}

// IsZero tells whether the pointer is the empty one.
func (p Pointer) IsZero() bool { return len(p.tokens) == 0 }

// String writes the pointer as RFC 6901 has it.
func (p Pointer) String() string {
	var b strings.Builder
	for _, t := range p.tokens {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(t.name))
	}
	return b.String()
}

// arrayIndex reads an index as RFC 6901 has it: digits without leading zeros.
func arrayIndex(name string) int {
	if name == "" || len(name) > 9 || name[0] == '0' && len(name) > 1 {
		return -1
	}
	n := 0
	for _, c := range []byte(name) {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
