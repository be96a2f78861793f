package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A schema is a compiled JSON Schema (draft 2020-12 unless it says otherwise).
type schema struct {
	compiled *jsonschema.Schema
	raw      []byte // without white space
}

// compileSchema reads a JSON Schema. Nothing outside of it is ever loaded.
func compileSchema(text []byte) (*schema, error) {
	doc, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	const here = "urn:siding:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	var raw bytes.Buffer
	if err := json.Compact(&raw, text); err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	return &schema{compiled, raw.Bytes()}, nil
}

// noLoader keeps a schema from reading files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("$ref to %q: references outside the document are not followed; put the definition under $defs", cut(url, 120))
}

// fits says where JSON does not fit the schema; nil: it does.
func (s *schema) fits(text []byte) error {
	v, err := decode(text)
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	err = s.compiled.Validate(v)
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		return err
	}
	settle(fault)
	for len(fault.Causes) > 0 {
		fault = first(fault.Causes)
	}
	return errors.New(cut(strings.Join(strings.Fields(fault.Error()), " "), 360))
}

// settle puts the names that the library takes from maps into one order, all the way down.
func settle(fault *jsonschema.ValidationError) {
	if k, ok := fault.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(k.Properties)
	}
	for _, cause := range fault.Causes {
		settle(cause)
	}
}

// first gives the fault whose text comes first: the library walks over maps in any order, and the same fault must read
// the same every time.
func first(faults []*jsonschema.ValidationError) *jsonschema.ValidationError {
	best, text := faults[0], faults[0].Error()
	for _, f := range faults[1:] {
		if t := f.Error(); t < text {
			best, text = f, t
		}
	}
	return best
}

// decode reads JSON with its numbers as they are written, but for those that would fill the memory written out.
func decode(text []byte) (any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = huge(v)
	}
	return v, err
}

func huge(v any) error {
	const most = 1000 // digits before or behind the point
	switch v := v.(type) {
	case json.Number:
		digits, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		if n, err := strconv.Atoi(exponent); exponent != "" && (err != nil || n > most || n < -most) || len(digits) > most {
			return fmt.Errorf("the number %s is beyond what can be checked", cut(v.String(), 40))
		}
	case []any:
		for _, each := range v {
			if err := huge(each); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, each := range v {
			if err := huge(each); err != nil {
				return err
			}
		}
	}
	return nil
}
