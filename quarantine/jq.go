package quarantine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"
)

// The bounds of a jq expression and of a command.
const (
	jqLimit    = 2 * time.Second
	maxResult  = 32 << 20 // of the body that comes out, in bytes: what an input takes at most
	maxProgram = 64 << 10 // of the expression, in bytes
)

// jq replaces a JSON body by what an expression makes of it.
type jq struct {
	expr string
	code *gojq.Code
}

func newJQ(expr string) (Repair, error) {
	if expr == "" || len(expr) > maxProgram {
		return nil, fmt.Errorf("give an expression of at most %d bytes, for instance jq:.title |= ascii_downcase", maxProgram)
	}
	q, err := gojq.Parse(expr)
	if err != nil {
		return nil, fmt.Errorf("the expression cannot be read: %s", shorten(err.Error()))
	}
	code, err := gojq.Compile(q) // without an environment, modules or further inputs
	if err != nil {
		return nil, fmt.Errorf("the expression cannot be used: %s", shorten(err.Error()))
	}
	return jq{expr, code}, nil
}

func (r jq) String() string { return nameJQ + ":" + r.expr }

func (r jq) Apply(ctx context.Context, d Draft) (Draft, error) {
	if fault := syntax(d.Body); fault != nil {
		return d, fmt.Errorf("the body is not valid JSON: %s, at offset %d; mend that first", fault.text, fault.at)
	}
	dec := json.NewDecoder(bytes.NewReader(d.Body))
	dec.UseNumber() // large numbers stay as they are
	var v any
	if err := dec.Decode(&v); err != nil {
		return d, fmt.Errorf("the body cannot be read: %w", err)
	}
	result, err := r.run(ctx, v)
	if err != nil || gojq.Compare(v, result) == 0 {
		return d, err
	}
	body, err := gojq.Marshal(result)
	switch {
	case err != nil:
		return d, fmt.Errorf("what the expression gives is no JSON: %w", err)
	case len(body) > maxResult:
		return d, fmt.Errorf("the expression gives a body of %d bytes, and the most is %d", len(body), maxResult)
	}
	d.Body = body
	return d, nil
}

// run gives the one value that the expression makes of v.
func (r jq) run(ctx context.Context, v any) (any, error) {
	limited, cancel := context.WithTimeout(ctx, jqLimit)
	defer cancel()
	values := r.code.RunWithContext(limited, v)
	result, ok := values.Next()
	if !ok {
		return nil, errors.New("the expression gives nothing; a body must come out (siding dlq discard gives a message up)")
	}
	if err, is := result.(error); is {
		return nil, r.failed(ctx, limited, err)
	}
	another, more := values.Next()
	if err, is := another.(error); is {
		return nil, r.failed(ctx, limited, err)
	}
	if more {
		return nil, errors.New("the expression gives more than one value; put them into an array, or choose one")
	}
	return result, nil
}

func (r jq) failed(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("the expression took more than %v", jqLimit)
	}
	return fmt.Errorf("the expression failed: %s", shorten(err.Error()))
}
