package claudesim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkFormat reads output_config. A schema there is compiled into a grammar by the service, which supports a part of
// JSON Schema only and refuses the rest, for every row of a job alike.
func (c *checker) checkFormat() {
	raw, ok := c.fields["output_config"]
	if !ok || string(raw) == "null" {
		return
	}
	var config struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
		Effort string `json:"effort"`
	}
	if json.Unmarshal(raw, &config) != nil {
		c.refuse("output_config: Input should be a valid dictionary")
		return
	}
	if config.Format == nil {
		return
	}
	switch {
	case config.Format.Type != "json_schema":
		c.refuse("output_config.format: Input tag '%s' found using 'type' does not match any of the expected tags: 'json_schema'", config.Format.Type)
		return
	case len(config.Format.Schema) == 0:
		c.refuse("output_config.format.json_schema.schema: Field required")
		return
	}
	const at = "output_config.format.schema"
	c.checkSchema(at, config.Format.Schema, !c.rules.lenient)
	c.format = config.Format.Schema
	c.tokens += tokensForSchema + tokensOf(string(c.format), c.spec)
	c.prefix.Write(c.format)
}

// checkTools reads the tools and which of them must be called. A strict tool's schema obeys the grammar's limits, any
// other may be any JSON Schema.
func (c *checker) checkTools() {
	var tools []tool
	if raw, ok := c.fields["tools"]; ok && string(raw) != "null" {
		if json.Unmarshal(raw, &tools) != nil {
			c.refuse("tools: Input should be a valid list")
			return
		}
		c.tokens += tokensForTools + tokensOf(string(raw), c.spec)
		c.prefix.Write(raw)
	}
	for i, t := range tools {
		at := fmt.Sprintf("tools.%d.custom", i)
		switch {
		case t.Type != "" && t.Type != "custom":
			continue // a tool that the service itself defines
		case t.Name == "":
			c.refuse("%s.name: Field required", at)
		case len(t.Name) > 128:
			c.refuse("%s.name: String should have at most 128 characters", at)
		case len(t.Schema) == 0:
			c.refuse("%s.input_schema: Field required", at)
		default:
			var root struct{ Type any }
			if json.Unmarshal(t.Schema, &root) == nil && root.Type != "object" {
				c.refuse("%s.input_schema.type: Input should be 'object'", at)
			}
			c.checkSchema(at+".input_schema", t.Schema, t.Strict && !c.rules.lenient)
		}
	}
	c.choose(tools)
}

func (c *checker) choose(tools []tool) {
	raw, ok := c.fields["tool_choice"]
	if !ok || string(raw) == "null" {
		return
	}
	var choice struct{ Type, Name string }
	if json.Unmarshal(raw, &choice) != nil {
		c.refuse("tool_choice: Input should be a valid dictionary")
		return
	}
	switch choice.Type {
	case "auto", "none":
	case "any", "tool":
		if len(tools) == 0 {
			c.refuse("tool_choice: tool_choice may only be specified while providing tools")
			return
		}
		at := 0
		if choice.Type == "tool" {
			at = slices.IndexFunc(tools, func(t tool) bool { return t.Name == choice.Name })
		}
		if at < 0 {
			c.refuse("Tool '%s' not found in provided tools", choice.Name)
			return
		}
		c.tool = &tools[at]
	default:
		c.refuse("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", choice.Type)
	}
}

// checkSchema refuses what is no schema and, when strict, what the grammar does not support.
func (c *checker) checkSchema(at string, raw json.RawMessage, strict bool) {
	root, ok := parseOrdered(raw).(*ordered)
	if !ok {
		c.refuse("%s: Input should be a valid dictionary", at)
		return
	}
	if _, err := compileSchema(raw); err != nil {
		c.refuse("%s: JSON schema is invalid. It must match JSON Schema draft 2020-12.", at)
		return
	}
	if strict {
		g := grammar{root: root, optional: 0}
		if msg := g.unsupported(root, nil); msg != "" {
			c.refuse("%s: %s", at, msg)
		} else if g.nodes > maxGrammarNodes || g.optional > maxOptional {
			c.refuse("%s", samples["grammar"].message)
		}
	}
}

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
