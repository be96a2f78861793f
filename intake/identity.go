package intake

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// fit says whether a text can be an event ID.
func fit(text []byte, at int64) foundID {
	if err := siding.CheckID(string(text)); err != nil {
		return foundID{unfit: unfitText(err), at: at}
	}
	return foundID{text: text, ok: true, at: at}
}

// unfitText gives what CheckID says without the words that all its errors begin with.
func unfitText(err error) string {
	prefix := siding.ErrInvalidID.Error() + ": "
	if text := err.Error(); len(text) > len(prefix) {
		return "cannot be one: " + text[len(prefix):]
	}
	return "cannot be one"
}

// identify gives a JSON record its event ID. Where there is none, or none that can serve, the record gets an ID from the
// hash of its bytes, the same in every run, and is set aside, unless it is broken: then it goes on as a message like any
// other, and its handler finds what broke it.
func identify(m *siding.NewMessage, p Pointer) {
	if p.IsZero() {
		return // the store gives one
	}
	id := scanID(m.Body, p)
	if id.ok {
		m.ID = string(id.text)
		return
	}
	m.ID = siding.RecordID(m.Source.SourceHash, 0)
	switch {
	case m.Dead != nil: // set aside already, for what weighs more
	case !id.none():
		m.Dead = invalidID(fmt.Errorf("the event ID at %s %s", p, id.unfit), id.at)
	case utf8.Valid(m.Body) && json.Valid(m.Body):
		m.Dead = invalidID(fmt.Errorf("the record has no event ID: nothing stands at %s", p), -1)
	}
}

func invalidID(err error, at int64) *siding.Failure {
	return setAside(siding.CauseInvalidID, err, at)
}

// setAside is a fault found here, at a byte of the body; at is negative where it is at none.
func setAside(cause siding.Cause, err error, at int64) *siding.Failure {
	f := &siding.Failure{Outcome: siding.OutcomePermanent, Cause: cause, NoCall: true, Err: err}
	if at >= 0 {
		f.FaultOffset = &at
	}
	return f
}

// tooLarge is why a record beyond the limit is set aside.
func tooLarge(p piece, limit int64, file string) *siding.Failure {
	return setAside(siding.CauseBodyTooLarge, fmt.Errorf("the record has %d bytes, and %d are allowed (max_body); its first "+
		"%d are kept here, and the whole (SHA-256 %x) stands in %q from line %d, byte %d",
		p.size, limit, len(p.bytes), p.sum, showName(file), p.line, p.offset), -1)
}
