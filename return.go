package siding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ReturnResult gives the body of a message into which a result has come: the value that field (a JSON Pointer) names is
// replaced, or added at the end of the object it belongs in. A result that is JSON goes in as it is, anything else as a
// JSON text. Everything else in the body keeps its bytes. Of a key that an object has twice, the last value is the one
// that counts.
//
// The error says what is wrong: the body or the result cannot be used, or there is no place for the field. An element of
// an array is replaced, never added.
func ReturnResult(body []byte, field string, result []byte) ([]byte, error) {
	names, err := ParsePointer(field)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no field is named for the result")
	}
	value, err := resultValue(result)
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, errors.New("the body is not valid JSON, so that the result has no place in it")
	}
	from, to, add, err := placeOf(body, names)
	if err != nil {
		return nil, fmt.Errorf("the result has no place at %s: %w", shownPointer(names), err)
	}
	return bytes.Join([][]byte{body[:from], add, value, body[to:]}, nil), nil
}

// resultValue gives a result as the JSON value that goes in.
func resultValue(result []byte) ([]byte, error) {
	value := bytes.TrimSpace(result)
	switch {
	case len(value) == 0:
		return nil, errors.New("there is no result")
	case !utf8.Valid(value):
		return nil, errors.New("the result is not valid UTF-8")
	case json.Valid(value):
		return value, nil
	}
	return json.Marshal(string(result))
}

// placeOf gives the bytes of valid JSON that the value at a pointer replaces, and what has to stand before it: a comma
// and a key, where it is added to an object.
func placeOf(body []byte, names []string) (from, to int, add []byte, err error) {
	at := skipSpace(body, 0)
	for i, name := range names {
		last := i == len(names)-1
		var found bool
		var end int // where a member can be added
		switch body[at] {
		case '{':
			from, end, found = memberNamed(body, at, name)
		case '[':
			if from, found = elementAt(body, at, name); !found {
				return 0, 0, nil, fmt.Errorf("%s is a list without such an element", shownPointer(names[:i]))
			}
		default:
			return 0, 0, nil, fmt.Errorf("%s is neither an object nor a list", shownPointer(names[:i]))
		}
		switch {
		case !found && !last:
			return 0, 0, nil, fmt.Errorf("there is no %s", shownPointer(names[:i+1]))
		case !found:
			return end, end, memberStart(at, end, name), nil
		}
		at = from
	}
	return at, skipValue(body, at), nil, nil
}

// memberStart is what stands before the value of a member that is added to the object at a place.
func memberStart(object, end int, name string) []byte {
	key, _ := json.Marshal(name) //nolint:errchkjson // a text can always be encoded
	if end == object+1 {
		return append(key, ':')
	}
	return append(append([]byte{','}, key...), ':')
}

// shownPointer writes names as a JSON Pointer for an error; the whole record has none.
func shownPointer(names []string) string {
	if len(names) == 0 {
		return "the record"
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + escape.Replace(name))
	}
	return strings.ReplaceAll(Scrub(b.String(), 200), "\n", `\n`)
}

// The rest walks over JSON that is known to be valid: no index is out of range, and the nesting is bounded.

// memberNamed gives where the value of an object's last member of a name begins, and where another could be added: behind
// the last value, or right behind the brace.
func memberNamed(body []byte, at int, name string) (value, end int, found bool) {
	end = at + 1
	for at = skipSpace(body, at+1); body[at] != '}'; {
		keyEnd := skipString(body, at)
		same := keyIs(body[at:keyEnd], name)
		at = skipSpace(body, skipSpace(body, keyEnd)+1) // over the colon
		if same {
			value, found = at, true
		}
		end = skipValue(body, at)
		if at = skipSpace(body, end); body[at] == ',' {
			at = skipSpace(body, at+1)
		}
	}
	return value, end, found
}

// keyIs tells whether a key in its quotes stands for a name.
func keyIs(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var key string
	return json.Unmarshal(quoted, &key) == nil && key == name
}

// elementAt gives where an element of a list begins; its name is its number, written as JSON Pointers write it.
func elementAt(body []byte, at int, name string) (int, bool) {
	n, err := strconv.ParseUint(name, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != name {
		return 0, false
	}
	for at = skipSpace(body, at+1); body[at] != ']'; n-- {
		if n == 0 {
			return at, true
		}
		if at = skipSpace(body, skipValue(body, at)); body[at] == ',' {
			at = skipSpace(body, at+1)
		}
	}
	return 0, false
}

func skipSpace(body []byte, at int) int {
	for body[at] == ' ' || body[at] == '\n' || body[at] == '\t' || body[at] == '\r' {
		at++
	}
	return at
}

// skipString gives the end of the text that begins at a quote.
func skipString(body []byte, at int) int {
	for at++; body[at] != '"'; at++ {
		if body[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipValue gives the end of the value that begins at a place.
func skipValue(body []byte, at int) int {
	for depth := 0; ; {
		switch c := body[at]; {
		case c == '"':
			at = skipString(body, at)
		case c == '{' || c == '[':
			depth++
			at++
		case c == '}' || c == ']':
			depth--
			at++
		case strings.IndexByte(" \t\r\n,:", c) >= 0:
			at++
			continue
		default: // a number or a word
			for at < len(body) && strings.IndexByte(" \t\r\n,:]}", body[at]) < 0 {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
}
