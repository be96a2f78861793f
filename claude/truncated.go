package claude

import (
	"context"
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
)

// mostOutput is the largest max_tokens that makes sense to ask for.
func (h *Handler) mostOutput() int64 { return max(h.limits.OutputTokens, h.c.MaxTokens) }

// chooseLimit decides max_tokens for the first request: the recipe's, or twice what an answer to the same question was
// cut at. The same request is never sent again after a cut answer.
func (c *conversation) chooseLimit(ctx context.Context) *siding.Failure {
	h := c.h
	c.limit = h.c.MaxTokens
	if c.d.Number == 1 {
		return nil // nobody has asked yet
	}
	calls, err := h.c.Journal.Calls(ctx, c.d.Queue, c.d.ID)
	if err != nil {
		return storeFault("reading the journal", err)
	}
	var cutAt []siding.Call
	for _, call := range calls {
		if wasCut(call) {
			cutAt = append(cutAt, call)
		}
	}
	if len(cutAt) == 0 {
		return nil
	}
	ask := h.build(c.prompt, c.limit).ask
	for _, call := range cutAt {
		if call.AskHash == ask && (call.Digest == h.digest || call.JudgedUnder == h.digest) && call.OutputLimit >= c.limit {
			if f := c.raise(call.OutputLimit); f != nil {
				return f
			}
		}
	}
	// Under another recipe it counts only when the request would be the same to the byte.
	for again := true; again; {
		again = false
		for _, call := range cutAt {
			if call.AskHash == ask && call.OutputLimit == c.limit && call.RequestHash == h.build(c.prompt, c.limit).hash {
				if f := c.raise(call.OutputLimit); f != nil {
					return f
				}
				again = true
			}
		}
	}
	return nil
}

// wasCut tells whether a call's answer was cut at its limit. A verdict without a cause is one that was given while a
// call was started, before a process died: then the answer's length tells.
func wasCut(call siding.Call) bool {
	if call.OutputLimit < 1 || call.Verdict != siding.VerdictRejected {
		return false
	}
	return call.JudgedCause == siding.CauseTruncated || call.JudgedCause == "" && call.Usage.Output >= call.OutputLimit
}

// raise sets max_tokens to twice what an answer was cut at, or says that there is no more to give.
func (c *conversation) raise(cutAt int64) *siding.Failure {
	most := c.h.mostOutput()
	if cutAt >= most {
		return bodyFault(siding.CauseTruncated, "the answer was cut at max_tokens %d, and %s gives no more", cutAt, c.h.c.Model)
	}
	c.limit = most
	if cutAt <= most/2 {
		c.limit = cutAt * 2
	}
	return nil
}

// refusedRaise corrects what it means that the service refuses a max_tokens which is not the recipe's: the model gives
// less than was thought, and the message that was cut is alone with that.
func (c *conversation) refusedRaise(f *siding.Failure) {
	if c.limit > c.h.c.MaxTokens && f.Cause == siding.CauseConfiguration && strings.Contains(f.Error(), "max_tokens") {
		f.Outcome, f.Cause, f.Scope = siding.OutcomePermanent, siding.CauseTruncated, ""
		f.Err = fmt.Errorf("the answer was cut, and the model gives no more: %w", f.Err)
	}
}

// explainTruncated says what happens next with an answer that was cut.
func (h *Handler) explainTruncated(f *siding.Failure, limit int64) {
	if most := h.mostOutput(); limit >= most {
		f.Outcome = siding.OutcomePermanent
		f.Err = fmt.Errorf("the answer was cut at max_tokens %d, and %s gives no more", limit, h.c.Model)
		return
	}
	f.Err = fmt.Errorf("the answer was cut at max_tokens %d; the next request asks for more", limit)
}
