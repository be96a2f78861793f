package siding

import (
	"context"
	"time"
)

// Journal records every paid request, so that an answer is paid once. The key of a call is queue, event ID and request
// hash. See [Store] for what holds for every method.
type Journal interface {
	// StartCall asks to send a request. In one guarded write it records the verdicts of r.Rejected, looks for what the
	// journal already has, and only where nothing stands in the way makes a durable started row. The answer says which:
	//
	//   - Answer: an answer to the same event, by request hash or ask hash, that is unjudged, accepted, or was judged under
	//     another digest. Judge it; where it does not serve, call again with its ID in Rejected.
	//   - BusyUntil: the same request is under way, started by a process that is not proven dead. Nobody may send it before.
	//   - Unknown > 0 with r.OnUnknown = quarantine: earlier calls of this request have an unknown fate; do not send.
	//   - Held: the call could exceed r.Budget, counting the queue's costs and what calls of unknown or open fate cost at
	//     most; nothing was reserved. Do not send; the delivery is held for the recipe (cause budget). What has no price is
	//     in no sum.
	//   - Call: the started row is durable. Send the request now, then call EndCall.
	//
	// [ErrStaleLease] when the lease is no longer held: do not send. [ErrDiskFull] while the disk has no room for the
	// answer: do not send, and try again.
	StartCall(ctx context.Context, r CallRequest) (CallStart, error)
	// EndCall records how a call ended, by its ID and whoever holds the lease by then, durably, before anything else is
	// done with the answer. A second end of the same call changes nothing and is no error, so that it may be tried again;
	// but an answer that comes after the call was given up as unknown replaces that.
	EndCall(ctx context.Context, e CallEnd) error
	// Calls lists the calls made for a message, oldest first, without their answers. An unknown message has none.
	Calls(ctx context.Context, queue, id string) ([]Call, error)
	// Answer gives the raw bytes of a call's answer; [ErrNotFound] when it has none.
	Answer(ctx context.Context, id CallID) ([]byte, error)
}

// CallID is a store's own number of a call; 0 is none.
type CallID int64

// Hash is a SHA-256.
type Hash [32]byte

// Fate is how a call ended, as far as money goes. The values are stored, so the list is append-only.
type Fate string

// The fates of a call.
const (
	FateStarted  Fate = "started"  // under way, or its process died; unknown once its deadline is past or its process is dead
	FateAnswered Fate = "answered" // a whole answer came; billed as its usage says
	FateRefused  Fate = "refused"  // the service said no, and does not bill that
	FateUnsent   Fate = "unsent"   // nothing was sent: refused connection, name or certificate not found
	FateUnknown  Fate = "unknown"  // sent, and no whole answer: maybe billed
)

// Fates lists every fate, in the order in which they were added.
func Fates() []Fate {
	return []Fate{FateStarted, FateAnswered, FateRefused, FateUnsent, FateUnknown}
}

// CallRequest is what a handler knows before it sends.
type CallRequest struct {
	Token       LeaseToken // of the delivery for which it is sent
	RequestHash Hash       // over the exact bytes to be sent
	AskHash     Hash       // over the request without output schema and output limit; zero: none
	Digest      string     // the recipe's
	Lane        string
	Deadline    time.Duration // how long the call may take at most; more than 0
	WorstCost   Money         // reserved: what it costs at most
	Priced      bool          // false: no price is known, and WorstCost means nothing
	OutputLimit int64         // the longest answer asked for, in tokens; 0: none
	Budget      Money         // the queue's whole spending may not exceed this; 0: no limit
	OnUnknown   OnUnknown
	Rejected    []CallID // answers that StartCall gave before for this delivery, and that do not serve under Digest
}

// CallStart is the answer of [Journal.StartCall]. Exactly one of its cases holds; see there.
type CallStart struct {
	Call      CallID
	Answer    *Call  // with AnswerBody
	Body      []byte // the raw bytes of Answer
	BusyUntil time.Time
	Held      bool  // over the budget
	Spent     Money // when Held: what the queue's calls have cost, at most
	// Unknown is how many earlier calls of this request have an unknown fate.
	Unknown int
}

// CallEnd is how a call ended.
type CallEnd struct {
	Call      CallID
	Fate      Fate
	Status    int    // HTTP status, or 0
	RequestID string // the service's own name for the call
	Answer    []byte // the raw bytes of a whole answer; nil for other fates
	Usage     Usage
	Cost      Money // what it cost, for an answered call
	Priced    bool  // false: an answered call whose price is not known
	Failure   *Failure
}

// Usage is what a call used, in tokens.
type Usage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheWrite5m int64 `json:"cache_write_5m_tokens,omitempty"`
	CacheWrite1h int64 `json:"cache_write_1h_tokens,omitempty"`
	CacheRead    int64 `json:"cache_read_tokens,omitempty"`
}

// Add gives the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheWrite5m: u.CacheWrite5m + v.CacheWrite5m,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, CacheRead: u.CacheRead + v.CacheRead,
	}
}

// Verdict is what acceptance said of a journaled answer. The values are stored, so the list is append-only.
type Verdict string

// The verdicts.
const (
	VerdictNone     Verdict = "" // not judged yet
	VerdictAccepted Verdict = "accepted"
	VerdictRejected Verdict = "rejected"
)

// Judgement is the verdict of a delivery on one answer. A settlement carries it, so that an answer is judged exactly once.
type Judgement struct {
	Call     CallID
	Accepted bool
	Digest   string // of the recipe whose acceptance judged
	Cause    Cause  // why it was rejected
}

// Call is a row of the journal.
type Call struct {
	ID          CallID
	Queue       string
	EventID     string
	Delivery    int // number of the delivery for which it was made
	RequestHash Hash
	AskHash     Hash
	Digest      string // of the recipe that asked
	Lane        string
	StartedAt   time.Time
	Deadline    time.Time
	EndedAt     time.Time // zero: no end is recorded
	Fate        Fate
	Status      int
	RequestID   string
	OutputLimit int64
	Usage       Usage
	Cost        Money
	WorstCost   Money
	Priced      bool
	Error       *LastError
	Verdict     Verdict
	JudgedCause Cause  // why it was rejected
	JudgedUnder string // the digest
}

// Maybe tells whether the call may have been billed although no answer is recorded.
func (c Call) Maybe() bool { return c.Fate == FateUnknown || c.Fate == FateStarted }
