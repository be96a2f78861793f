package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Schema is a compiled JSON Schema (draft 2020-12 unless it says otherwise). References outside the document are
// refused. It may be used by many goroutines at once.
type Schema struct {
	compiled *jsonschema.Schema
	raw      []byte // without insignificant white space
	object   bool   // the root says "type": "object"
}

// CompileSchema reads a JSON Schema. The error says where it is wrong.
func CompileSchema(text []byte) (*Schema, error) {
	if at := invalidUTF8(text); at >= 0 {
		return nil, fmt.Errorf("the schema is not valid UTF-8 at byte %d", at)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	if err := hugeNumber(doc, nil); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	compiled, err := c.Compile(here)
	if away, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return nil, away.Err
	}
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	var raw bytes.Buffer
	if err := json.Compact(&raw, text); err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	root, _ := doc.(map[string]any)
	return &Schema{compiled: compiled, raw: raw.Bytes(), object: root["type"] == "object"}, nil
}

// here is the address of the schema itself. It has a path, so that a relative $ref gives another address; against an
// opaque one it would give the schema itself.
const here = "siding:///this/schema"

// noLoader keeps a schema from reading files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	name := strings.NewReplacer("siding:///this/", "", "siding:///", "/").Replace(url)
	return nil, fmt.Errorf("the schema refers to %q: references outside the document are not followed; put the definition under $defs, and refer to it as #/$defs/…", cut(name, shown))
}

// check says where a value does not fit: the JSON Pointer, what is wanted, and the value. nil: it fits.
func (s *Schema) check(v any) error {
	if err := hugeNumber(v, nil); err != nil {
		return err
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	all := leaves(err)
	if len(all) == 0 {
		return errors.New(cut(err.Error(), 3*shown))
	}
	// The library walks over maps in any order; the same fault must read the same every time. Only the faults at the first
	// place are put into words: a hostile answer may have millions.
	first := slices.MinFunc(all, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	}).InstanceLocation
	got, _ := asJSON(lookup(v, first))
	text := ""
	for _, leaf := range all {
		if slices.Equal(leaf.InstanceLocation, first) {
			if t := cut(leafText(leaf), 3*shown); text == "" || t < text {
				text = t
			}
		}
	}
	text = fmt.Sprintf("at %q: %s (it is %s)", cut(joinPointer(first), 3*shown), text, cut(got, shown))
	if len(all) > 1 {
		text += fmt.Sprintf("; and %d more", len(all)-1)
	}
	return errors.New(text)
}

// leaves gives the faults that have no others inside.
func leaves(err error) (list []*jsonschema.ValidationError) {
	var top *jsonschema.ValidationError
	if !errors.As(err, &top) {
		return nil
	}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
				slices.Sort(k.Properties) // the library has them in any order, and the same fault must read the same
			}
			list = append(list, e)
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(top)
	return list
}

// leafText gives what is wrong, without the place, which the library puts in front.
func leafText(e *jsonschema.ValidationError) string {
	text := e.Error()
	if _, after, ok := strings.Cut(text, "': "); ok && strings.HasPrefix(text, "at '") {
		return after
	}
	return text
}

// conform checks an answer and gives it as it is stored: without white space, and with enumerated values in the
// schema's spelling. The service does not promise their capitalisation, so it is not held against an answer.
func (s *Schema) conform(text []byte) ([]byte, error) {
	v, err := parseOrdered(text)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w: %q", err, cut(string(text), shown))
	}
	if v, err = s.respelled(v); err != nil {
		return nil, err
	}
	if err := s.check(plain(v)); err != nil {
		return nil, err
	}
	return appendJSON(nil, v), nil
}

// respelled gives an answer with its enumerated values in the schema's spelling. The error is about a number that cannot
// be checked.
func (s *Schema) respelled(v any) (any, error) {
	// Each round mends what the one before has found; a mended value can only uncover faults behind it.
	for range 8 {
		p := plain(v)
		if err := hugeNumber(p, nil); err != nil {
			return nil, err
		}
		bad := s.compiled.Validate(p)
		if bad == nil {
			break
		}
		mended := false
		for _, leaf := range leaves(bad) {
			if spelling, ok := respell(leaf.ErrorKind); ok {
				var done bool
				v, done = replace(v, leaf.InstanceLocation, spelling)
				mended = mended || done
			}
		}
		if !mended {
			break
		}
	}
	return v, nil
}

// respell gives the schema's spelling of a value that differs from it only in capitalisation.
func respell(e jsonschema.ErrorKind) (string, bool) {
	var got any
	var want []any
	switch e := e.(type) {
	case *kind.Enum:
		got, want = e.Got, e.Want
	case *kind.Const:
		got, want = e.Got, []any{e.Want}
	}
	text, ok := got.(string)
	if !ok {
		return "", false
	}
	for _, w := range want {
		if spelling, ok := w.(string); ok && strings.EqualFold(spelling, text) {
			return spelling, true
		}
	}
	return "", false
}
