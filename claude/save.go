package claude

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

const (
	saveTry      = 30 * time.Second // one attempt to write the end of a call
	saveLonger   = time.Hour        // all attempts together
	saveShutdown = 10 * time.Second // the same, once the worker is stopping
	saveFirst    = 100 * time.Millisecond
	saveMost     = 5 * time.Second
	storeRest    = 5 * time.Second // before a message is tried again whose journal could not be written
)

// save writes the end of a call before anything else is done with it. While that fails the answer stays in memory, it
// is tried again and again, and no other call starts. It does not use the delivery's context: an answer has been paid
// for also when the lease is lost or the worker stops.
func (h *Handler) save(ctx context.Context, e siding.CallEnd) error {
	own := context.WithoutCancel(ctx)
	err := h.endCall(own, e)
	if err == nil || hopeless(err) {
		return err
	}
	h.gate.shut()
	defer h.gate.open()
	giveUp := time.NewTimer(saveLonger)
	defer giveUp.Stop()
	stopping := ctx.Done()
	for wait := saveFirst; ; wait = min(2*wait, saveMost) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-giveUp.C:
			timer.Stop()
			return err
		case <-stopping:
			timer.Stop()
			stopping = nil
			if !errors.Is(context.Cause(ctx), siding.ErrLeaseLost) {
				giveUp.Reset(saveShutdown)
			}
		}
		if err = h.endCall(own, e); err == nil || hopeless(err) {
			return err
		}
	}
}

func (h *Handler) endCall(ctx context.Context, e siding.CallEnd) error {
	ctx, cancel := context.WithTimeout(ctx, saveTry)
	defer cancel()
	return h.c.Journal.EndCall(ctx, e)
}

// hopeless are errors that no further attempt changes.
func hopeless(err error) bool {
	return errors.Is(err, siding.ErrClosed) || errors.Is(err, siding.ErrNotFound)
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
