package recipe

import (
	"math"
	"time"

	"github.com/siding-dev/siding/claude"
)

// claude reads the group of that name and what belongs to it, and lets the handler's own package check it: it knows what
// it can do. Nothing is sent, and no key is needed.
func (d *document) claude(r *Recipe, dir string) {
	r.claude = &claude.Config{
		Model:     d.required("claude.model", "give the name of a model, for instance claude-haiku-4-5"),
		MaxTokens: d.integer("claude.max_tokens", 1, math.MaxInt64, 1),
		System:    d.text("claude.system", ""),
		Prompt:    d.required("claude.prompt", "say what to ask, for instance prompt: \"Tag this: {{.title}}\""),
		Images:    claude.Images{Fields: d.list("claude.images.fields"), Root: d.path("claude.images.root", dir)},
		Output: claude.Output{
			Schema: d.schema("claude.output.schema", dir),
			Via:    d.choice("claude.output.via", claude.ViaSchema, claude.ViaTool),
		},
		StopSequences:  d.list("claude.stop_sequences"),
		MaxInputTokens: d.integer("preflight.max_input_tokens", 1, math.MaxInt64, 0),
		CountTokens:    d.choice("preflight.tokens", "estimate", "service") == "service",
		Oversize:       r.Oversize,
		InputSchema:    d.schema("input.schema", dir),
		Timeout:        d.duration("claude.timeout", 10*time.Minute),
		OnUnknown:      r.policy.OnUnknown,
		Budget:         d.money("budget.usd"),
	}
	if d.missing("claude.max_tokens") {
		d.failKey("claude.max_tokens", "claude.max_tokens is missing; say how long an answer may be, in tokens, for instance 1024")
	}
	check := *r.claude
	check.APIKey, check.BaseURL = "none", "https://localhost" // the environment's are looked at when a handler is made
	h, err := claude.New(check)
	d.faults("claude", err)
	if err == nil {
		r.digest = h.Digest()
	}
}
