package claude

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// maxPauses is how often a paused turn is sent back before it counts as a failure.
const maxPauses = 8

// callMargin is what a call may take beyond its timeout until its end is written; until then nobody sends the same.
const callMargin = 30 * time.Second

// Handle asks for one message. Faults of the record are found without a call. Then the journal is asked: an answer that
// it has is judged, not paid again. Every answer that was looked at is in the result's Judged, with an error or without.
func (h *Handler) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	if h.c.Journal == nil {
		return siding.Result{}, configurationFault("the handler has no journal: it cannot make sure that an answer is paid once")
	}
	own, p, f := h.prepareFor(d.Message)
	if f != nil {
		return siding.Result{NoCall: unheard(f)}, h.elsewhere(f)
	}
	c := conversation{h: own, d: d, prompt: p}
	body, f := c.run(ctx)
	r := siding.Result{Body: body, Judged: c.judged, NoCall: !c.called && unheard(f), Limits: c.limits}
	switch {
	case f != nil && f.Scope == siding.ScopeLane: // the journal's or this machine's, where the message has a lane of its own
		f.Lane = h.lane
	case own.own.model:
		r.OtherLane, r.Limits = c.called, nil
	}
	return r, h.elsewhere(f)
}

// unheard tells whether a delivery without a call says nothing about account, lane and recipe. A fault of one of them,
// found before the service could be asked, does.
func unheard(f *siding.Failure) bool {
	return f == nil || f.Outcome != siding.OutcomeHeld || f.Scope == ""
}

// A conversation is the handling of one delivery: mostly one call, more when the service pauses its turn.
type conversation struct {
	h      *Handler
	d      *siding.Delivery
	prompt prompt
	limit  int64 // max_tokens of the next request

	paused   []journaled // the paused turns, in their order
	rejected []siding.CallID
	judged   []siding.Judgement

	called bool               // a request was sent in this delivery
	limits *siding.RateLimits // as the latest answer told them
}

// journaled is an answer that the journal has.
type journaled struct {
	answer
	call      siding.CallID
	limit     int64 // the max_tokens that it was asked with
	requestID string
}

func (c *conversation) run(ctx context.Context) ([]byte, *siding.Failure) {
	if f := c.count(ctx); f != nil {
		return nil, f
	}
	if f := c.chooseLimit(ctx); f != nil {
		return nil, f
	}
	for {
		got, f := c.obtain(ctx)
		if f != nil {
			return nil, f
		}
		if c.goesOn(got.answer) {
			c.paused = append(c.paused, got)
			c.prompt.paused = append(c.prompt.paused, got.Content)
			continue
		}
		result, f := c.h.evaluate(c.paused, got.answer)
		if f != nil {
			f.RequestID = got.requestID
			if f.Cause == siding.CauseTruncated {
				c.h.explainTruncated(f, got.limit)
			}
		}
		c.verdict(got.call, f)
		return result, f
	}
}

func (c *conversation) goesOn(a answer) bool {
	return a.StopReason == "pause_turn" && len(a.Blocks) > 0 && len(c.paused) < maxPauses
}

// evaluate judges the last answer together with the paused turns before it: the text may be split over them, or they
// may only have led up to it.
func (h *Handler) evaluate(paused []journaled, last answer) ([]byte, *siding.Failure) {
	whole := last
	if len(paused) > 0 {
		whole.Blocks = nil
		for _, p := range paused {
			whole.Blocks = append(whole.Blocks, p.Blocks...)
		}
		whole.Blocks = append(whole.Blocks, last.Blocks...)
	}
	result, f := h.rules.judge(whole)
	if f != nil && f.Cause == siding.CauseSchemaMismatch && len(paused) > 0 {
		if alone, g := h.rules.judge(last); g == nil {
			return alone, nil
		}
	}
	return result, f
}

// verdict notes what acceptance said of an answer and of the paused turns that led to it.
func (c *conversation) verdict(call siding.CallID, f *siding.Failure) {
	j := siding.Judgement{Accepted: f == nil, Digest: c.h.digest}
	if f != nil {
		j.Cause = f.Cause
	}
	for _, p := range c.paused {
		j.Call = p.call
		c.judged = append(c.judged, j)
	}
	j.Call = call
	c.judged = append(c.judged, j)
}

// obtain gives an answer to the present request that serves or settles the delivery: one that the journal has, or a
// new one.
func (c *conversation) obtain(ctx context.Context) (journaled, *siding.Failure) {
	h := c.h
	for {
		if err := h.gate.wait(ctx); err != nil {
			return journaled{}, storeFault("waiting until the journal can be written", err)
		}
		req := h.build(c.prompt, c.limit)
		if f := h.fits(req); f != nil {
			return journaled{}, f
		}
		worst, priced := h.worst(h.estimateOf(c.prompt), c.limit)
		start, err := h.c.Journal.StartCall(ctx, siding.CallRequest{
			Token: c.d.Token, RequestHash: req.hash, AskHash: req.ask, Digest: h.digest, Lane: h.lane,
			Deadline: h.c.Timeout + callMargin, WorstCost: worst, Priced: priced, OutputLimit: c.limit, OnUnknown: h.c.OnUnknown,
			Rejected: c.rejected, Budget: h.c.Budget,
		})
		switch {
		case err != nil:
			return journaled{}, storeFault("starting the call in the journal", err)
		case start.Answer != nil:
			got, use, f := c.consider(start, req)
			if use || f != nil {
				return got, f
			}
		case start.Held:
			return journaled{}, h.overBudget(start.Spent, worst)
		case !start.BusyUntil.IsZero():
			return journaled{}, c.busy(start.BusyUntil)
		case start.Call != 0:
			return c.call(ctx, start.Call, req)
		case start.Unknown > 0:
			f := bodyFault(siding.CauseUnknown, "%d earlier call(s) of this request may have been billed, and no answer came; on_unknown says not to send it again", start.Unknown)
			f.Reason = siding.ReasonUnknownCall
			return journaled{}, f
		default:
			return journaled{}, storeFault("starting the call in the journal", errors.New("it gave neither a call nor a reason"))
		}
	}
}

// call sends the request and writes down how it ended, before anything else.
func (c *conversation) call(ctx context.Context, id siding.CallID, req request) (journaled, *siding.Failure) {
	began := c.h.c.Clock()
	r := c.h.send(ctx, req.body, c.d.ID)
	c.called = true
	if told := rateLimits(r.header); told != nil {
		c.limits = told
	}
	end, a, f := c.h.conclude(r, began)
	end.Call = id
	if f != nil {
		c.forOwn(f, end.Fate)
	}
	if err := c.h.save(ctx, end); err != nil {
		// The answer is not in the journal, so it must not be used. The call counts as unknown, maybe billed.
		g := storeFault("writing the end of the call to the journal", err)
		g.NoCall = false
		return journaled{}, g
	}
	if f != nil {
		c.refusedRaise(f)
	}
	return journaled{answer: a, call: id, limit: req.limit, requestID: end.RequestID}, f
}

// consider looks at an answer that the journal has. It is used when it serves, and also when it does not but nobody has
// judged it: it was paid for this very request, so it settles the delivery. Anything else is rejected, and the journal
// asked again.
func (c *conversation) consider(start siding.CallStart, req request) (got journaled, use bool, f *siding.Failure) {
	old := start.Answer
	for _, id := range c.rejected {
		if id == old.ID {
			return journaled{}, false, storeFault("starting the call in the journal", fmt.Errorf("it gives the answer of call %d again, which was rejected", id))
		}
	}
	a, _ := parseAnswer(start.Body)
	got = journaled{answer: a, call: old.ID, limit: old.OutputLimit, requestID: old.RequestID}
	_, f = c.h.evaluate(c.paused, a)
	if f == nil || c.goesOn(a) || old.Verdict == siding.VerdictNone && old.RequestHash == req.hash {
		return got, true, nil
	}
	c.rejected = append(c.rejected, old.ID)
	c.judged = append(c.judged, siding.Judgement{Call: old.ID, Digest: c.h.digest, Cause: f.Cause})
	if f.Cause == siding.CauseTruncated && old.OutputLimit >= c.limit {
		return journaled{}, false, c.raise(old.OutputLimit)
	}
	return journaled{}, false, nil
}

// busy waits for whoever is sending the same request. The time is the store's, so it is measured from the lease. The hold
// has no scope: nobody but this message waits.
func (c *conversation) busy(until time.Time) *siding.Failure {
	from := c.d.StartedAt
	if from.IsZero() {
		from = c.h.c.Clock()
	}
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: siding.CauseTimeout, Lane: c.h.lane, NoCall: true,
		RetryAfter: min(max(until.Sub(from), time.Second), maxTimeout+callMargin),
		Err:        errors.New("the same request is under way from another delivery; it is not sent again before that call's deadline"),
	}
}
