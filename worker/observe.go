package worker

import (
	"time"

	"github.com/siding-dev/siding"
)

// Event is something that [Config.Observe] is told: one of the types below. More may be added.
type Event interface{ event() }

// Started: a delivery is handed to the handler. A message of a batch that is handed over again alone is started again.
type Started struct{ Delivery *siding.Delivery }

// Settled: a delivery has ended, and the store has written its outcome. A message that was forwarded waits for the queue
// that Decision.WaitsFor names.
type Settled struct {
	Delivery *siding.Delivery
	Decision siding.Decision // where the message went
	Failure  *siding.Failure // as it counted, which may be other than what the handler said; nil: done
}

// Lost: the message is leased by somebody else, or has been settled or taken away; what this delivery came to does not
// count.
type Lost struct {
	Delivery *siding.Delivery
	// Unsure says that the outcome was sent before and the store's reply was lost: it may have counted.
	Unsure bool
}

// Throttled: the lane rests, because the service has too much to do; no message is leased for so long.
type Throttled struct {
	For     time.Duration
	Failure *siding.Failure // that made it rest; nil when it was another worker's
}

// Resumed: nothing is in the way any more, after Throttled or Held.
type Resumed struct{}

// Held: holds are in the way, and no message is leased but for those that find out whether they have ended. It is told
// when the holds change. Run returns the error once they have been waited for long enough ([Config.Wait]) and what is in
// flight has ended.
type Held struct{ Err *HeldError }

// Idle: nothing is in flight, and the store has nothing to give now. It is told once, until something is leased again.
type Idle struct {
	Next time.Duration // until the next known message comes due; 0: none is known
}

// StoreFault: the store could not do what the worker asked; it will be asked again.
type StoreFault struct {
	Op    string // nudge, lease, extend, settle or reap
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
