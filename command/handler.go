package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/siding-dev/siding"
)

// Handler runs a program for each message. It is a [siding.Handler], and may be used by many goroutines at once: so many
// programs run then.
type Handler struct {
	c      Config
	env    []string
	hide   *strings.Replacer
	input  *schema // nil: any record
	output *schema // nil: any result
	digest string
	lane   string
}

var _ siding.Handler = (*Handler)(nil)

// New checks a configuration, all of it at once, and makes a handler. Each error begins with the field's name as a
// recipe has it. Whether the program is there is found out when it is run.
func New(c Config) (*Handler, error) {
	c, err := c.complete()
	errs := []error{err}
	fail := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	h := &Handler{c: c}
	env, hidden, err := c.environment()
	fail("env", err)
	h.env, h.hide = env, strings.NewReplacer(hidden...)
	if c.InputSchema != nil {
		h.input, err = compileSchema(c.InputSchema)
		fail("input.schema", err)
	}
	if c.OutputSchema != nil {
		h.output, err = compileSchema(c.OutputSchema)
		fail("output.schema", err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	h.lane = "command/" + siding.Scrub(filepath.Base(c.Argv[0]), 200)
	h.digest = h.digestOf()
	return h, nil
}

// digestOf hashes what shapes the result. It is stored, so this form never changes: what is added later must be left out
// when empty.
func (h *Handler) digestOf() string {
	var input, output json.RawMessage
	if h.input != nil {
		input = h.input.raw
	}
	if h.output != nil {
		output = h.output.raw
	}
	text, _ := json.Marshal(struct { //nolint:errchkjson // strings, and schemas that have been parsed
		Version int             `json:"v"`
		Kind    string          `json:"kind"`
		Argv    []string        `json:"argv"`
		Env     []string        `json:"env,omitempty"`
		Output  json.RawMessage `json:"output,omitempty"`
		Input   json.RawMessage `json:"input,omitempty"`
	}{1, "command", h.c.Argv, h.c.Env, output, input})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Digest gives the recipe digest: a short hash of arguments, environment (variables that are handed on count by their
// names) and schemas. What the program's own files say is not in it: put a version among the arguments to have results
// made anew when they change.
func (h *Handler) Digest() string { return h.digest }

// Lane names what fails together: the handler and the program.
func (h *Handler) Lane() string { return h.lane }

// Estimate says that running a program costs nothing.
func (h *Handler) Estimate(siding.Message) (likely, worst siding.Money, priced bool) {
	return 0, 0, true
}

// Check says what would be found wrong with a message before the program is run for it; nil: nothing.
func (h *Handler) Check(m siding.Message) *siding.Failure {
	f := check(m, h.c.JSON, h.input)
	return f
}

// Rejudge finds nothing: runs are in no journal.
func (h *Handler) Rejudge(context.Context, siding.Message, []siding.Call) (j siding.Judgement, result []byte, ok bool, err error) {
	return j, nil, false, nil
}
