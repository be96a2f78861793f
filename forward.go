package siding

import "time"

// Never is the time for which a message waits that nobody wakes: the result of another queue does.
var Never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Then says where the results of a queue go back to: into a field of the message with the same event ID in another
// queue, which waits for it (see [Forward]).
type Then struct {
	Queue string
	Field string // a JSON Pointer to the field of that message's body which the result replaces
}

// WaitCount counts the ready messages that wait for the results of one queue.
type WaitCount struct {
	Queue string // the other queue
	Count int64
}

// Forward marks err as one that another queue's work can mend: the message waits, uncounted, while a copy of it under
// the same event ID is worked in that queue. The copy's result comes back into the message once (see [Then]), and the
// message is worked as usual; a message that is forwarded again after that is set aside (poison).
//
// In the write that settles the forwarded message, a store enqueues the copy: the same body and headers, superseding
// another body under that ID; a copy that is dead with the same body is redriven, and a done one is worked once more, by
// the recipe that the queue has now: its answer is in the journal. A copy that cannot be (it is discarded, or waits itself
// for this message's queue) makes the failure permanent.
//
// In the write that settles the copy with a [Settlement.Then] for the message's queue, the result goes back, see
// [ReturnResult]: the message is ready, untried again. A copy that comes to nothing (it is set aside, discarded,
// superseded by another body, or done without a result that could be put in) sets the waiting message aside, with the
// copy's cause where it has one; when a copy that was set aside is redriven and done after that, its result still comes
// back. Superseding, discarding or redriving the waiting message ends its waiting: a result that comes later is left where
// it is. nil stays nil.
func Forward(queue string, err error) error {
	if err == nil {
		return nil
	}
	f := *FailureOf(err)
	f.Outcome, f.Queue, f.Err, f.NoCall = OutcomeForwarded, queue, err, true
	return &f
}
