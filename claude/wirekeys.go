package claude

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A fate of a keyword in the copy that is sent.
type keywordFate int

const (
	dropped keywordFate = iota // it says nothing about values
	sent
	told    // it goes into the description
	renamed // it becomes anyOf
)

// plainKeywords are sent as they are.
var plainKeywords = []string{"type", "title", "description", "properties", "required"}

// quietKeywords say nothing about values, or nothing that a model needs.
var quietKeywords = []string{
	"$schema", "$id", "$anchor", "$comment", "$vocabulary", "$defs", "definitions", "deprecated", "readOnly", "writeOnly",
}

// wireFormats are the formats of texts that structured output knows.
var wireFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// hardPattern finds what a regular expression must not have: groups with a question mark, references back, word
// boundaries.
var hardPattern = regexp.MustCompile(`\(\?|\\[1-9bBkpP]`)

// keyword says what becomes of a keyword, and gives its value in the copy.
func (r *reducer) keyword(schema *object, key string, at []string) (any, keywordFate, error) {
	value := schema.values[key]
	place := append(slices.Clip(at), key)
	var err error
	switch key {
	case "properties":
		if named, ok := value.(*object); ok {
			value, err = r.each(named, place)
		}
		return value, sent, err
	case "items":
		// What stands in front of the other items is not sent, and then items is not about all of them.
		if _, several := value.([]any); several || schema.has("prefixItems") {
			return nil, told, nil
		}
		value, err = r.reduce(value, place)
		return value, sent, err
	case "additionalProperties":
		value, err = r.reduce(value, place)
		return value, sent, err
	case "anyOf", "allOf":
		value, err = r.list(value, place)
		return value, sent, err
	case "oneOf":
		if schema.has("anyOf") {
			return nil, told, nil
		}
		value, err = r.list(value, place)
		return value, renamed, err
	case "$dynamicRef", "$recursiveRef":
		return nil, dropped, wireFault(place, "structured output follows no %s", key)
	}
	switch {
	case slices.Contains(plainKeywords, key), simple(key, value):
		return value, sent, nil
	case slices.Contains(quietKeywords, key):
		return nil, dropped, nil
	}
	return nil, told, nil
}

// simple tells whether a keyword is one whose value decides, with a value that structured output takes.
func simple(key string, value any) bool {
	switch key {
	case "enum":
		list, _ := value.([]any)
		return !slices.ContainsFunc(list, composite)
	case "const":
		return !composite(value)
	case "format":
		name, _ := value.(string)
		return slices.Contains(wireFormats, name)
	case "pattern":
		text, _ := value.(string)
		return !hardPattern.MatchString(text)
	case "minItems":
		n, _ := value.(json.Number)
		return n == "0" || n == "1"
	}
	return false
}

func composite(v any) bool {
	switch v.(type) {
	case *object, []any:
		return true
	}
	return false
}

// check refuses what the copy can neither say nor leave out.
func (r *reducer) check(schema *object, at []string) error {
	if len(at) > 0 && schema.has("$id") {
		return wireFault(append(slices.Clip(at), "$id"), "structured output takes an $id at the root only")
	}
	if schema.has("patternProperties") {
		return wireFault(append(slices.Clip(at), "patternProperties"), "structured output needs properties with names of their own")
	}
	properties, _ := schema.values["properties"].(*object)
	extra := schema.values["additionalProperties"]
	switch {
	case !slices.Contains(typesOf(schema), "object"):
	case !nameless(schema):
		if schema.has("additionalProperties") && !anything(extra) && extra != false {
			return wireFault(append(slices.Clip(at), "additionalProperties"), "structured output takes no other properties beside named ones; name all of them in properties")
		}
		required, _ := schema.values["required"].([]any)
		for i, each := range required {
			if name, ok := each.(string); ok && !properties.has(name) && closing(schema) {
				return wireFault(append(slices.Clip(at), "required", fmt.Sprint(i)), "structured output needs %q among the properties, which are all that an object may have", cut(name, shown))
			}
		}
	case !schema.has("additionalProperties") && !branched(schema):
		return wireFault(at, "structured output needs to know what an object has; name its properties, or give additionalProperties a schema")
	}
	return r.together(schema, at)
}

// nameless tells whether a schema names no properties.
func nameless(schema *object) bool {
	properties, _ := schema.values["properties"].(*object)
	return properties == nil || len(properties.keys) == 0
}

// closing tells whether a schema is an object with named properties that does not forbid others, which the copy does.
func closing(schema *object) bool {
	return slices.Contains(typesOf(schema), "object") && !nameless(schema) &&
		(!schema.has("additionalProperties") || anything(schema.values["additionalProperties"]))
}

// branched tells whether a schema leaves the properties of an object to anyOf, oneOf or allOf.
func branched(schema *object) bool {
	return nameless(schema) && (schema.has("anyOf") || schema.has("oneOf") || schema.has("allOf"))
}

// anything tells whether a schema is fit by every value.
func anything(schema any) bool {
	o, ok := schema.(*object)
	return schema == true || ok && len(o.keys) == 0
}

func typesOf(schema *object) []string {
	switch t := schema.values["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var list []string
		for _, each := range t {
			if name, ok := each.(string); ok {
				list = append(list, name)
			}
		}
		return list
	}
	return nil
}

func wireFault(at []string, format string, args ...any) error {
	return fmt.Errorf("at %q: %s", joinPointer(at), strings.TrimSpace(fmt.Sprintf(format, args...)))
}
