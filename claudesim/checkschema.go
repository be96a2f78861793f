package claudesim

import (
	"encoding/json"
	"fmt"
	"slices"
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
	if raw[0] != '{' {
		c.refuse("%s: Input should be a valid dictionary", at)
		return
	}
	known, err := compileSchema(raw)
	switch {
	case err != nil:
		c.refuse("%s: JSON schema is invalid. It must match JSON Schema draft 2020-12.", at)
	case strict && known.refusal == samples["grammar"].message:
		c.refuse("%s", known.refusal)
	case strict && known.refusal != "":
		c.refuse("%s: %s", at, known.refusal)
	}
}
