package claudesim

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of one grammar. The service publishes the number of optional parameters; the size stands for its own measure.
const (
	maxOptional     = 24
	maxGrammarNodes = 2000
)

var stringFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// unsupportedKeys by type: constraints that a grammar cannot express.
var unsupportedKeys = map[string][]string{
	"string":  {"minLength", "maxLength"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"array":   {"maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "unevaluatedItems"},
	"object":  {"minProperties", "maxProperties", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"},
}

// grammarRefusal is what the service says of a schema that its grammar cannot express, or "".
func grammarRefusal(root *ordered) string {
	g := grammar{root: root}
	if msg := g.unsupported(root, nil); msg != "" {
		return msg
	}
	if g.nodes > maxGrammarNodes || g.optional > maxOptional {
		return samples["grammar"].message
	}
	return ""
}

type grammar struct {
	root            *ordered
	nodes, optional int
}

// unsupported returns the first complaint about a schema, or "". open are the references being followed: meeting one
// again is a recursion, which a grammar cannot follow.
func (g *grammar) unsupported(node any, open []string) string {
	schema, ok := node.(*ordered)
	if !ok {
		return ""
	}
	if g.nodes++; g.nodes > maxGrammarNodes {
		return ""
	}
	if ref, ok := schema.get("$ref").(string); ok {
		if !strings.HasPrefix(ref, "#") {
			return fmt.Sprintf("External $ref '%s' is not supported", ref)
		}
		if slices.Contains(open, ref) {
			return "Recursive schemas are not supported: " + ref
		}
		target, _ := resolve(g.root, ref)
		return g.unsupported(target, append(slices.Clone(open), ref))
	}
	for _, key := range []string{"oneOf", "not", "if", "then", "else"} {
		if schema.has(key) {
			return fmt.Sprintf("Schema keyword '%s' is not supported", key)
		}
	}
	for _, kind := range typesOf(schema) {
		if msg := g.unsupportedFor(kind, schema); msg != "" {
			return msg
		}
	}
	return g.inner(schema, open)
}

func (g *grammar) unsupportedFor(kind string, schema *ordered) string {
	for _, key := range unsupportedKeys[kind] {
		if schema.has(key) {
			return fmt.Sprintf("For '%s' type, property '%s' is not supported", kind, key)
		}
	}
	switch kind {
	case "object":
		if schema.has("properties") && schema.get("additionalProperties") != false || !schema.has("additionalProperties") {
			return "For 'object' type, 'additionalProperties' must be explicitly set to false"
		}
	case "array":
		if n, ok := number(schema.get("minItems")); ok && n != 0 && n != 1 {
			return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
		}
	case "string":
		if f, ok := schema.get("format").(string); ok && !slices.Contains(stringFormats, f) {
			return fmt.Sprintf("For 'string' type, format '%s' is not supported", f)
		}
	}
	return ""
}

func (g *grammar) inner(schema *ordered, open []string) string {
	if props, ok := schema.get("properties").(*ordered); ok {
		required, _ := schema.get("required").([]any)
		g.optional += max(0, len(props.keys)-len(required))
		for _, key := range props.keys {
			if msg := g.unsupported(props.get(key), open); msg != "" {
				return msg
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if msg := g.unsupported(schema.get(key), open); msg != "" {
			return msg
		}
	}
	for _, key := range []string{"anyOf", "allOf"} {
		branches, _ := schema.get(key).([]any)
		for _, b := range branches {
			if msg := g.unsupported(b, open); msg != "" {
				return msg
			}
		}
	}
	return ""
}
