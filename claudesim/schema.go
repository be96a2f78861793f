package claudesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noLoader refuses every schema that lies elsewhere: a request must not make the simulator read files or addresses.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("external schemas are not loaded") }

// compiled remembers compiled schemas, since the rows of a job share one. It is emptied when it grows past any job's
// number of schemas.
var compiled struct {
	sync.Mutex
	byText map[string]*jsonschema.Schema
}

const maxCompiled = 256

func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	compiled.Lock()
	found := compiled.byText[string(raw)]
	compiled.Unlock()
	if found != nil {
		return found, nil
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
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.byText == nil || len(compiled.byText) >= maxCompiled {
		compiled.byText = map[string]*jsonschema.Schema{}
	}
	compiled.byText[string(raw)] = schema
	return schema, nil
}

// fitsSchema says whether a JSON text is valid under a schema.
func fitsSchema(raw json.RawMessage, text string) bool {
	schema, err := compileSchema(raw)
	if err != nil {
		return false
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	return err == nil && schema.Validate(value) == nil
}
