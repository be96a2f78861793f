package quarantine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// An argument of a repair: key=value.
type argument struct{ key, value string }

// arguments are what a repair is given after its colon.
type arguments []argument

// parseArguments reads key=value, several joined by commas. A value that has a comma in it, or begins with a quotation
// mark or white space, is written as a JSON string; one that is a JSON object or array is read to its end. known are the
// keys that may be given.
func parseArguments(text string, known ...string) (arguments, error) {
	var list arguments
	for rest := text; rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		switch {
		case !ok || strings.Contains(key, ","):
			return nil, fmt.Errorf("after %q there should be key=value, with the keys %s", shorten(consumed(text, rest)), words(known))
		case !slices.Contains(known, key):
			return nil, fmt.Errorf("%q is no argument; the arguments are %s", shorten(key), words(known))
		case list.has(key):
			return nil, fmt.Errorf("%s is given twice", key)
		}
		value, next, err := argumentValue(after)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		list = append(list, argument{key, value})
		if next == "" {
			break
		}
		if rest = next[1:]; rest == "" {
			return nil, errors.New("the arguments end in a comma")
		}
	}
	return list, nil
}

// argumentValue reads a value and gives what follows it: nothing, or a comma and more.
func argumentValue(text string) (value, rest string, err error) {
	if text == "" || !strings.ContainsRune(`"{[`, rune(text[0])) {
		value, _, _ = strings.Cut(text, ",")
		return value, text[len(value):], nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	err = dec.Decode(&raw)
	end := int(dec.InputOffset())
	if err != nil || end < len(text) && text[end] != ',' {
		if text[0] == '"' {
			return "", "", fmt.Errorf("a value that begins with a quotation mark is a JSON string, and this is none: %s", shorten(text))
		}
		// A text that only begins like an object or an array.
		value, _, _ = strings.Cut(text, ",")
		return value, text[len(value):], nil
	}
	value = text[:end]
	if text[0] == '"' {
		if err := json.Unmarshal(raw, &value); err != nil {
			return "", "", fmt.Errorf("the value cannot be read: %w", err)
		}
	}
	return value, text[end:], nil
}

func (a arguments) has(key string) bool {
	return slices.ContainsFunc(a, func(each argument) bool { return each.key == key })
}

func (a arguments) get(key string) string {
	for _, each := range a {
		if each.key == key {
			return each.value
		}
	}
	return ""
}

// need says which of the keys are missing.
func (a arguments) need(keys ...string) error {
	for _, key := range keys {
		if !a.has(key) {
			return fmt.Errorf("%s=… is missing", key)
		}
	}
	return nil
}

// pointer reads an argument that names a field.
func (a arguments) pointer(key string) (pointer, error) {
	p, err := parsePointer(a.get(key))
	if err != nil {
		return pointer{}, fmt.Errorf("%s: %w", key, err)
	}
	return p, nil
}

// String writes the arguments so that they are read again as they are.
func (a arguments) String() string {
	parts := make([]string, len(a))
	for i, each := range a {
		parts[i] = each.key + "=" + quoteArgument(each.value)
	}
	return strings.Join(parts, ",")
}

// quoteArgument writes a value as a repair takes it: as it is, where that is read again as the same.
func quoteArgument(value string) string {
	plain := !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) &&
		siding.Scrub(value, len(value)) == value && strings.TrimSpace(value) == value
	if plain {
		if read, rest, err := argumentValue(value); err == nil && rest == "" && read == value {
			return value
		}
	}
	return quoteJSON(value)
}

// quoteJSON writes a text as a JSON string. What a terminal could act on is escaped, and nothing else that need not be.
func quoteJSON(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) //nolint:errchkjson // a string can always be encoded
	quoted := strings.TrimSuffix(b.String(), "\n")
	if siding.Scrub(quoted, len(quoted)) == quoted {
		return quoted
	}
	b.Reset()
	for _, r := range quoted {
		if one := string(r); siding.Scrub(one, 0) != one {
			fmt.Fprintf(&b, `\u%04x`, r) // all of them are in the first plane
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// consumed is the part of text that comes before rest.
func consumed(text, rest string) string { return text[:len(text)-len(rest)] }

// words joins names for a sentence.
func words(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
