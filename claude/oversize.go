package claude

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/siding-dev/siding"
)

// elsewhere gives what a delivery came to: a record that is too large goes to another queue, where the recipe names one.
func (h *Handler) elsewhere(f *siding.Failure) error {
	if f != nil && h.c.Oversize != "" && f.Cause == siding.CauseInputTooLarge && f.Outcome == siding.OutcomePermanent {
		return siding.Forward(h.c.Oversize, f)
	}
	return failed(f)
}

// count has the service count the tokens of the prompt, where the bounds of the estimate leave open whether it fits. It
// costs nothing, so the journal does not know of it; what goes wrong with it is a failure like that of a call.
func (c *conversation) count(ctx context.Context) *siding.Failure {
	h := c.h
	limit, of := h.c.MaxInputTokens, "max_input_tokens is"
	if window := h.limits.ContextTokens; window > 0 && (limit == 0 || window < limit) {
		limit, of = window, "the context window of "+h.c.Model+" has"
	}
	if !h.c.CountTokens || limit == 0 || h.estimateOf(c.prompt).most <= limit {
		return nil
	}
	req := h.build(c.prompt, h.c.MaxTokens)
	if f := h.fits(req); f != nil {
		return f
	}
	r := h.post(ctx, "v1/messages/count_tokens", h.countable(c.prompt), c.d.ID)
	c.called = true
	n, f := h.counted(r)
	if f != nil {
		c.forOwn(f, siding.FateUnsent) // nothing of it is on any bill
		return f
	}
	if n > limit {
		return bodyFault(siding.CauseInputTooLarge, "the prompt is too long: %d tokens, and %s %d", n, of, limit)
	}
	return nil
}

// counted reads how many tokens the service has counted.
func (h *Handler) counted(r reply) (int64, *siding.Failure) {
	now := h.c.Clock()
	var f *siding.Failure
	switch {
	case r.status == 0:
		f = classify(r.err, now)
	case r.status >= 200 && r.status < 300 && r.err == nil:
		var told struct {
			InputTokens *int64 `json:"input_tokens"`
		}
		if json.Unmarshal(r.body, &told) == nil && told.InputTokens != nil && *told.InputTokens >= 0 {
			return *told.InputTokens, nil
		}
		f = &siding.Failure{
			Outcome: siding.OutcomeTransient, Cause: siding.CauseBadResponse,
			Err: fmt.Errorf("the service's count of tokens cannot be read: %q", cut(string(r.body), shown)),
		}
	default:
		f = h.broken(r, now)
	}
	h.describe(f, r)
	f.Err = fmt.Errorf("counting the tokens: %w", f.Err)
	return 0, f
}

// countable is the request as the counter takes it: without what shapes only the answer.
func (h *Handler) countable(p prompt) []byte {
	w := h.asked(p)
	h.shape(&w)
	w.StopSequences = nil
	return encode(w)
}
