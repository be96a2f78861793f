package claude

import "github.com/siding-dev/siding"

// Check says what would be found wrong with a message before a call is made for it; nil: nothing. It reads the image files
// that the record names, and asks neither the service nor the journal.
func (h *Handler) Check(m siding.Message) *siding.Failure {
	own, p, f := h.prepareFor(m)
	if f != nil {
		return f
	}
	return own.fits(own.build(p, own.c.MaxTokens))
}

// Limits gives what is known of the model. ContextTokens 0: its context window is not known.
func (h *Handler) Limits() Limits { return h.limits }

// Tokens estimates the tokens of a text without asking the service: likely as many, and never more than most.
func Tokens(text string) (likely, most int64) {
	var e estimate
	e.text(text)
	return e.likely, e.most
}
