package claude

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// settings are what a message brings of its own for its request; see [siding.HeaderMaxTokens].
type settings struct {
	model       bool   // another one than the recipe's, on a lane of its own
	maxTokens   bool   // in place of the recipe's
	instruction string // goes behind the prompt, as a paragraph of its own
}

// of gives the handler as the message's own settings make it: this one, where there are none, else a copy of it with that
// model's limits, prices and lane. The recipe digest stays: the answer is still the recipe's.
func (h *Handler) of(m siding.Message) (*Handler, *siding.Failure) {
	model, tokens := strings.TrimSpace(m.Headers[siding.HeaderModel]), strings.TrimSpace(m.Headers[siding.HeaderMaxTokens])
	instruction := strings.TrimSpace(m.Headers[siding.HeaderInstruction])
	if model == "" && tokens == "" && instruction == "" {
		return h, nil
	}
	v := *h
	v.own.instruction = siding.Scrub(instruction, siding.MaxHeader)
	if model != "" && model != h.c.Model {
		if !printable(model) {
			return nil, settingFault(siding.HeaderModel, model, "give the name of a model, for instance claude-haiku-4-5")
		}
		v.own.model = true
		v.c.Model, v.limits = model, limitsOf(model, Limits{})
		v.c.MaxTokens = min(v.c.MaxTokens, v.limits.OutputTokens)
		v.nameGates()
		if err := v.completeBudget(); err != nil {
			return nil, settingFault(siding.HeaderModel, model, "the recipe has a budget, and no price is known for this model")
		}
	}
	if tokens != "" {
		n, err := strconv.ParseInt(tokens, 10, 64)
		if most := v.mostOutput(); err != nil || n < 1 || n > most {
			return nil, settingFault(siding.HeaderMaxTokens, tokens, fmt.Sprintf("it must be a number from 1 to %d, the most that %s gives", most, v.c.Model))
		}
		v.c.MaxTokens, v.own.maxTokens = n, true
	}
	return &v, nil
}

// settingFault is a permanent failure: a message's own setting cannot be heeded.
func settingFault(header, value, do string) *siding.Failure {
	return bodyFault(siding.CauseInvalidRequest, "the message's header %s is %q; %s", header, cut(value, shown), do)
}

// aloneBackoff is the rest of a message whose own model does not serve it: 1 s doubling to a minute.
var aloneBackoff = siding.Backoff{Base: time.Second / 2, Factor: 2, Cap: time.Minute}

// forOwn says what a failure of the service means for a message with settings of its own. What these settings ask for,
// and the service refuses, is the message's fault. What would be a fault of its model's lane reaches no further than the
// message, because nobody watches that lane: it waits alone, and spends its waits on it. A call that may be on the bill
// costs an attempt, so that there are not many of these. What the account is at fault for stays that.
func (c *conversation) forOwn(f *siding.Failure, fate siding.Fate) {
	own := c.h.own
	asked := f.Cause == siding.CauseConfiguration && f.Status == http.StatusBadRequest // not the address, or a proxy
	refused := asked || f.Cause == siding.CauseModelNotFound ||
		f.Status == http.StatusForbidden && strings.Contains(f.Error(), "permission_error")
	switch {
	case f.NoCall:
	case own.model && refused && f.Outcome == siding.OutcomeHeld,
		own.maxTokens && c.limit == c.h.c.MaxTokens && asked && strings.Contains(f.Error(), "max_tokens"):
		f.Outcome, f.Scope, f.Lane = siding.OutcomePermanent, "", ""
		f.Err = fmt.Errorf("the message's own settings are refused (%s %q, max_tokens %d): %w", siding.HeaderModel, c.h.c.Model, c.limit, f.Err)
	case own.model && (f.Scope == siding.ScopeLane || f.Outcome == siding.OutcomeTransient && fate != siding.FateUnknown):
		f.Outcome, f.Scope, f.Lane, f.WaitCounts = siding.OutcomeHeld, "", c.h.lane, true
		f.RetryAfter = aloneBackoff.Delay(c.d.Waits+1, f.RetryAfter, 0)
	}
}
