package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// callMargin is what a request may take beyond its timeout until its end is written; until then nobody sends the same.
const callMargin = 30 * time.Second

// Handle sends one message. What a reply means:
//
//   - 2xx: done. The reply is the result: as it is when it is JSON, else as a JSON string. Of a reply longer than
//     MaxResponse the beginning is kept, as a string.
//   - 429, and 503 or 529 with Retry-After: held; the lane rests.
//   - 401, 403: held, scope recipe (cause credentials), because the credential is in the recipe's headers and another
//     recipe may have another for the same host. 402 the same (cause account).
//   - 3xx, 407, a private address: held, scope recipe (cause configuration).
//   - 408, 409, 425, any other 5xx, no connection, no reply: transient, not before Retry-After where there is one.
//   - any other 4xx: permanent.
//
// A request without a reply counts as unsent where that is certain, else as unknown; so does one that a gateway answered
// for the service (502, 504, 520, 524). A JSON record that is broken, or does not fit the schema, is set aside without a
// request.
func (h *Handler) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	contentType, f := check(d.Message, h.c.JSON, h.schema)
	if f != nil {
		return siding.Result{NoCall: true}, f
	}
	var id siding.CallID
	if h.c.Journal != nil {
		start, err := h.c.Journal.StartCall(ctx, siding.CallRequest{
			Token: d.Token, RequestHash: h.requestHash(d.Body), Digest: h.digest, Lane: h.lane,
			Deadline: h.c.Timeout + callMargin, Priced: true, OnUnknown: h.c.OnUnknown,
		})
		if err != nil {
			return siding.Result{}, storeFault("starting the request in the journal", err)
		}
		if id = start.Call; id == 0 {
			return h.notSent(d, start)
		}
	}
	end, f := h.conclude(h.send(ctx, d.Body, contentType, d.ID))
	var judged []siding.Judgement
	if id != 0 {
		end.Call = id
		if err := h.save(ctx, end); err != nil {
			g := storeFault("writing the end of the request to the journal", err)
			g.NoCall = false
			return siding.Result{}, g
		}
		if f == nil {
			judged = h.accepted(id)
		}
	}
	if f != nil {
		return siding.Result{}, f
	}
	return siding.Result{Body: resultOf(end.Answer), Judged: judged}, nil
}

func (h *Handler) accepted(id siding.CallID) []siding.Judgement {
	return []siding.Judgement{{Call: id, Accepted: true, Digest: h.digest}}
}

// notSent settles a delivery for which the journal lets no request be sent.
func (h *Handler) notSent(d *siding.Delivery, start siding.CallStart) (siding.Result, error) {
	none := siding.Result{NoCall: true}
	switch {
	case start.Answer != nil: // what was received once was received, whatever the recipe says today
		none.Body, none.Judged = resultOf(start.Body), h.accepted(start.Answer.ID)
		return none, nil
	case !start.BusyUntil.IsZero():
		from := d.StartedAt // the time is the store's, so it is measured from the lease
		if from.IsZero() {
			from = h.c.Clock()
		}
		return none, &siding.Failure{
			Outcome: siding.OutcomeHeld, Cause: siding.CauseTimeout, Lane: h.lane, NoCall: true,
			RetryAfter: min(max(start.BusyUntil.Sub(from), time.Second), maxTimeout+callMargin),
			Err:        errors.New("the same request is under way from another delivery; it is not sent again before that one's deadline"),
		}
	case start.Unknown > 0:
		f := recordFault(siding.CauseUnknown, nil, "%d earlier request(s) for this event may have been received, and no reply came; on_unknown says not to send it again", start.Unknown)
		f.Reason = siding.ReasonUnknownCall
		return none, f
	}
	return siding.Result{}, storeFault("starting the request in the journal", errors.New("it gave neither a call nor a reason"))
}

const (
	saveTry      = 30 * time.Second // one attempt to write the end of a request
	saveLonger   = time.Hour        // all attempts together
	saveShutdown = 10 * time.Second // the same, once the delivery's context has ended
	saveFirst    = 100 * time.Millisecond
	saveMost     = 5 * time.Second
	storeRest    = 5 * time.Second // before a message is tried again whose journal could not be written
)

// save writes how a request ended, and tries again while that fails: an event that was received and is not known to be
// would be sent a second time. It does not use the delivery's context, which may have ended.
func (h *Handler) save(ctx context.Context, e siding.CallEnd) error {
	own := context.WithoutCancel(ctx)
	giveUp := time.NewTimer(saveLonger)
	defer giveUp.Stop()
	stopping := ctx.Done()
	for wait := saveFirst; ; wait = min(2*wait, saveMost) {
		try, cancel := context.WithTimeout(own, saveTry)
		err := h.c.Journal.EndCall(try, e)
		cancel()
		if err == nil || errors.Is(err, siding.ErrClosed) || errors.Is(err, siding.ErrNotFound) {
			return err
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-giveUp.C:
			again.Stop()
			return err
		case <-stopping:
			again.Stop()
			stopping = nil
			giveUp.Reset(saveShutdown)
		}
	}
}

// storeFault says what it means that the journal could not do something. It is never the message's fault; an error that
// nobody knows spends one of the message's waits, so that nothing loops for ever.
func storeFault(doing string, err error) *siding.Failure {
	f := &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: siding.CauseHandlerError, Scope: siding.ScopeLane, RetryAfter: storeRest, NoCall: true,
		Err: fmt.Errorf("%s: %w", doing, err),
	}
	switch {
	case errors.Is(err, siding.ErrStaleLease), errors.Is(err, siding.ErrLeaseLost):
		f.Outcome, f.Cause, f.Scope, f.RetryAfter = siding.OutcomeInterrupted, siding.CauseLeaseLost, "", 0
	case errors.Is(err, siding.ErrShutdown), errors.Is(err, siding.ErrClosed), errors.Is(err, context.Canceled):
		f.Outcome, f.Cause, f.Scope, f.RetryAfter = siding.OutcomeInterrupted, siding.CauseShutdown, "", 0
	case errors.Is(err, siding.ErrDiskFull), errors.Is(err, siding.ErrReadOnly):
	default:
		f.WaitCounts = true
	}
	return f
}
