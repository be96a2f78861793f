package quarantine

import (
	"context"
	"errors"

	"github.com/siding-dev/siding"
)

// Draft is what a repair changes of a message.
type Draft struct {
	Body        []byte
	ContentType string
	Headers     map[string]string // with the request settings; see [Request]
}

// Repair is a named change of a message. Apply is pure, but for repairs that run a command; it never changes the draft
// that it is given, and gives one that is equal where there is nothing to mend. An error says why it cannot be applied
// to this draft: where the result would be a guess, it refuses.
type Repair interface {
	// String is the repair as --repair takes it, in one spelling.
	String() string
	Apply(ctx context.Context, d Draft) (Draft, error)
}

// The headers by which a message carries settings of its own for its request. They are set by the repair request, or by
// a producer; handlers that ask a model heed them.
const (
	HeaderMaxTokens   = siding.HeaderMaxTokens
	HeaderModel       = siding.HeaderModel
	HeaderInstruction = siding.HeaderInstruction
)

// ParseRepair reads a repair as --repair has it: a name, or a name, a colon and its arguments.
func ParseRepair(text string) (Repair, error) { return nil, errors.New("not written yet") }

// Repairs are applied one after the other.
type Repairs []Repair

// ParseRepairs reads several repairs; the error names each that is wrong.
func ParseRepairs(texts []string) (Repairs, error) { return nil, errors.New("not written yet") }

// Verdict says what repairs came to for one message.
type Verdict string

// What repairs come to.
const (
	Changed   Verdict = "changed"   // the result may be sent
	Unchanged Verdict = "unchanged" // nothing was there to mend
	Invalid   Verdict = "invalid"   // a repair could not be applied, or the result is not valid
)

// Preview is what repairs would do to one message.
type Preview struct {
	Verdict       Verdict
	Before, After Draft
	// Problem says why the verdict is invalid; scrubbed.
	Problem string
}

// Preview applies the repairs to a message without changing it, and checks the result by f. Without repairs the message
// is changed to what it is: it may be sent.
func (r Repairs) Preview(ctx context.Context, m siding.Message, f Facts) Preview { return Preview{} }

// Return gives what a store is told to send the message back with.
func (p Preview) Return(id string, r Repairs) siding.Return { return siding.Return{} }
