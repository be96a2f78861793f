package quarantine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/siding-dev/siding/claude"
)

// triedUpTo bounds the bodies on which repairs for single fields are tried out, in bytes.
const triedUpTo = 1 << 20

// checkSchema finds where the body does not fit the input schema; where the body is broken, what is left of it when it is
// mended.
func checkSchema(_ context.Context, e *exam) ([]Finding, int) {
	if !e.json || e.mended == nil || e.f.InputSchema == nil {
		return nil, 0
	}
	schema, err := claude.CompileSchema(e.f.InputSchema)
	if err != nil {
		return []Finding{{Code: "unusable-schema", Text: "the input schema cannot be used: " + err.Error()}}, 1
	}
	found, n, err := schema.Violations(e.mended, MaxFindings)
	if err != nil {
		return []Finding{{Code: "unchecked", Text: "the body cannot be compared with the input schema: " + err.Error(), Fault: true}}, 1
	}
	list := make([]Finding, len(found))
	for i, v := range found {
		f := Finding{Code: "schema-violation", Pointer: new(v.Pointer), Fault: true}
		f.Text = fmt.Sprintf("it does not fit the input schema: at %q: %s (it is %s)", v.Pointer, v.Text, v.Got)
		if len(v.Missing) > 0 {
			f.Code = "missing-field"
		}
		if len(e.steps) > 0 {
			f.Text = "once the body is mended: " + f.Text
		}
		if repair := e.fitRepair(schema, v, n); repair != "" {
			f.Repairs = []string{repair}
		}
		list[i] = e.placed(f, v.Pointer)
	}
	return list, n
}

// placed adds where in the body a field stands, when the body is as it was received.
func (e *exam) placed(f Finding, at string) Finding {
	if !e.whole() || len(e.body) > triedUpTo {
		return f
	}
	p, err := parsePointer(at)
	if err != nil {
		return f
	}
	if s, err := find(e.body, p); err == nil && len(s.members) > 0 {
		return e.at(f, s.members[len(s.members)-1].value)
	}
	return f
}

// fitRepair gives a repair with which a violation goes away and nothing is made up: a field that may not be there is
// dropped, one that is spelled otherwise is renamed, a number that should be a text becomes one, and the other way round.
func (e *exam) fitRepair(schema *claude.Schema, v claude.Violation, violations int) string {
	if len(e.mended) > triedUpTo {
		return ""
	}
	for _, text := range e.fitCandidates(v) {
		r, err := ParseRepair(text)
		if err != nil {
			continue
		}
		d, err := r.Apply(context.Background(), Draft{Body: e.mended})
		if err != nil {
			continue
		}
		if _, n, err := schema.Violations(d.Body, 0); err == nil && n < violations {
			return text
		}
	}
	return ""
}

func (e *exam) fitCandidates(v claude.Violation) (list []string) {
	if len(v.Missing) == 1 {
		for _, other := range e.names(v.Pointer) {
			if sameSpelling(other, v.Missing[0]) {
				at := string(appendName([]byte(v.Pointer), other))
				list = append(list, nameRename+":"+arguments{{"field", at}, {"to", asTo(v.Missing[0], v.Pointer)}}.String())
			}
		}
	}
	if len(v.Extra) == 1 {
		list = append(list, nameDrop+":"+arguments{{"field", string(appendName([]byte(v.Pointer), v.Extra[0]))}}.String())
	}
	if len(v.Types) == 0 || v.Pointer == "" {
		return list
	}
	p, err := parsePointer(v.Pointer)
	if err != nil {
		return list
	}
	s, err := find(e.mended, p)
	if err != nil || len(s.members) == 0 {
		return list
	}
	m := s.members[len(s.members)-1]
	got := string(e.mended[m.value:m.end])
	set := func(value string) {
		list = append(list, nameSet+":"+arguments{{"field", v.Pointer}, {"value", value}}.String())
	}
	switch {
	case got == "null" && !s.parent.array: // in an array the others would move up
		list = append(list, nameDrop+":"+arguments{{"field", v.Pointer}}.String())
	case got == "null" || len(got) > shown:
	case got[0] == '"':
		if inner := strings.TrimSpace(unquote([]byte(got))); inner != "" && inner[0] != '"' && json.Valid([]byte(inner)) {
			set(inner)
		}
	case slices.Contains(v.Types, "string") && got[0] != '{' && got[0] != '[':
		set(quoteText(got))
	}
	return list
}

// names lists the fields of the object at a place.
func (e *exam) names(at string) (list []string) {
	var object map[string]json.RawMessage
	p, err := parsePointer(at)
	if err != nil {
		return nil
	}
	s, err := find(e.mended, p)
	if err != nil || len(s.members) == 0 {
		return nil
	}
	m := s.members[len(s.members)-1]
	if json.Unmarshal(e.mended[m.value:m.end], &object) != nil {
		return nil
	}
	for name := range object {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// sameSpelling tells whether two names differ only in capitals, hyphens, underscores and spaces.
func sameSpelling(a, b string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	return a != b && strings.EqualFold(plain.Replace(a), plain.Replace(b))
}

// asTo writes a name as the argument to of rename: one that begins with a slash would be read as a pointer.
func asTo(name, parent string) string {
	if strings.HasPrefix(name, "/") {
		return string(appendName([]byte(parent), name))
	}
	return name
}
