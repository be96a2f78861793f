package siding

import "time"

// MaxIDBytes is the length of the longest event ID, in bytes.
const MaxIDBytes = 512

// NewMessage is what a producer hands to a store.
type NewMessage struct {
	// ID is the event ID: 1 to [MaxIDBytes] bytes of UTF-8 without control characters, unique in its queue. It never
	// changes, also across redrives.
	ID string
	// Body is kept exactly as it is, also where it is not valid UTF-8. Empty is allowed.
	Body []byte
	// ContentType is a media type; empty means application/json.
	ContentType string
	// Headers are short texts for the handler. Names and values are scrubbed (see [Scrub]).
	Headers map[string]string
	// NotBefore is the earliest delivery by the store's clock; the zero time means at once.
	NotBefore time.Time
	// ExpiresAt sets the message aside (reason expired) when it is not done by then; the zero time means never.
	ExpiresAt time.Time
	// Priority: higher is leased first. 0 is the default; the range is that of an int16.
	Priority int16
	// FairnessKey names the producer or tenant for whom this is done; stored, for schedulers that share slots fairly.
	FairnessKey string
	// Source says where the record came from, for messages that an input file brought. May be nil.
	Source *Source
	// Dead, when set, enqueues the message as a dead letter at once (reason poison): its fault was found before it could
	// be a message like the others, for instance a second record with a taken ID. No delivery is recorded for it.
	Dead *Failure
}

// Source locates a record in the input it came from.
type Source struct {
	Ordinal    int64    // place among the records of the whole input, from 0
	File       string   // as the user named it; "-" is standard input
	Line       int64    // from 1; for a JSON array or a CSV file, the line on which the record begins
	Offset     int64    // byte offset of the record in its file, from 0
	SourceHash [32]byte // SHA-256 of the record's exact bytes in the file
}

// Message is a message as a store holds it.
type Message struct {
	Queue       string
	ID          string // the event ID
	Body        []byte
	ContentType string
	Headers     map[string]string
	Priority    int16
	FairnessKey string
	ExpiresAt   time.Time // zero: never

	State       State
	AvailableAt time.Time // when ready: from then on it may be leased

	// Attempt is how many deliveries have failed through the message; it starts at 0.
	Attempt int
	// Gray is how many of them were gray.
	Gray int
	// Waits is how often it was held while its lane served others.
	Waits int
	// Interruptions is how often its lease was lost.
	Interruptions int
	// Redrives is how often it was sent back from the quarantine.
	Redrives int
	// Deliveries is how often it was handed to a handler, ever; the number of the latest delivery.
	Deliveries int

	ReceivedAt time.Time // first received
	// Suspect says that it was in flight when a worker process died, and has not settled since.
	Suspect bool
	// SoloCrashes is how often a process died around it while it was in flight alone.
	SoloCrashes int
	// Alone says that its next delivery is its last trial, alone on a rested lane: its waits are used up.
	Alone bool
	// HeldAt is when a delivery of it was last held; zero: never, or not since a redrive.
	HeldAt time.Time
	// LastError is the latest failure, whatever it counted; an interruption replaces it only when it sets the message
	// aside. A dead message always has one; nil after a redrive and on a message that never failed.
	LastError *LastError

	// DeadAt and Reason are set while the message is dead.
	DeadAt time.Time
	Reason Reason
	// Digest is the recipe digest under which a done message was answered.
	Digest string
	// WaitsFor is the queue to which it was forwarded, and whose result it waits for; empty: none. It is ready with an
	// AvailableAt of [Never] while it waits, or dead when the copy there came to nothing.
	WaitsFor string
	// Returned is how often the result of another queue has come into its body; see [Forward].
	Returned int
	// NoBody says that retention has dropped the body.
	NoBody bool
}

// LastError is a failure as it is stored: text scrubbed and bounded, see [Scrub].
type LastError struct {
	Outcome     Outcome
	Cause       Cause
	Fingerprint string
	Text        string
	Status      int    // HTTP status, or 0
	RequestID   string // the service's own name for the call, or empty
	FaultOffset *int64 // byte offset of the fault in the body, or nil
}

// Delivery is one handing of a message to a handler, under a lease.
type Delivery struct {
	Message
	// Number counts the deliveries of this message, from 1.
	Number int
	// Token is the lease token: every write about this delivery is guarded by it.
	Token LeaseToken
	// LeasedUntil is when the lease runs out, by the store's clock.
	LeasedUntil time.Time
	// StartedAt is when the lease was given, by the store's clock.
	StartedAt time.Time
	// Source locates the record in its input, or is nil.
	Source *Source
	// Solo says that nothing else is in flight in this process, and nothing else may be until it is settled.
	Solo bool
}

// LeaseToken identifies one lease. It is opaque; the zero token is never given out.
type LeaseToken struct {
	Message int64 // the store's own number of the message
	Nonce   int64 // changes with every lease
}
