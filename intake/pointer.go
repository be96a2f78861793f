package intake

import (
	"strings"

	"github.com/siding-dev/siding"
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

// ParsePointer reads a pointer; see [siding.ParsePointer].
func ParsePointer(text string) (Pointer, error) {
	names, err := siding.ParsePointer(text)
	var p Pointer
	for _, name := range names {
		p.tokens = append(p.tokens, token{name: name, index: arrayIndex(name)})
	}
	return p, err
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
