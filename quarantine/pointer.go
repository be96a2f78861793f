package quarantine

import (
	"strconv"
	"strings"

	"github.com/siding-dev/siding"
)

// A pointer names a field.
type pointer struct {
	text  string
	names []string
}

func parsePointer(text string) (pointer, error) {
	names, err := siding.ParsePointer(text)
	return pointer{text, names}, err
}

// last gives the name of the field in its object, or its place in its array; whole is false for the whole body.
func (p pointer) last() string { return p.names[len(p.names)-1] }

// whole tells whether the pointer names the whole body.
func (p pointer) whole() bool { return len(p.names) == 0 }

// shown gives the pointer for a text.
func (p pointer) shown() string {
	if p.whole() {
		return "the body"
	}
	return shorten(p.text)
}

// appendName adds a name to a pointer's text.
func appendName(b []byte, name string) []byte {
	b = append(b, '/')
	if !strings.ContainsAny(name, "~/") {
		return append(b, name...)
	}
	return append(b, strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")...)
}

// arrayIndex reads a name as the place in an array, as RFC 6901 has it.
func arrayIndex(name string) (int, bool) {
	if name == "" || name[0] == '0' && len(name) > 1 || name[0] < '0' || name[0] > '9' {
		return 0, false
	}
	i, err := strconv.Atoi(name)
	return i, err == nil
}
