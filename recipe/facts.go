package recipe

import (
	"github.com/siding-dev/siding/claude"
	"github.com/siding-dev/siding/quarantine"
)

// Facts gives what the recipe knows of its records, for a look into those that were set aside. h is a handler that it has
// made.
func (r *Recipe) Facts(h Handler) quarantine.Facts {
	f := quarantine.Facts{Check: h.Check}
	switch {
	case r.claude != nil:
		c := r.claude
		f.InputSchema, f.OutputSchema, f.Images, f.ImageRoot = c.InputSchema, c.Output.Schema, c.Images.Fields, c.Images.Root
		f.Model, f.MaxTokens, f.MaxInputTokens = c.Model, c.MaxTokens, c.MaxInputTokens
		f.Tokens, f.Settings = claude.Tokens, true
		if g, ok := h.(gated); ok {
			if asks, ok := g.work.(*claude.Handler); ok {
				f.ContextTokens, f.MaxOutput = asks.Limits().ContextTokens, asks.Limits().OutputTokens
			}
		}
	case r.webhook != nil:
		f.InputSchema = r.webhook.InputSchema
	case r.command != nil:
		f.InputSchema, f.OutputSchema = r.command.InputSchema, r.command.OutputSchema
	}
	return f
}

// FactsAlone is Facts without a handler: no key is needed, and none of the variables that the recipe names. An error is
// about a file that has changed since the recipe was read.
func (r *Recipe) FactsAlone() (quarantine.Facts, error) {
	h, err := r.Handler(Env{APIKey: "none", BaseURL: "https://localhost", LookupEnv: anyVariable})
	if err != nil {
		return quarantine.Facts{}, err
	}
	return r.Facts(h), nil
}
