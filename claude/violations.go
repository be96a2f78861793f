package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is one place in which a value does not fit a schema.
type Violation struct {
	Pointer string // where: the JSON Pointer of the value
	Text    string // what is wanted, in the words of failures
	Got     string // the value that stands there, as JSON; shortened
	// Missing are fields that the object lacks, and Extra fields that it may not have.
	Missing, Extra []string
	// Types are the types that are allowed, where the value has another.
	Types []string
}

// Violations says where a record, which is valid JSON, does not fit the schema: the first limit places, by their
// pointers, and how many there are. The error says why it cannot be checked.
func (s *Schema) Violations(record []byte, limit int) ([]Violation, int, error) {
	if !json.Valid(record) {
		return nil, 0, errors.New("it is not valid JSON")
	}
	return s.violations(decode(record), limit)
}

// AnswerViolations is Violations for an answer, which may have enumerated values in another capitalisation.
func (s *Schema) AnswerViolations(answer []byte, limit int) ([]Violation, int, error) {
	v, err := parseOrdered(answer)
	if err != nil {
		return nil, 0, err
	}
	if v, err = s.respelled(v); err != nil {
		return nil, 0, err
	}
	return s.violations(plain(v), limit)
}

func (s *Schema) violations(v any, limit int) ([]Violation, int, error) {
	if err := hugeNumber(v, nil); err != nil {
		return nil, 0, err
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return nil, 0, nil
	}
	all := leaves(err)
	if len(all) == 0 {
		return nil, 0, errors.New(cut(err.Error(), 3*shown))
	}
	// The library walks over maps in any order. Only what is shown is put into words: there may be millions.
	slices.SortStableFunc(all, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	keep := min(limit, len(all))
	for keep > 0 && keep < len(all) && keep < limit+100 && slices.Equal(all[keep].InstanceLocation, all[keep-1].InstanceLocation) {
		keep++ // all of the last place, so that the order in it is always the same
	}
	list := make([]Violation, keep)
	for i, leaf := range all[:keep] {
		got, _ := asJSON(lookup(v, leaf.InstanceLocation))
		list[i] = Violation{Pointer: joinPointer(leaf.InstanceLocation), Text: cut(leafText(leaf), 3*shown), Got: cut(got, shown)}
		switch k := leaf.ErrorKind.(type) {
		case *kind.Required:
			list[i].Missing = k.Missing
		case *kind.AdditionalProperties:
			list[i].Extra = k.Properties
		case *kind.Type:
			list[i].Types = k.Want
		}
	}
	slices.SortStableFunc(list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Text, b.Text))
	})
	return list[:min(limit, keep)], len(all), nil
}
