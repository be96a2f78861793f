package siding

import "context"

// Handler does the work that a message asks for. It is called for several messages at once, and may be called again for
// a message that it has already seen: after a failure, and after a crash.
//
// A nil error is done. An error is classified by [FailureOf]: return [Permanent], [Transient], [Gray], [Held] or a
// [*Failure] to say what it is. A panic is recovered and counts as transient (cause handler-panic). The context ends
// when the lease is lost ([ErrLeaseLost]) or the worker's grace time is over ([ErrShutdown]); see [context.Cause].
type Handler interface {
	Handle(ctx context.Context, d *Delivery) (Result, error)
}

// HandlerFunc is a [Handler] without a result.
type HandlerFunc func(ctx context.Context, d *Delivery) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, d *Delivery) (Result, error) {
	return Result{}, f(ctx, d)
}

// Result is what a delivery leaves behind.
type Result struct {
	// Body is the result, as JSON; nil for none. It counts only with a nil error.
	Body []byte
	// Judged are the verdicts on journaled answers that this delivery came to, with an error or without.
	Judged []Judgement
	// NoCall says that the service was not asked, with an error or without: lanes learn nothing from this delivery.
	NoCall bool
	// OtherLane says that the service was asked by another lane than the worker's, with an error or without, as when a
	// message names a model of its own: the worker's lane learns nothing from this delivery, account and recipe do.
	OtherLane bool
	// Limits are the rate limits that the service told, or nil.
	Limits *RateLimits
}

// BatchHandler handles many messages at once, and settles each on its own with [BatchItem.Done] or [BatchItem.Fail].
//
// What the error (or a panic) says applies to the messages that are not settled by then. Where it leaves more than one,
// nobody knows whose fault it was: none of them is charged, and each is handed over again alone, within the same
// delivery, so that only the one that fails by itself pays for it. A nil error with unsettled messages means done.
type BatchHandler interface {
	HandleBatch(ctx context.Context, batch []*BatchItem) error
}

// BatchItem is one message of a batch. It is used by one goroutine at a time.
type BatchItem struct {
	*Delivery
	settled bool
	result  Result
	err     error
}

// NewBatchItem wraps a delivery for a [BatchHandler]; workers and tests call it.
func NewBatchItem(d *Delivery) *BatchItem { return &BatchItem{Delivery: d} }

// Done settles the message with success. The first call of Done or Fail counts; later ones do nothing.
func (i *BatchItem) Done(r Result) { i.settle(r, nil) }

// Fail settles the message with an error, classified by [FailureOf]. A nil error is Done without a result.
func (i *BatchItem) Fail(err error) { i.settle(Result{}, err) }

// Settled gives what the message was settled with, and whether it was.
func (i *BatchItem) Settled() (Result, error, bool) { return i.result, i.err, i.settled } //nolint:revive // not an error of this call

func (i *BatchItem) settle(r Result, err error) {
	if !i.settled {
		i.settled, i.result, i.err = true, r, err
	}
}
