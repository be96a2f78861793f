package siding

import (
	"context"
	"iter"
	"time"
)

// Operator looks at messages and changes their state by hand.
type Operator interface {
	// Get gives a message in any state with all that is known of it, or [ErrNotFound].
	Get(ctx context.Context, queue, id string) (*Record, error)
	// List walks over the messages that a selection names, oldest first (dead ones by the time they were set aside),
	// without bodies unless asked for. It reads in small steps. A row that cannot be read gives an error in its place, and
	// the walk goes on.
	List(ctx context.Context, s Selection) iter.Seq2[Listed, error]
	// Redrive returns dead messages to their queue by [Redrive]: same event ID, attempt 0, history kept. Each entry answers
	// for one ID: nil, [ErrNotFound], [ErrWrongState] when it is not dead (any more), or [ErrNoBody]. No IDs: nothing happens.
	Redrive(ctx context.Context, queue string, ids ...string) ([]error, error)
	// Discard gives messages up, with a reason that is kept: ready, leased (the delivery's settlement will be stale) or
	// dead ones. Each entry answers for one ID: nil, [ErrNotFound] or [ErrWrongState].
	Discard(ctx context.Context, queue, reason string, ids ...string) ([]error, error)
	// Stats counts the messages of a queue, or of every queue when the name is empty, sorted by name.
	Stats(ctx context.Context, queue string) ([]QueueStats, error)
	// Check looks for rows that break a rule; each is one violation. It reads in small steps and changes nothing.
	Check(ctx context.Context) iter.Seq2[Violation, error]
}

// Selection names messages: those for which every field that is set holds. The zero value names all messages.
type Selection struct {
	Queue        string
	IDs          []string
	States       []State
	Causes       []Cause
	Fingerprints []string
	Reasons      []Reason
	// Since and Until bound the time at which a dead message was set aside, or else first received: Since ≤ t < Until.
	Since, Until time.Time
	Input        InputID
	Bodies       bool // give bodies too
	Limit        int  // at most; 0: all
}

// Listed is a message in a listing.
type Listed struct {
	Message
	Source *Source
}

// Record is all that is known of a message.
type Record struct {
	Message
	Source *Source
	Result []byte // when done
	// History has the first and the last deliveries, oldest first; Forgotten is how many between them were dropped.
	History   []DeliveryRecord
	Forgotten int
	Calls     []Call
	Revisions []Revision
	// DiscardReason is set while the message is discarded.
	DiscardReason string
	// Worker and LeasedUntil are set while it is leased.
	Worker      string
	LeasedUntil time.Time
}

// HistoryEnds is how many of the first, and how many of the last deliveries a message's history keeps.
const HistoryEnds = 10

// DeliveryRecord is one delivery in a message's history.
type DeliveryRecord struct {
	Number    int
	StartedAt time.Time
	EndedAt   time.Time
	Worker    string
	Outcome   Outcome
	Digest    string
	Error     *LastError // nil when done
}

// Revision is an earlier body or answer of a message, or a change of it by hand.
type Revision struct {
	At   time.Time
	Kind RevisionKind
	Note string
	By   string // the operator, where one did it and said who
	// Campaign is the campaign that did it; 0: none.
	Campaign CampaignID
	Body     []byte // the earlier body, where it was replaced
	// Headers are the earlier headers, where they were replaced.
	Headers map[string]string
	// Result and Digest are the earlier answer, where there was one.
	Result []byte
	Digest string
}

// RevisionKind says what a revision is. The values are stored, so the list is append-only.
type RevisionKind string

// The kinds of revision.
const (
	RevisionSuperseded RevisionKind = "superseded" // another body was enqueued under the ID
	RevisionReasked    RevisionKind = "reasked"    // asked again under another recipe
	RevisionReadopted  RevisionKind = "readopted"  // a journaled answer passed another recipe's acceptance
	RevisionRedriven   RevisionKind = "redriven"   // returned from the quarantine
	RevisionDiscarded  RevisionKind = "discarded"
	RevisionRepaired   RevisionKind = "repaired" // an operator's repair, or a campaign's, replaced body or headers
	RevisionReturned   RevisionKind = "returned" // the result of another queue came into a field of the body
	RevisionDropped    RevisionKind = "dropped"  // retention dropped the body
)

// RevisionKinds lists every kind, in the order in which they were added.
func RevisionKinds() []RevisionKind {
	return []RevisionKind{
		RevisionSuperseded, RevisionReasked, RevisionReadopted, RevisionRedriven, RevisionDiscarded,
		RevisionRepaired, RevisionReturned, RevisionDropped,
	}
}

// QueueStats counts the messages of one queue.
type QueueStats struct {
	Queue                                string
	Ready, Leased, Done, Dead, Discarded int64
	Delayed                              int64     // of Ready: not before a later time
	Retrying                             int64     // of Ready: have failed before
	OldestReady                          time.Time // first received; zero: none
	// Waiting counts those of Ready that wait for the results of other queues, by the queues' names.
	Waiting                            []WaitCount
	StaleSettles                       int64 // settlements that came after their lease was given anew
	Calls, UnknownCalls, UnpricedCalls int64
	Cost, UnknownMax                   Money
	Causes                             []CauseCount
}

// Violation is a row that breaks a rule.
type Violation struct {
	Rule  string // short and stable, for instance attempt-over-limit
	Queue string
	ID    string // empty when no message is concerned
	Text  string
}
