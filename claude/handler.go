package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/template"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/siding-dev/siding"
)

// Handler asks Claude for each message. It is a [siding.Handler], and may be used by many goroutines at once.
type Handler struct {
	c           Config
	limits      Limits
	template    *template.Template
	input       *Schema         // nil: any record
	output      *Schema         // nil: plain text
	wire        json.RawMessage // the output schema as it is sent; nil: none
	imageFields [][]string
	rules       rules
	digest      string
	account     string // empty: not known by a name
	lane        string
	client      anthropic.Client
	gate        *gate
	own         settings // of the message that this copy of the handler is for; see [Handler.of]
	maxRequest  int      // bytes; see the constants of these names
	maxAnswer   int
}

var _ siding.Handler = (*Handler)(nil)

// New checks a configuration, all of it at once, and makes a handler. Each error begins with the field's name as the
// recipe has it.
func New(c Config) (*Handler, error) {
	c, err := c.complete()
	errs := []error{err}
	h := &Handler{c: c, limits: limitsOf(c.Model, c.Limits), gate: &gate{}, maxRequest: maxRequest, maxAnswer: maxAnswer}
	if h.template, err = compilePrompt(c.Prompt); err != nil {
		errs = append(errs, fmt.Errorf("prompt: %w", err))
	}
	if c.InputSchema != nil {
		if h.input, err = CompileSchema(c.InputSchema); err != nil {
			errs = append(errs, fmt.Errorf("input.schema: %w", err))
		}
	}
	errs = append(errs, h.completeOutput(), h.completeImages(), h.completeBudget())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	h.rules = rules{stops: len(c.StopSequences) > 0, json: h.output}
	if h.output != nil && h.c.Output.Via == ViaTool {
		h.rules.tools, h.rules.tool = true, toolName
	}
	h.digest = h.digestOf()
	h.nameGates()
	h.client = anthropic.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithAPIKey(c.APIKey), option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(c.HTTPClient), option.WithMaxRetries(0),
	)
	return h, nil
}

func (h *Handler) completeOutput() error {
	var err error
	if h.c.Output.Schema != nil {
		if h.output, err = CompileSchema(h.c.Output.Schema); err != nil {
			return fmt.Errorf("output.schema: %w", err)
		}
	}
	switch h.c.Output.Via {
	case "":
		h.c.Output.Via = ViaSchema
	case ViaSchema, ViaTool:
	default:
		return fmt.Errorf("output.via: it is %q; it must be schema or tool", siding.Scrub(h.c.Output.Via, 64))
	}
	if h.c.Output.Via == ViaTool && h.output == nil {
		return errors.New("output.via: tool needs an output.schema")
	}
	if h.c.Output.Via == ViaTool && !h.output.object {
		return errors.New(`output.schema: with via: tool its root must have "type": "object"`)
	}
	switch {
	case h.output == nil:
	case h.c.Output.Via == ViaTool:
		h.wire = h.output.raw
	default:
		if h.wire, err = h.output.wireSchema(); err != nil {
			return fmt.Errorf("output.schema: %w", err)
		}
	}
	return nil
}

func (h *Handler) completeImages() error {
	i := h.c.Images
	if len(i.Fields) == 0 {
		return nil
	}
	for _, pointer := range i.Fields {
		parts, err := siding.ParsePointer(pointer)
		if err != nil {
			return fmt.Errorf("images.fields: %w", err)
		}
		h.imageFields = append(h.imageFields, parts)
	}
	if i.Root == "" {
		return errors.New("images.root: it is missing; name the directory that the image files are in")
	}
	info, err := os.Stat(i.Root)
	if err != nil {
		return fmt.Errorf("images.root: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("images.root: %s is not a directory", i.Root)
	}
	return nil
}

// Digest gives the recipe digest: a short hash of everything that shapes the request and its acceptance. It is the same
// in every version of this package.
func (h *Handler) Digest() string { return h.digest }
