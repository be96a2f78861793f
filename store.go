package siding

import (
	"context"
	"time"
)

// Store keeps messages, their history, the journal of calls and the manifests of inputs. Every implementation passes
// the conformance suite in package storetest.
//
// What holds for every method:
//
//   - A nil error means that the change is durable: it survives the loss of power.
//   - An error means that nothing has changed, except where the reply itself was lost (the caller cannot know, and may
//     ask again: every write is guarded, and a second one changes nothing).
//   - A batched method answers for each item on its own; one that fails does not keep the others back. Its error is for
//     what stopped the whole call.
//   - Every change of a message's state is one guarded write: state and, where a lease is meant, the lease token.
//   - Times are the store's: its clock never runs backwards and never stands still, and nobody's else decides.
//   - Several goroutines, several stores on one file or database, and several processes may call at once.
//   - Texts that come from outside (errors, headers, names) are scrubbed; bodies, results and answers are kept exactly.
//   - A cancelled context stops waiting for the reply; the change may still happen.
type Store interface {
	Producer
	Queue
	Journal
	Manifest
	Operator
	Gatekeeper
	Quarantine
	Campaigner

	// Info tells what the store is.
	Info(ctx context.Context) (StoreInfo, error)
	// Now gives the store's time.
	Now(ctx context.Context) (time.Time, error)
	// Close ends the process's registration and frees the store. It does not settle what is leased: workers do, first.
	Close() error
}

// StoreInfo is what a store is.
type StoreInfo struct {
	ID        string // random, made with the store
	Format    int    // version of its layout
	Simulated bool   // marked at creation; simulated and real work do not mix
	URL       string // without secrets
}

// Producer takes messages in.
type Producer interface {
	// Enqueue puts messages into a queue, which is made when it is new. The result has one entry for each message, in
	// order. A message whose event ID is known is compared with the stored body as received:
	//
	//   - equal: nothing changes (unchanged, or dead or discarded to tell that it will not be worked).
	//   - different: an error wrapping ErrConflict, unless o.Supersede: a ready or dead message takes the new body
	//     (attempt 0, old body in the history), a leased one takes it when it settles, a done one is asked again (old
	//     answer in the history), a discarded one stays as it is.
	//
	// With o.RedriveDead a message that is dead and equal is redriven. With o.Input the messages become members of that
	// input; see [Manifest]. An ID that [CheckID] refuses gives an error in its entry, wrapping [ErrInvalidID]; a queue with
	// o.MaxDepth undone messages refuses new ones with [ErrFull].
	Enqueue(ctx context.Context, queue string, o EnqueueOptions, msgs ...NewMessage) ([]Enqueued, error)
}

// EnqueueOptions says how to take messages in; the zero value is the careful one.
type EnqueueOptions struct {
	Supersede   bool
	RedriveDead bool
	Input       InputID // 0: none
	MaxDepth    int64   // most undone messages (ready and leased) in the queue; 0: no limit
}

// EnqueueStatus is what became of one enqueued message.
type EnqueueStatus string

// What became of an enqueued message.
const (
	EnqueueNew        EnqueueStatus = "new"        // it is in the queue now
	EnqueueUnchanged  EnqueueStatus = "unchanged"  // known, with the same body: ready, leased or done
	EnqueueSuperseded EnqueueStatus = "superseded" // it has taken the new body, or will when its delivery settles
	EnqueueRedriven   EnqueueStatus = "redriven"   // it was dead, and is ready again
	EnqueueDead       EnqueueStatus = "dead"       // known and dead (or set aside now, NewMessage.Dead): it will not be worked
	EnqueueDiscarded  EnqueueStatus = "discarded"  // known and discarded: it will not be worked
	EnqueueDuplicate  EnqueueStatus = "duplicate"  // the same ID and bytes stood in this input before; it counts once
	EnqueueRefused    EnqueueStatus = "refused"    // see the error
)

// Enqueued is what became of one message.
type Enqueued struct {
	// ID is the event ID; a record of an input whose ID was taken by other bytes has a derived one.
	ID     string
	Status EnqueueStatus
	Err    error
}

// Queue hands messages to workers.
type Queue interface {
	// Lease claims messages. Within the same write it first takes back leases that have run out (interrupted, lease-lost)
	// and sets expired messages aside. Then it chooses among the ready messages whose time has come: untried ones (attempt
	// 0) by priority and age, and of those that have failed before at most r.MaxRetries while untried ones wait. It never
	// gives more than r.Max, and fewer or none is no error.
	//
	// Between the two it asks the gates of r.Gates ([Gates.Admit]), read within the same write: a closed gate gives
	// nothing, and one that is to be probed gives one message, chosen at random among those that wait (for a systemic hold
	// among the untried ones that are no members of its streaks; when there are none, not even for a later time, and nothing
	// is in flight, the hold is concluded, see [Gate.Conclude]). A probe whose lease is over by any way without a settlement is forgotten.
	//
	// A suspect, and a message whose waits are used up (Decision.Alone), is given alone: only to a process that has nothing
	// else leased, which gets nothing more until it is settled; after ordinary work, or once it has waited for 5 minutes,
	// from when on a process that has something leased gets nothing more until it is empty; fewest solo crashes first. Where
	// no other message can be the probe, it is.
	Lease(ctx context.Context, r LeaseRequest) (Leased, error)
	// Extend prolongs leases to the given time from now. Each entry answers for one token: nil, or [ErrStaleLease].
	Extend(ctx context.Context, d time.Duration, tokens ...LeaseToken) ([]error, error)
	// Settle ends deliveries: it calls [Route] with the store's time, writes the decision, the history and the judgements,
	// and applies a body that superseded the message meanwhile. A token that is not the current one gives [ErrStaleLease],
	// changes nothing and is counted; a current one counts also after its lease has run out.
	//
	// Before the routing the gates of the settlement see it ([Gates.Observe]), which may turn a failure into a held one and
	// may concern other messages ([Effect]); all of it is one write.
	Settle(ctx context.Context, s ...Settlement) ([]Settled, error)
	// Reap frees at once what processes that are proven dead have left: their leases (interrupted, worker-crash, or
	// host-restart when the machine has been restarted since) and their started calls (unknown, maybe billed). It gives the
	// number of messages that it freed. Opening a store reaps, and workers do from time to time.
	Reap(ctx context.Context) (int, error)
}

// LeaseRequest asks for messages.
type LeaseRequest struct {
	Queue      string
	Worker     string        // a name for the history
	Max        int           // at most; 0 takes back what has run out, and gives nothing
	MaxRetries int           // at most this many that have failed before, while untried ones wait; negative: any
	Duration   time.Duration // of the lease
	Input      InputID       // only members of this input; 0: the whole queue
	Policy     Policy        // for leases that have run out
	Rand       float64       // for their jitter, and for the choice of a probe; in [0, 1)
	Gates      GateKeys      // in the way of these messages
}

// Leased is the answer to a request.
type Leased struct {
	Deliveries []*Delivery
	// Now is the store's time of the lease.
	Now time.Time
	// NextAt is when the next ready message that was not given comes due; zero when there is none. It may lie in the past:
	// more could have been given.
	NextAt time.Time
	// InFlight is how many messages of the queue or input are leased by anybody, those of this answer included.
	InFlight int
	// Blocked are the gates that were in the way, as they stood.
	Blocked []Gate
	// RetryAt is when the gates in the way may let a message through: for a gate that waits only for a message to probe it,
	// when the next that may do so comes due, which may lie in the past as with NextAt. Zero when the gates are open, or
	// nothing changes by itself.
	RetryAt time.Time
}

// Settlement is the end of one delivery.
type Settlement struct {
	Token   LeaseToken
	Failure *Failure // nil: done
	Result  []byte   // when done; nil for none
	Digest  string   // of the recipe; empty for none
	Judged  []Judgement
	Policy  Policy
	Rand    float64 // for the jitter, in [0, 1)
	Gates   GateKeys
	NoCall  bool // the service was not asked in this delivery
	// OtherLane says that it was asked by another lane than the one in Gates.
	OtherLane bool
	Then      *Then // when done: where the result goes back to; nil: nowhere
}

// Settled is what became of one settlement.
type Settled struct {
	Decision Decision
	// Failure is the failure as it counted; nil when done.
	Failure *Failure
	Err     error
}

// Gatekeeper lets operators and starting runs look at gates and change them.
type Gatekeeper interface {
	// Gates gives every gate that has something to say, sorted by key.
	Gates(ctx context.Context) ([]Gate, error)
	// Nudge lets one probe through each undated hold of these gates at once; see [Gate.Nudge].
	Nudge(ctx context.Context, keys GateKeys) error
	// Resume ends the hold of a gate by hand, in one write with what that means for the members of a streak; see
	// [Gate.Resume]. [ErrNotFound] when the gate is not held.
	Resume(ctx context.Context, key GateKey, asPoison bool) error
	// HoldGate holds a gate by hand until it is resumed, with a reason and the operator's name, which are scrubbed. A gate
	// that is held already is held by hand from then on.
	HoldGate(ctx context.Context, key GateKey, reason, by string) error
}
