package worker

import (
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// Event is something that [Config.Observe] is told: one of the types below. More may be added.
type Event interface{ event() }

// Started: a delivery is handed to the handler. A message of a batch that is handed over again alone is started again.
type Started struct{ Delivery *siding.Delivery }

// Settled: a delivery has ended, and the store has written its outcome.
type Settled struct {
	Delivery *siding.Delivery
	Decision siding.Decision // where the message went
	Failure  *siding.Failure // nil: done
}

// Lost: the message is leased by somebody else, or has been settled or taken away; what this delivery came to does not
// count.
type Lost struct {
	Delivery *siding.Delivery
	// Unsure says that the outcome was sent before and the store's reply was lost: it may have counted.
	Unsure bool
}

// Throttled: the service asked for a rest; no message is leased for so long.
type Throttled struct {
	For     time.Duration
	Failure *siding.Failure
}

// Resumed: the first message after a rest went well, and the others follow.
type Resumed struct{}

// Held: a fault that is not the messages' has stopped the worker; Run returns the error when what is in flight has ended.
type Held struct{ Err *HeldError }

// Idle: nothing is in flight, and the store has nothing to give now. It is told once, until something is leased again.
type Idle struct {
	Next time.Duration // until the next known message comes due; 0: none is known
}

// StoreFault: the store could not do what the worker asked; it will be asked again.
type StoreFault struct {
	Op    string // lease, extend, settle or reap
	Err   error
	Again time.Duration // until it is asked again; 0: it is not
}

// Reaped: messages that dead processes had left were freed.
type Reaped struct{ Messages int }

// Stopping: no more messages are leased. Err is why, nil for a stop that was asked for.
type Stopping struct{ Err error }

// Abandoned: a handler ignored its cancelled context and was left behind; its message went back to the queue.
type Abandoned struct{ Delivery *siding.Delivery }

func (Started) event()    {}
func (Settled) event()    {}
func (Lost) event()       {}
func (Throttled) event()  {}
func (Resumed) event()    {}
func (Held) event()       {}
func (Idle) event()       {}
func (StoreFault) event() {}
func (Reaped) event()     {}
func (Stopping) event()   {}
func (Abandoned) event()  {}

// HeldError ends a run because of a fault that is not the messages': the account, the model, the configuration. Nothing
// is lost and nothing was charged; run again when the fault is mended.
type HeldError struct {
	// Failure is the first that told of the fault: its Scope, Cause and Lane, and Until where the service named an end.
	Failure *siding.Failure
}

// Error tells the scope, the cause, the text, and until when where that is known.
func (e *HeldError) Error() string {
	where := string(e.Failure.Scope)
	if e.Failure.Lane != "" {
		where = e.Failure.Lane
	}
	if where == "" {
		where = "work"
	}
	until := ""
	if !e.Failure.Until.IsZero() {
		until = " until " + e.Failure.Until.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s held%s (%s): %s", siding.Scrub(where, 256), until, siding.Scrub(string(e.Failure.Cause), 64), e.Failure.Error())
}

// Unwrap gives the failure.
func (e *HeldError) Unwrap() error { return e.Failure }
