package worker

import (
	"time"

	"github.com/siding-dev/siding"
)

// news is what the core is told; one of the types below.
type news any

type (
	newsTime   struct{} // the armed time has come
	newsNudged struct{ err error }
	newsLeased struct {
		leased siding.Leased
		err    error
	}
	newsEnded struct { // a call of the handler has returned
		call  int64
		items []itemEnd // in the order in which the deliveries were handed over
		// failure is what the call came to for the items that are not settled; nil: done.
		failure *siding.Failure
	}
	newsExtended struct {
		errs []error
		err  error
	}
	newsSettled struct {
		settled []siding.Settled
		err     error
	}
	newsReaped struct {
		n   int
		err error
	}
	newsWake    struct{} // something may have come into the queue
	newsStop    struct{} // stop gracefully
	newsStopNow struct{} // stop at once
)

// itemEnd is what the handler left of one message.
type itemEnd struct {
	settled bool // on its own, in a batch
	result  siding.Result
	failure *siding.Failure // when settled: nil for done
}

// says gives what the delivery came to, where the call as a whole came to f.
func (i itemEnd) says(f *siding.Failure) *siding.Failure {
	if i.settled {
		return i.failure
	}
	return f
}

// command is what the core wants done; one of the types below. At most one cmdNudge, cmdLease, cmdExtend, cmdSettle and cmdReap is
// under way at a time; each is answered by its news.
type command any

type (
	cmdNudge struct{ keys siding.GateKeys }
	cmdLease struct{ request siding.LeaseRequest }
	cmdStart struct {
		call       int64
		deliveries []*siding.Delivery
	}
	cmdCancel struct {
		call  int64
		cause error
	}
	cmdExtend struct {
		by     time.Duration
		tokens []siding.LeaseToken
	}
	cmdSettle struct{ settlements []siding.Settlement }
	cmdReap   struct{}
	cmdTimer  struct{ at time.Duration } // replaces the time armed before
	cmdNotify struct{ event Event }
	cmdFinish struct{ err error } // the last command
)

// job is a leased message, until its settlement is over.
type job struct {
	seq      int64 // in the order in which they were leased
	delivery *siding.Delivery
	token    siding.LeaseToken
	retry    bool // it has failed before
	call     *call
	lost     bool // the lease is lost, or so it seems

	leasedUntil time.Duration // at the earliest
	extendAt    time.Duration

	outcome   *siding.Settlement // once it has ended
	unsure    bool               // the outcome was sent, and the answer was lost
	refusals  int                // how often the store refused this outcome, while it took others
	startedAt time.Duration
}

// call is one call of the handler.
type call struct {
	id        int64
	number    int64 // in the order in which calls of the service began: the latest
	served    bool  // it has been seen that the service works
	jobs      []*job
	rest      []*job // of a batch: each is to be handed over again alone, one after the other
	cancelled error
}

const forever = time.Duration(1<<63 - 1)

// after adds without overflow.
func after(t, d time.Duration) time.Duration {
	if d > 0 && t > forever-d {
		return forever
	}
	return t + d
}
