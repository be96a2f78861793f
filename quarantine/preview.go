package quarantine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

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
func (r Repairs) Preview(ctx context.Context, m siding.Message, f Facts) Preview {
	before := draftOf(m)
	p := Preview{Verdict: Changed, Before: before, After: before}
	if len(r) == 0 {
		return p
	}
	after, err := r.Apply(ctx, before)
	switch {
	case err != nil:
		return p.invalid(err)
	case after.equal(before):
		p.Verdict = Unchanged
		return p
	}
	p.After = after
	if err := f.fits(m, after); err != nil {
		return p.invalid(err)
	}
	return p
}

func (p Preview) invalid(err error) Preview {
	p.Verdict, p.Problem = Invalid, siding.Scrub(err.Error(), siding.MaxErrorText)
	return p
}

// Return gives what a store is told to send the message back with.
func (p Preview) Return(id string, r Repairs) siding.Return {
	back := siding.Return{ID: id, From: sha256.Sum256(p.Before.Body), Note: siding.Scrub(r.String(), siding.MaxHeader)}
	if !bytes.Equal(p.Before.Body, p.After.Body) {
		back.Body = append([]byte{}, p.After.Body...) // an empty body is not nil
	}
	if !maps.Equal(p.Before.Headers, p.After.Headers) {
		back.Headers = map[string]string{}
		maps.Copy(back.Headers, p.After.Headers)
	}
	return back
}

// draftOf gives what repairs may change of a message.
func draftOf(m siding.Message) Draft {
	return Draft{Body: m.Body, ContentType: m.ContentType, Headers: m.Headers}
}

func (d Draft) equal(other Draft) bool {
	return bytes.Equal(d.Body, other.Body) && d.ContentType == other.ContentType && maps.Equal(d.Headers, other.Headers)
}

// apply gives the message as the draft has it.
func (d Draft) apply(m siding.Message) siding.Message {
	m.Body, m.ContentType, m.Headers = d.Body, d.ContentType, d.Headers
	return m
}

// fits says what is wrong with a message as a draft would have it; nil: it may be sent.
func (f Facts) fits(m siding.Message, d Draft) error {
	switch {
	case d.ContentType != m.ContentType:
		return fmt.Errorf("the content type would be %q; it cannot be changed", shorten(d.ContentType))
	case f.Check != nil && !f.Settings && settingsChanged(draftOf(m), d):
		return errors.New("the message's recipe asks no model, so that request settings change nothing")
	case f.Check != nil:
		return f.checked(d.apply(m))
	case !isJSON(d.ContentType):
		return nil
	case !utf8.Valid(d.Body):
		return errors.New("the result is not valid UTF-8")
	case !json.Valid(d.Body):
		return errors.New("the result is not valid JSON")
	}
	return nil
}

// checked runs Check, which is a handler's, and may panic.
func (f Facts) checked(m siding.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the recipe's check panicked: %s", shorten(fmt.Sprint(p)))
		}
	}()
	if failure := f.Check(m); failure != nil {
		return fmt.Errorf("the result would be set aside again (%s): %w", failure.Cause, failure)
	}
	return nil
}
