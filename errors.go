package siding

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The errors that stores and workers answer with. They are matched with [errors.Is].
var (
	// ErrNotFound: no message with this event ID in this queue, or no such call or input.
	ErrNotFound = errors.New("not found")
	// ErrStaleLease: the message has been leased anew, settled or taken away since; the write changed nothing.
	ErrStaleLease = errors.New("the lease is no longer held")
	// ErrWrongState: the message is not in a state in which this can be done; the write changed nothing.
	ErrWrongState = errors.New("not possible in this state")
	// ErrConflict: the event ID is taken by a message with another body, and superseding was not asked for; or what was to
	// be changed has been changed since it was read.
	ErrConflict = errors.New("it conflicts with what is stored")
	// ErrNoBody: retention has dropped the message's body, so that it cannot be sent back; enqueue it again.
	ErrNoBody = errors.New("the message's body has been dropped")
	// ErrFull: the queue has as many undone messages as its limit allows.
	ErrFull = errors.New("the queue is full")
	// ErrInvalidID: the event ID cannot be used; see [CheckID].
	ErrInvalidID = errors.New("invalid event ID")
	// ErrNewerStore: the store was written by a newer version of the program.
	ErrNewerStore = errors.New("the store was written by a newer version")
	// ErrStoreMode: a simulated store was opened for real work, or the other way round.
	ErrStoreMode = errors.New("simulated and real work do not mix in one store")
	// ErrDiskFull: the store has no room to write; what was asked for has not been done, and nothing is lost.
	ErrDiskFull = errors.New("no room left on the disk")
	// ErrReadOnly: the store cannot be written.
	ErrReadOnly = errors.New("the store cannot be written")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// The causes with which a worker cancels a handler's context; see [context.Cause].
var (
	// ErrShutdown: the worker is stopping and its grace time is over.
	ErrShutdown = errors.New("the worker is stopping")
	// ErrLeaseLost: the message's lease could not be extended; what the handler does now will not count.
	ErrLeaseLost = errors.New("the message's lease was lost")
)

// Failure is why a delivery did not succeed, with all that [Route] and the quarantine need. It is an error; a handler
// returns one, wrapped or not, and [FailureOf] finds it. Its zero fields mean "not known".
type Failure struct {
	Outcome Outcome
	Cause   Cause
	// Reason, when set, replaces the reason under which a permanent failure is set aside.
	Reason Reason
	// Scope is for held outcomes: how far the fault reaches.
	Scope Scope
	// Lane names the lane concerned, for instance claude/claude-haiku-4-5.
	Lane string
	// WaitCounts is for held outcomes: the lane serves others meanwhile, so that this message spends one of its waits.
	WaitCounts bool
	// RetryAfter is the least delay that the service asked for; never negative.
	RetryAfter time.Duration
	// Until is when the service says that the fault ends; zero when it does not say.
	Until time.Time
	// Status is the HTTP status, or 0.
	Status int
	// RequestID is the service's own name for the call.
	RequestID string
	// FaultOffset is the byte offset of the fault in the body, or nil.
	FaultOffset *int64
	// Solo says, for a worker-crash, that the message was in flight alone when the process died.
	Solo bool
	// Queue is for forwarded outcomes: where the message's copy goes.
	Queue string
	// NoCall says that the fault was found without asking the service.
	NoCall bool
	// Err is the failure in words, and what it wraps.
	Err error
}

// Error gives the failure's text, or its cause where it has none. It does not panic, whatever Err does.
func (f *Failure) Error() string {
	if f == nil {
		return "no failure"
	}
	if f.Err == nil {
		return string(f.Cause)
	}
	return errorText(f.Err)
}

// Unwrap gives the error inside.
func (f *Failure) Unwrap() error { return f.Err }

// Transient marks err as one that may pass by itself: the message is tried again after a delay, and costs an attempt.
// nil stays nil, as with all four.
func Transient(err error) error { return mark(err, OutcomeTransient, CauseHandlerError) }

// Permanent marks err as one that will never pass: the message is set aside at once.
func Permanent(err error) error { return mark(err, OutcomePermanent, CauseHandlerError) }

// Gray marks err as one that may be chance or the message's fault: it is tried again a small number of times.
func Gray(err error) error { return mark(err, OutcomeGray, CauseHandlerError) }

// Held marks err as a fault of the account, the lane or the recipe, not of the message: it costs no attempt, and no
// further message is tried while the fault lasts.
func Held(scope Scope, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Outcome: OutcomeHeld, Cause: CauseConfiguration, Scope: scope, Err: err}
}

// After adds to err the least delay before the next try, as a service asks for with retry-after.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	f := *FailureOf(err)
	f.RetryAfter = max(d, 0)
	f.Err = err
	return &f
}

func mark(err error, o Outcome, c Cause) error {
	if err == nil {
		return nil
	}
	return &Failure{Outcome: o, Cause: c, Err: err}
}

// FailureOf gives the failure that err is or wraps. Any other error is transient: what nobody has classified runs out
// of attempts on its own, and is never thrown away by guess. nil gives nil.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *Failure
	if as(err, &f) && f != nil {
		if f.Outcome != "" && f.Outcome != OutcomeDone {
			return f
		}
		g := *f
		g.Outcome = OutcomeTransient
		return &g
	}
	cause := CauseHandlerError
	if is(err, context.DeadlineExceeded) {
		cause = CauseTimeout
	}
	return &Failure{Outcome: OutcomeTransient, Cause: cause, Err: err}
}

// Stored gives the failure as stores keep it: scrubbed, bounded, with its fingerprint. It cannot fail because of what
// the failure contains.
func (f *Failure) Stored() *LastError {
	if f == nil {
		return nil
	}
	cause := f.Cause
	if cause == "" {
		cause = CauseUnknown
	}
	text := Scrub(f.Error(), MaxErrorText)
	return &LastError{
		Outcome: f.Outcome, Cause: Cause(Scrub(string(cause), 64)), Fingerprint: Fingerprint(cause, text), Text: text,
		Status: f.Status, RequestID: Scrub(f.RequestID, 256), FaultOffset: f.FaultOffset,
	}
}

// errorText formats an error that may panic while it does so.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("an error of type %T that cannot be shown: it panicked", err)
		}
	}()
	return err.Error()
}

// as and is are errors.As and errors.Is for errors whose own As, Is or Unwrap may panic.
func as(err error, target **Failure) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.As(err, target)
}

func is(err, target error) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.Is(err, target)
}
