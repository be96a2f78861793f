package claude

import (
	"context"
	"errors"
	"slices"

	"github.com/siding-dev/siding"
)

// Rejudge looks for a journaled answer that passes today's acceptance, without a call: the newest one to the same
// question (by ask hash: output schema and max_tokens may have changed). ok is false when there is none; the error is the
// journal's. calls are the message's, as [siding.Journal] lists them.
func (h *Handler) Rejudge(ctx context.Context, m siding.Message, calls []siding.Call) (j siding.Judgement, result []byte, ok bool, err error) {
	if h.c.Journal == nil {
		return j, nil, false, errors.New("the handler has no journal")
	}
	own, p, f := h.prepareFor(m)
	if f != nil {
		return j, nil, false, nil
	}
	id, result, err := own.find(ctx, p, calls, nil)
	if err != nil || id == 0 {
		return j, nil, false, err
	}
	return siding.Judgement{Call: id, Accepted: true, Digest: h.digest}, result, true, nil
}

// find gives the newest accepted answer; 0: none.
func (h *Handler) find(ctx context.Context, p prompt, calls []siding.Call, paused []journaled) (siding.CallID, []byte, error) {
	ask := h.build(p, h.c.MaxTokens).ask
	for _, call := range slices.Backward(calls) {
		if call.AskHash != ask || call.Fate != siding.FateAnswered {
			continue
		}
		body, err := h.c.Journal.Answer(ctx, call.ID)
		if errors.Is(err, siding.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		a, whole := parseAnswer(body)
		if !whole {
			continue
		}
		if a.StopReason == "pause_turn" && len(a.Blocks) > 0 && len(paused) < maxPauses {
			next := p
			next.paused = append(append(next.paused[:0:0], p.paused...), a.Content)
			id, result, err := h.find(ctx, next, calls, append(slices.Clip(paused), journaled{answer: a, call: call.ID}))
			if err != nil || id != 0 {
				return id, result, err
			}
			continue
		}
		if result, f := h.evaluate(paused, a); f == nil {
			return call.ID, result, nil
		}
	}
	return 0, nil, nil
}
