package siding

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Quarantine looks after dead letters in groups, and sends them back repaired. What changes something is recorded in the
// audit trail by the same write (see [Act]), as are [Operator.Redrive], [Operator.Discard], [Gatekeeper.Resume],
// [Gatekeeper.HoldGate], [Manifest.Reask] and [Manifest.KeepAnswers].
type Quarantine interface {
	// Groups gives the groups that q names, those with the most dead letters first, then by key. It reads sums that every
	// write keeps, and takes no longer for more dead letters.
	Groups(ctx context.Context, q GroupQuery) ([]Group, error)
	// MarkGroup changes a group's state (empty: stays) and note (empty: stays) in the name of the act's operator; see
	// [Group.Mark]. [ErrNotFound] where there is no such group.
	MarkGroup(ctx context.Context, key GroupKey, state GroupState, note string) error
	// Regroup gives dead letters whose fingerprint is of another version ([FingerprintVersion]) one of this version, from
	// their cause and error text, at most limit of them in one write, and gives their number; 0: all are up to date. What
	// operators made of the old groups goes over to the new ones ([Group.Inherit]), also where no dead letter is left in
	// them, by their sample; the old groups are gone then, and are counted in the number and the limit too.
	Regroup(ctx context.Context, limit int) (int64, error)
	// Return is [Operator.Redrive] with another body or other headers: in one guarded write the body in the message is
	// replaced, the earlier one goes to the history (revision repaired), and the message is redriven. Its ID does not change,
	// nor what a later enqueueing is compared with: the body as received. Each entry answers for one message: nil,
	// [ErrNotFound], [ErrWrongState] when it is not dead (any more), or [ErrConflict] when its body is not r.From any more.
	Return(ctx context.Context, queue string, r ...Return) ([]error, error)
	// RedriveSelected redrives up to limit of the dead letters that a selection names, oldest first, in one write, and gives
	// their number; fewer than limit means that there are no more. The selection's States, Bodies and Limit are not looked
	// at. Those whose body retention has dropped stay.
	RedriveSelected(ctx context.Context, s Selection, limit int) (int64, error)
	// DropBodies drops stored bodies, at most d.Limit in one write, and gives their number; fewer than d.Limit means that
	// there are no more. The messages, their IDs, hashes and history stay. A dead letter without a body cannot be sent
	// back: [ErrNoBody]; nor can a done one be asked again ([Manifest.Reask] leaves it as it is). It gets its body again, as
	// it was received, when the same body is enqueued; a return with a body of its own ([Return.From] unset) needs none.
	DropBodies(ctx context.Context, d Drop) (int64, error)
	// Audit walks over the audit trail, the latest first, in small steps.
	Audit(ctx context.Context, o AuditOptions) iter.Seq2[AuditEntry, error]
	// Note gives a small value that a program keeps in the store; [ErrNotFound] when there is none.
	Note(ctx context.Context, key string) (Note, error)
	// SetNote writes a note in one guarded write: n.Version is the version that the writer has read, 0 for one that is
	// new; [ErrConflict] when it has changed since. A nil Value removes it. It gives the note's new version. Notes whose
	// key begins with "setting/" are recorded in the audit trail.
	SetNote(ctx context.Context, n Note) (int64, error)
}

// GroupQuery chooses groups; the zero value gives those that have dead letters now, of all queues.
type GroupQuery struct {
	Queue        string
	Fingerprints []string
	States       []GroupState
	Empty        bool // also groups that have no dead letter now
}

// Return is a dead letter as it goes back to its queue.
type Return struct {
	ID string
	// From is the SHA-256 of the body that the repair was made of; the zero Hash: whatever it is.
	From Hash
	// Body replaces the message's body; nil: it stays. An empty body is one of length 0 that is not nil.
	Body []byte
	// Headers replace the message's headers, all of them; nil: they stay.
	Headers map[string]string
	// Note says how it was changed, for the history, for instance the repairs as an operator gives them; scrubbed.
	Note string
}

// DropWhat says which bodies are dropped.
type DropWhat string

// What retention can drop.
const (
	DropDead    DropWhat = "dead"    // bodies of dead letters, by when they were set aside
	DropDone    DropWhat = "done"    // bodies of done messages, by when they were first received; results stay
	DropHistory DropWhat = "history" // earlier bodies and answers kept in the history of messages, by when they were replaced
)

// DropWhats lists what can be dropped.
func DropWhats() []DropWhat { return []DropWhat{DropDead, DropDone, DropHistory} }

// Drop names bodies to be dropped.
type Drop struct {
	What   DropWhat
	Queue  string // empty: all
	Before time.Time
	Limit  int // at most so many in one write; at least 1
}

// Check says what is wrong with what is to be dropped, or nil.
func (d Drop) Check() error {
	if !slices.Contains(DropWhats(), d.What) {
		return fmt.Errorf("there are no bodies of the kind %q to drop", Scrub(string(d.What), 64))
	}
	if d.Limit < 1 {
		return errors.New("drop bodies: a limit of at least 1 is needed")
	}
	return nil
}

// String says what is dropped.
func (d Drop) String() string {
	return fmt.Sprintf("%s before %s", d.What, d.Before.UTC().Format(time.RFC3339))
}

// AuditOptions chooses entries of the audit trail; the zero value gives all.
type AuditOptions struct {
	Queue        string
	Actions      []Action
	Since, Until time.Time // Since ≤ Last, At < Until
	Limit        int       // at most; 0: all
}
