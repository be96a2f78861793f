package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// An object is a JSON object in the order in which it was written. A key that comes twice keeps its first place and its
// last value.
type object struct {
	keys   []string
	values map[string]any
}

// parseOrdered reads one JSON value and keeps order and numbers: *object, []any, string, json.Number, bool or nil.
func parseOrdered(text []byte) (any, error) {
	// Unmarshal bounds the nesting and refuses what follows the value; the walk over the tokens does neither.
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return readValue(dec)
}

func readValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{values: map[string]any{}}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := readValue(dec)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if _, known := o.values[name]; !known {
				o.keys = append(o.keys, name)
			}
			o.values[name] = v
		}
		_, err = dec.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := readValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	return token, nil
}

// plain gives the value as the schema library reads it.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		m := make(map[string]any, len(v.keys))
		for k, each := range v.values {
			m[k] = plain(each)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, each := range v {
			list[i] = plain(each)
		}
		return list
	}
	return v
}

// appendJSON writes the value without white space, its keys in their order, and nothing escaped that need not be.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		b = append(b, '{')
		for i, k := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, k), ':')
			b = appendJSON(b, v.values[k])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, each := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, each)
		}
		return append(b, ']')
	case string:
		return appendString(b, v)
	case json.Number:
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string) []byte {
	text, _ := asJSON(s) // a string can always be encoded
	return append(b, text...)
}

// replace puts a string in the place that the pointer names, and tells whether there was one.
func replace(v any, parts []string, s string) (any, bool) {
	if len(parts) == 0 {
		_, ok := v.(string)
		return s, ok
	}
	switch at := v.(type) {
	case *object:
		if inner, ok := at.values[parts[0]]; ok {
			changed, ok := replace(inner, parts[1:], s)
			if ok {
				at.values[parts[0]] = changed
			}
			return at, ok
		}
	case []any:
		if i, err := strconv.Atoi(parts[0]); err == nil && i >= 0 && i < len(at) {
			changed, ok := replace(at[i], parts[1:], s)
			if ok {
				at[i] = changed
			}
			return at, ok
		}
	}
	return v, false
}

// maxExponent bounds the numbers that are compared with a schema: the library writes them out in full, and
// 1e999999999 would take all memory.
const maxExponent = 10_000

// hugeNumber finds a number that cannot be checked.
func hugeNumber(v any, at []string) error {
	switch v := v.(type) {
	case map[string]any:
		for k, each := range v {
			if err := hugeNumber(each, append(at, k)); err != nil {
				return err
			}
		}
	case []any:
		for i, each := range v {
			if err := hugeNumber(each, append(at, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case json.Number:
		if at10 := strings.LastIndexAny(string(v), "eE"); at10 >= 0 {
			if n, err := strconv.Atoi(string(v)[at10+1:]); err != nil || n > maxExponent || n < -maxExponent {
				return fmt.Errorf("at %q: the number %s is too large to be checked", joinPointer(at), cut(string(v), shown))
			}
		}
	}
	return nil
}
