package siding

import (
	"context"
	"iter"
)

// Manifest keeps, for each input, which records it has: ordinal → event ID and place. A run leases, awaits, counts and
// reports only members of its input; results are a join by ordinal.
//
// An input is written anew by every run (a generation) and replaces the one before it when it is sealed, so that a run
// that dies while it reads leaves the earlier manifest as it was. A generation whose process lives is never dropped.
type Manifest interface {
	// BeginInput starts a new generation of the input with this key (unique in its queue) and drops what dead processes
	// left unsealed.
	BeginInput(ctx context.Context, queue, key string) (InputID, error)
	// SealInput ends the reading: the generation is complete, and those before it, of processes that are gone, are dropped.
	SealInput(ctx context.Context, id InputID) error
	// InputStats counts the members and their calls. digest is the recipe's; see Stale. On an unsealed input it counts what
	// is there.
	InputStats(ctx context.Context, id InputID, digest string) (InputStats, error)
	// InputMembers walks over the members in ordinal order, with their results. It reads in small steps: memory does not
	// grow with the input, and writers are not kept waiting. Members that an earlier ordinal already named are left out.
	InputMembers(ctx context.Context, id InputID, o MemberOptions) iter.Seq2[Member, error]
	// Reask makes done members that were answered under another digest ready again: attempt 0, the old answer in the
	// history. It gives their number.
	Reask(ctx context.Context, id InputID, digest string) (int64, error)
	// Readopt replaces the result of a done message that was answered under another digest, without a call: the journaled
	// answer j.Call passes the acceptance of the digest j.Digest. [ErrWrongState] when the message is not done any more.
	Readopt(ctx context.Context, queue, id string, j Judgement, result []byte) error
	// KeepAnswers marks done members that were answered under another digest as answered under this one.
	KeepAnswers(ctx context.Context, id InputID, digest string) (int64, error)
	// FindInput gives the newest sealed generation of the input with this key, or [ErrNotFound].
	FindInput(ctx context.Context, queue, key string) (InputID, error)
}

// InputID is a store's own number of one generation of an input; 0 is none.
type InputID int64

// InputStats counts an input's members, each message once. Enqueued = Done + Dead + Held + Pending + Discarded.
type InputStats struct {
	Enqueued, Done, Dead, Held, Pending, Discarded int64
	// Leased is how many of Pending are leased now, Retrying how many have failed before.
	Leased, Retrying int64
	// Waiting counts those of Pending that wait for the results of other queues, by the queues' names.
	Waiting []WaitCount
	// Stale is how many of Done were answered under another digest than the one asked about.
	Stale int64
	// Calls counts the calls ever made for the members, and for their copies in other queues (see [Forward]), with what they
	// cost. UnknownCalls may have been billed, at most
	// UnknownMax together; UnpricedCalls are answered calls without a known price, and are in no sum.
	Calls, UnknownCalls, UnpricedCalls int64
	Cost, UnknownMax                   Money
	Usage                              Usage
	// Causes groups the dead members, most first.
	Causes []CauseCount
}

// CauseCount is a group of dead letters.
type CauseCount struct {
	Cause       Cause
	Fingerprint string
	Count       int64
	Sample      string // the scrubbed error text of one of them
}

// MemberOptions chooses members; the zero value gives all, without bodies.
type MemberOptions struct {
	States []State // empty: all
	Stale  string  // only done members that were answered under another digest than this; empty: all
	Bodies bool    // give bodies too
}

// Member is a record of an input with what became of it.
type Member struct {
	Message Message
	Source  Source
	Result  []byte // when done
	Calls   int64  // this and the rest: copies in other queues included, as in [InputStats]
	Usage   Usage
	Cost    Money
	// UnpricedCalls are answered calls without a known price.
	UnpricedCalls int64
}
