package quarantine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
)

// Draft is what a repair changes of a message.
type Draft struct {
	Body        []byte
	ContentType string
	Headers     map[string]string // with the request settings; see [HeaderMaxTokens]
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

// Repairs are applied one after the other.
type Repairs []Repair

// ParseRepairs reads several repairs; the error names each that is wrong.
func ParseRepairs(texts []string) (Repairs, error) {
	var list Repairs
	var errs []error
	for _, text := range texts {
		r, err := ParseRepair(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, r)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return list, nil
}

// Texts gives the repairs as --repair takes them.
func (r Repairs) Texts() []string {
	texts := make([]string, len(r))
	for i, each := range r {
		texts[i] = each.String()
	}
	return texts
}

// String gives the repairs for a note, in the order in which they are applied.
func (r Repairs) String() string { return strings.Join(r.Texts(), "; ") }

// Apply applies the repairs one after the other. A repair that panics gives an error.
func (r Repairs) Apply(ctx context.Context, d Draft) (Draft, error) {
	for _, each := range r {
		after, err := applyOne(ctx, each, d)
		if err != nil {
			return d, err
		}
		d = after
	}
	return d, nil
}

func applyOne(ctx context.Context, r Repair, d Draft) (after Draft, err error) {
	name := "a repair"
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %s", name, shorten(fmt.Sprint(p)))
		}
	}()
	name = shorten(r.String())
	if after, err = r.Apply(ctx, d); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	return after, nil
}
