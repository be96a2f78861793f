package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Structured output takes a part of JSON Schema only, and the service refuses a request with any more. So it is told a
// reduced copy of the schema, while answers are checked against the whole one. What the copy cannot say, a model mostly
// obeys when the description says it. By the service's documentation of August 2026 and the SDK's own transformation.

// wireSchema gives the copy of a schema that structured output takes: the schema's own bytes when it takes those. Every
// value that fits the schema fits the copy, unless it has properties that the schema does not name. The error says
// where the schema says something that the copy must not leave out.
func (s *Schema) wireSchema() (json.RawMessage, error) {
	v, err := parseOrdered(s.raw)
	if err != nil {
		return nil, err // not reached: it has been compiled
	}
	root, ok := v.(*object)
	switch {
	case v == false:
		return nil, errors.New("no answer fits it")
	case !ok: // true, which must be sent as an object
		return json.RawMessage("{}"), nil
	}
	r := reducer{root: root, sites: map[*object][]site{}}
	reduced, err := r.reduce(root, nil)
	if err == nil {
		err = r.recursion()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; or set via: tool, which takes any schema", err)
	}
	text := appendJSON(nil, reduced)
	if bytes.Equal(text, appendJSON(nil, root)) {
		return s.raw, nil
	}
	return text, nil
}

// A reducer walks over a schema once.
type reducer struct {
	root  *object
	sites map[*object][]site // of definitions
	calls []reference
}

// definitions are where a schema keeps what references go to. A reference to anywhere else could not be followed in the
// copy, where things move.
var definitions = []string{"$defs", "definitions"}

// reduce gives the copy of a schema that stands at a place; the schema itself is not changed.
func (r *reducer) reduce(node any, at []string) (any, error) {
	schema, ok := node.(*object)
	if !ok {
		return node, nil // true or false
	}
	out := newObject()
	if ref, ok := schema.values["$ref"].(string); ok {
		if err := r.refer(ref, at); err != nil {
			return nil, err
		}
		out.set("$ref", ref) // nothing may stand beside it
		return out, r.definitions(schema, out, at)
	}
	if err := r.check(schema, at); err != nil {
		return nil, err
	}
	var hints []string
	for _, key := range schema.keys {
		value, known, err := r.keyword(schema, key, at)
		switch {
		case err != nil:
			return nil, err
		case known == sent:
			out.set(key, value)
		case known == told:
			hints = append(hints, key+": "+string(appendJSON(nil, schema.values[key])))
		case known == renamed:
			out.set("anyOf", value)
		}
	}
	r.shape(schema, out)
	if len(hints) > 0 {
		text, _ := out.values["description"].(string)
		if text != "" {
			text += "\n\n"
		}
		out.set("description", text+"{"+strings.Join(hints, ", ")+"}")
	}
	return out, r.definitions(schema, out, at)
}

// definitions reduces what the root keeps for references.
func (r *reducer) definitions(schema, out *object, at []string) error {
	if len(at) > 0 {
		return nil // references go to the root's only
	}
	for _, key := range definitions {
		named, ok := schema.values[key].(*object)
		if !ok {
			continue
		}
		copied, err := r.each(named, []string{key})
		if err != nil {
			return err
		}
		out.set(key, copied)
	}
	return nil
}

// each reduces the schemas that an object holds by name.
func (r *reducer) each(named *object, at []string) (*object, error) {
	out := newObject()
	for _, name := range named.keys {
		inner, err := r.reduce(named.values[name], append(slices.Clip(at), name))
		if err != nil {
			return nil, err
		}
		out.set(name, inner)
	}
	return out, nil
}

// list reduces the schemas of a list.
func (r *reducer) list(node any, at []string) (any, error) {
	list, _ := node.([]any)
	out := make([]any, len(list))
	for i, each := range list {
		inner, err := r.reduce(each, append(slices.Clip(at), fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		out[i] = inner
	}
	return out, nil
}

// shape closes an object that names its properties. One that leaves them to its branches is no object by itself: closed,
// it would allow none of theirs.
func (r *reducer) shape(schema, out *object) {
	switch {
	case closing(schema):
		out.set("additionalProperties", false)
	case schema.has("additionalProperties") && nameless(schema) && schema.values["additionalProperties"] != false:
		out.remove("properties") // an empty list, beside which no others are taken
	case branched(schema) && slices.Contains(typesOf(schema), "object") && !schema.has("additionalProperties"):
		out.remove("type")
	}
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

func (o *object) set(key string, v any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

func (o *object) remove(key string) {
	delete(o.values, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
}
