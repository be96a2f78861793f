package claude

import (
	"math"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// maxRequest is the service's limit for a request, in bytes.
const maxRequest = 32 << 20

// Tokens that the service adds around what is sent, on the high side.
const (
	overheadTokens = 1_000 // roles, the instructions that come with tools and structured output
	imageTokens    = 5_000 // the largest image of the models with the finest resolution
)

// An estimate bounds the tokens of a prompt without asking the service.
type estimate struct {
	least  int64 // surely not fewer: what is above the context window need not be sent
	likely int64 // near what the service will count, for English rather above it
	high   int64 // hardly ever fewer: what a user's limit is compared with
	most   int64 // never more: every token of the models' vocabularies stands for at least one byte
}

// estimateOf counts all text of the request: the system's, the prompt's, the schema's, and images by the piece.
func (h *Handler) estimateOf(p prompt) estimate {
	e := estimate{likely: 50, high: 50, most: overheadTokens}
	e.text(h.c.System)
	e.text(p.text)
	e.text(string(h.wire))
	for _, turn := range p.paused {
		e.text(string(turn))
	}
	n := int64(len(p.images))
	e.likely += n * 1_600
	e.high += n * 1_600
	e.most += n * imageTokens
	return e
}

// text adds a text.
func (e *estimate) text(s string) {
	var c TokenCount
	for _, r := range s {
		c.Add(r)
	}
	e.least += c.letters/12 + c.signs/12 + c.others/12
	e.likely += (c.letters + c.spaces + 2*c.signs + 2*c.others + 3) / 4
	e.high += c.High()
	e.most += int64(len(s))
}

// TokenCount counts a text by classes of characters: letters come several to a token, digits and signs fewer, and a
// character of another script can be a token or more by itself. The zero value is that of the empty text.
type TokenCount struct {
	letters, spaces, signs, others int64
}

// Add counts one more character.
func (c *TokenCount) Add(r rune) {
	switch {
	case r == ' ' || r == '\n' || r == '\t' || r == '\r':
		c.spaces++
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		c.letters++
	case r >= 0 && r < utf8.RuneSelf:
		c.signs++
	default:
		c.others += int64(max(utf8.RuneLen(r), 1))
	}
}

// High estimates the tokens: hardly ever fewer than there are. More characters never give a lower estimate.
func (c *TokenCount) High() int64 {
	return (c.letters+c.spaces+2)/3 + (2*c.signs+2)/3 + c.others
}

// preflight refuses what cannot or may not be sent, before it costs a call. What the service is to count is refused only
// where there is no doubt.
func (h *Handler) preflight(p prompt) *siding.Failure {
	e := h.estimateOf(p)
	over := e.high
	if h.c.CountTokens {
		over = e.least
	}
	if limit := h.c.MaxInputTokens; limit > 0 && over > limit {
		return bodyFault(siding.CauseInputTooLarge, "the prompt is too long: about %d tokens, at most %d, and max_input_tokens is %d", e.likely, e.high, limit)
	}
	if window := h.limits.ContextTokens; window > 0 && e.least > window {
		return bodyFault(siding.CauseInputTooLarge, "the prompt is too long: about %d tokens, and the context window of %s has %d", e.likely, h.c.Model, window)
	}
	return nil
}

// fits refuses a request that is longer than the service takes.
func (h *Handler) fits(r request) *siding.Failure {
	if len(r.body) > h.maxRequest {
		return bodyFault(siding.CauseInputTooLarge, "the request has %d bytes, and the service takes %d", len(r.body), h.maxRequest)
	}
	return nil
}

// worst gives what a call can cost at most.
func (h *Handler) worst(e estimate, limit int64) (siding.Money, bool) {
	input := e.most
	if window := h.limits.ContextTokens; window > 0 {
		input = min(input, window) // a longer prompt is refused, which costs nothing
	}
	return h.c.Prices.Worst(h.c.Model, input, limit, h.c.Clock())
}

// Estimate tells what asking for a message costs, without asking: likely with a quarter of max_tokens as the answer,
// worst with everything at its largest. priced is false when no price is known for the model. A message that would be
// set aside without a call costs nothing.
func (h *Handler) Estimate(m siding.Message) (likely, worst siding.Money, priced bool) {
	own, p, f := h.prepareFor(m)
	if own != nil {
		h = own
	}
	_, priced = h.c.Prices.Worst(h.c.Model, 0, 0, h.c.Clock())
	if f != nil || !priced {
		return 0, 0, priced
	}
	e := h.estimateOf(p)
	usage := siding.Usage{Input: e.likely, Output: int64(math.Ceil(float64(h.c.MaxTokens) / 4))}
	likely, _ = h.c.Prices.Cost(h.c.Model, usage, h.c.Clock(), Multipliers{})
	worst, _ = h.worst(e, h.c.MaxTokens)
	return min(likely, worst), worst, true
}
