package claudesim

import (
	"encoding/json"
	"slices"
	"strconv"
)

// A generator makes a value that fits a schema. It covers the keywords that say what a value is; for those that say
// what it is not (not, if, contains of several…) the result is checked and made anew with other dice.
type generator struct {
	*muse
	root  *ordered
	depth int
}

const (
	tries    = 40
	maxNest  = 24 // of generated values, for schemas that refer to themselves
	lazyNest = 6  // from here on, what is optional is left out
)

// generate returns a value as compact JSON, and whether it fits the schema.
func generate(schema json.RawMessage, prompt string) (text string, fits bool) {
	known, err := compileSchema(schema)
	if err != nil {
		return "{}", false
	}
	for again := range tries {
		g := generator{muse: newMuse(prompt, again), root: known.root}
		text = string(encode(g.value("", known.root)))
		if known.fits(text) {
			return text, true
		}
	}
	return text, false
}

// value makes a value for a schema; name is the property that it is for, which hints at what would look right.
func (g *generator) value(name string, node any) any {
	schema, ok := node.(*ordered)
	if !ok {
		return g.phrase() // true, or no schema at all
	}
	if g.depth++; g.depth > maxNest {
		g.depth--
		return nil
	}
	defer func() { g.depth-- }()
	schema = g.flatten(schema, 0)
	if schema.has("const") {
		return schema.get("const")
	}
	if list, ok := schema.get("enum").([]any); ok && len(list) > 0 {
		return list[g.IntN(len(list))]
	}
	hints := readHints(schema)
	switch g.kind(schema) {
	case "object":
		return g.object(schema)
	case "array":
		return g.array(name, schema, hints)
	case "integer":
		return g.number(name, hints, true)
	case "number":
		return g.number(name, hints, false)
	case "boolean":
		return g.chance(0.5)
	case "null":
		return nil
	}
	return g.text(name, schema, hints)
}

// flatten follows references, picks a branch of anyOf and oneOf, and merges allOf, until a plain schema is left.
func (g *generator) flatten(schema *ordered, steps int) *ordered {
	if steps > maxNest {
		return schema
	}
	var parts []any
	if ref, ok := schema.get("$ref").(string); ok {
		if target, ok := resolve(g.root, ref); ok {
			parts = append(parts, target)
		}
	}
	if all, ok := schema.get("allOf").([]any); ok {
		parts = append(parts, all...)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches, ok := schema.get(key).([]any); ok && len(branches) > 0 {
			parts = append(parts, g.branch(branches))
		}
	}
	if len(parts) == 0 {
		return schema
	}
	merged := newOrdered()
	for _, p := range append(parts, without(schema, "$ref", "allOf", "anyOf", "oneOf")) {
		if o, ok := p.(*ordered); ok {
			merge(merged, g.flatten(o, steps+1))
		}
	}
	return merged
}

// branch picks an alternative. Deep inside, it takes the one that is the least likely to go deeper.
func (g *generator) branch(branches []any) any {
	if g.depth <= lazyNest {
		return branches[g.IntN(len(branches))]
	}
	return slices.MinFunc(branches, func(a, b any) int { return weight(a) - weight(b) })
}

func weight(node any) int {
	o, ok := node.(*ordered)
	switch {
	case !ok:
		return 1
	case o.has("$ref"), o.has("allOf"), o.has("anyOf"), o.has("oneOf"):
		return 4
	case slices.Contains(typesOf(o), "object"), slices.Contains(typesOf(o), "array"):
		return 3
	}
	return 0
}

func without(o *ordered, keys ...string) *ordered {
	rest := newOrdered()
	for _, k := range o.keys {
		if !slices.Contains(keys, k) {
			rest.set(k, o.get(k))
		}
	}
	return rest
}

// merge adds a part's keywords: properties and required are joined, of the rest the last word counts.
func merge(into, part *ordered) {
	for _, key := range part.keys {
		value := part.get(key)
		switch old := into.get(key).(type) {
		case *ordered:
			if more, ok := value.(*ordered); ok && key == "properties" {
				joined := without(old)
				for _, k := range more.keys {
					joined.set(k, more.get(k))
				}
				value = joined
			}
		case []any:
			if more, ok := value.([]any); ok && key == "required" {
				value = append(slices.Clone(old), more...)
			}
		}
		into.set(key, value)
	}
}

// kind decides on a type; null only now and then where something else is allowed.
func (g *generator) kind(schema *ordered) string {
	kinds := typesOf(schema)
	if len(kinds) == 0 {
		for _, guess := range [][2]string{{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"minItems", "array"}, {"minimum", "number"}, {"maximum", "number"}} {
			if schema.has(guess[0]) {
				return guess[1]
			}
		}
		return "string"
	}
	if i := slices.Index(kinds, "null"); i >= 0 && len(kinds) > 1 && !g.chance(0.15) {
		kinds = slices.Delete(slices.Clone(kinds), i, i+1)
	}
	return kinds[g.IntN(len(kinds))]
}

func (g *generator) object(schema *ordered) any {
	out := newOrdered()
	required, _ := schema.get("required").([]any)
	least, _ := number(schema.get("minProperties"))
	most, bounded := number(schema.get("maxProperties"))
	if props, ok := schema.get("properties").(*ordered); ok {
		optional := int(most) - len(required)
		for _, key := range props.keys {
			if !slices.Contains(required, any(key)) {
				if props.get(key) == false || g.depth > lazyNest || bounded && optional <= 0 || float64(len(props.keys)) > least && g.chance(0.3) {
					continue
				}
				optional--
			}
			out.set(key, g.value(key, props.get(key)))
		}
	}
	for _, key := range required {
		if k, ok := key.(string); ok && !out.has(k) {
			out.set(k, g.value(k, schema.get("additionalProperties")))
		}
	}
	if extra := schema.get("additionalProperties"); extra != false {
		if _, described := extra.(*ordered); described && least == 0 && !schema.has("properties") && (!bounded || most >= 2) && g.depth <= lazyNest {
			least = 2
		}
		for i := 0; float64(len(out.keys)) < least; i++ {
			key := g.word()
			if i >= len(g.words) {
				key += strconv.Itoa(i)
			}
			if !out.has(key) {
				out.set(key, g.value(key, extra))
			}
		}
	}
	return out
}
