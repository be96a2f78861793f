package siding

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParsePointer reads a JSON Pointer (RFC 6901) like /id, /meta/id or /rows/0, and gives the names that lead from a record
// to one of its values. In a name, ~1 stands for / and ~0 for ~. The empty text gives no names: the whole record.
func ParsePointer(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	shown := strings.ReplaceAll(Scrub(text, 200), "\n", `\n`)
	switch {
	case !utf8.ValidString(text):
		return nil, errors.New("the JSON Pointer is not valid UTF-8")
	case text[0] != '/':
		return nil, fmt.Errorf("a JSON Pointer begins with /; did you mean %q?", "/"+shown)
	}
	names := strings.Split(text[1:], "/")
	for i, name := range names {
		for at := range len(name) {
			if name[at] == '~' && (at+1 == len(name) || name[at+1] != '0' && name[at+1] != '1') {
				return nil, fmt.Errorf("in the JSON Pointer %q a ~ is followed by neither 0 nor 1; ~0 stands for ~ and ~1 for /", shown)
			}
		}
		names[i] = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
	}
	return names, nil
}
