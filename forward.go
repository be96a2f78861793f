package siding

import (
	"errors"
	"time"
)

// Never is the time for which a message waits that nobody wakes: the result of another queue does.
var Never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Then says where the results of a queue go back to: into a field of the message with the same event ID in another
// queue, which waits for it (see [Forward]).
type Then struct {
	Queue string
	Field string // a JSON Pointer to the field of that message's body which the result replaces
}

// Forward marks err as one that another queue's work can mend: the message waits, uncounted, while a copy of it under
// the same event ID is worked in that queue. The copy's result comes back into the message once (see [Then]), and the
// message is worked as usual; a message that is forwarded again after that is set aside (poison).
//
// In the write that settles the forwarded message, a store enqueues the copy: the same body and headers, superseding
// another body under that ID; a copy that is dead with the same body is redriven, and a done one gives its result at
// once. In the write that settles the copy with a [Settlement.Then], the result goes back, see [ReturnResult]. A copy that
// is set aside or discarded sets the waiting message aside with its own cause; when it is redriven and done after that,
// its result still comes back. nil stays nil.
func Forward(queue string, err error) error {
	if err == nil {
		return nil
	}
	f := *FailureOf(err)
	f.Outcome, f.Queue, f.Err, f.NoCall = OutcomeForwarded, queue, err, true
	return &f
}

// ReturnResult gives the body of a message into which a result has come: the value that field names is replaced, or
// added to the object it stands in. A result that is a JSON text goes in as that text, anything else as it is; a result
// that is not JSON as a text. Everything else in the body keeps its bytes.
func ReturnResult(body []byte, field string, result []byte) ([]byte, error) {
	return nil, errors.New("not written yet")
}
