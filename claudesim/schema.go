package claudesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noLoader refuses every schema that lies elsewhere: a request must not make the simulator read files or addresses.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("external schemas are not loaded") }

// A knownSchema is a schema made ready. It is shared and never changed.
type knownSchema struct {
	*jsonschema.Schema
	root    *ordered
	refusal string // what a grammar does not support in it; empty if all is well
}

// compiled remembers schemas, since the rows of a job share one. It is emptied when it grows past any job's number of
// schemas.
var compiled struct {
	sync.Mutex
	byText map[string]*knownSchema
}

const maxCompiled = 256

func compileSchema(raw json.RawMessage) (*knownSchema, error) {
	compiled.Lock()
	found := compiled.byText[string(raw)]
	compiled.Unlock()
	if found != nil {
		return found, nil
	}
	root, ok := parseOrdered(raw).(*ordered)
	if !ok {
		root = newOrdered() // the schema true
	}
	if !modest(root) {
		return nil, errors.New("the schema has a number that is too large")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "mem:///schema.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	known := &knownSchema{Schema: schema, root: root, refusal: grammarRefusal(root)}
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.byText == nil || len(compiled.byText) >= maxCompiled {
		compiled.byText = map[string]*knownSchema{}
	}
	compiled.byText[string(raw)] = known
	return known, nil
}

// modest says that every number has an exponent of at most three digits. The validator computes exactly, so that
// 1e999999999 would take all memory.
func modest(node any) bool {
	switch n := node.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
		return len(strings.TrimLeft(exponent, "+-0")) <= 3
	case *ordered:
		for _, v := range n.values {
			if !modest(v) {
				return false
			}
		}
	case []any:
		for _, v := range n {
			if !modest(v) {
				return false
			}
		}
	}
	return true
}

// fits says whether a JSON text is valid under the schema.
func (k *knownSchema) fits(text string) bool {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	return err == nil && k.Validate(value) == nil
}

// fitsSchema says whether a JSON text is valid under a schema; false also for what is no schema.
func fitsSchema(raw json.RawMessage, text string) bool {
	known, err := compileSchema(raw)
	return err == nil && known.fits(text)
}
