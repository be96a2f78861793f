package claude

import (
	"slices"
	"strings"
)

// A reference stands in one definition, or outside all of them, and goes to another.
type reference struct {
	from, to string
	at       []string
}

// refer notes a reference and refuses what structured output does not follow.
func (r *reducer) refer(ref string, at []string) error {
	place := append(slices.Clip(at), "$ref")
	if ref == "#" {
		return wireFault(place, "structured output takes no schema that contains itself; write out the levels that are needed")
	}
	if r.definition(ref) == nil {
		return wireFault(place, "structured output follows references like #/$defs/name only, and this is %q", cut(ref, shown))
	}
	from := ""
	if len(at) > 1 && slices.Contains(definitions, at[0]) {
		from = "#" + joinPointer(at[:2])
	}
	r.calls = append(r.calls, reference{from: from, to: ref, at: place})
	return nil
}

// definition gives what a reference goes to; nil: not a definition of the root.
func (r *reducer) definition(ref string) any {
	rest, ok := strings.CutPrefix(ref, "#/")
	where, name, _ := strings.Cut(rest, "/")
	named, _ := r.root.values[where].(*object)
	if !ok || named == nil || !slices.Contains(definitions, where) || strings.Contains(name, "/") {
		return nil
	}
	return named.values[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
}

// recursion refuses definitions that contain themselves, at the reference that closes the ring.
func (r *reducer) recursion() error {
	from := map[string][]reference{}
	for _, c := range r.calls {
		from[c.from] = append(from[c.from], c)
	}
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(name string) error
	visit = func(name string) error {
		state[name] = open
		for _, c := range from[name] {
			switch state[c.to] {
			case open:
				return wireFault(c.at, "structured output takes no schema that contains itself (%s); write out the levels that are needed", cut(c.to, shown))
			case done:
				continue
			}
			if err := visit(c.to); err != nil {
				return err
			}
		}
		state[name] = done
		return nil
	}
	for _, c := range r.calls { // in the order of the document
		if state[c.from] == 0 {
			if err := visit(c.from); err != nil {
				return err
			}
		}
	}
	return nil
}

// A site is what one of the schemas that hold for the same value says about the properties of an object.
type site struct {
	names  []string
	closed bool // the copy forbids all others
}

// maxSites bounds how many schemas may hold for one value.
const maxSites = 1_000

// together refuses schemas that hold for the same object and name different properties: each of the copies would forbid
// the other's.
func (r *reducer) together(schema *object, at []string) error {
	groups := [][]site{ownSite(schema)}
	all, _ := schema.values["allOf"].([]any)
	for _, branch := range all {
		groups = append(groups, r.sitesOf(branch))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		var alternatives []site
		list, _ := schema.values[key].([]any)
		for _, branch := range list {
			alternatives = append(alternatives, r.sitesOf(branch)...)
		}
		groups = append(groups, alternatives)
	}
	for i, group := range groups {
		for j, other := range groups {
			if i != j && clash(group, other) {
				return wireFault(at, "structured output needs all properties of an object in one place; here anyOf, oneOf or allOf spread them over several")
			}
		}
	}
	return nil
}

func clash(group, other []site) bool {
	names := map[string]bool{}
	for _, s := range other {
		for _, name := range s.names {
			names[name] = true
		}
	}
	for _, s := range group {
		if !s.closed {
			continue
		}
		missing := len(names)
		for _, name := range s.names {
			if names[name] {
				missing--
			}
		}
		if missing > 0 {
			return true
		}
	}
	return false
}

func ownSite(schema *object) []site {
	if nameless(schema) {
		return nil
	}
	properties, _ := schema.values["properties"].(*object)
	return []site{{names: properties.keys, closed: closing(schema)}}
}

// sitesOf gives the sites of a schema and of all that hold for the same value with it.
func (r *reducer) sitesOf(node any) []site {
	schema, ok := node.(*object)
	if !ok {
		return nil
	}
	if known, ok := r.sites[schema]; ok {
		return known
	}
	r.sites[schema] = nil // a ring ends here; it is refused elsewhere
	var list []site
	if ref, ok := schema.values["$ref"].(string); ok {
		list = r.sitesOf(r.definition(ref)) // what stands beside a reference is not sent
	} else {
		list = ownSite(schema)
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			branches, _ := schema.values[key].([]any)
			for _, branch := range branches {
				list = append(list, r.sitesOf(branch)...)
			}
		}
	}
	r.sites[schema] = slices.Clip(list[:min(len(list), maxSites)])
	return r.sites[schema]
}
