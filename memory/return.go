package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"

	"github.com/siding-dev/siding"
)

// hand is who changes a message by hand: the operator, as far as the program knows, and the campaign that does it.
type hand struct {
	by       string
	campaign siding.CampaignID
}

func handOf(ctx context.Context) hand { return hand{by: siding.ActOf(ctx).By} }

func (h hand) revision(r siding.Revision) siding.Revision {
	r.By, r.Campaign = h.by, h.campaign
	return r
}

// redrive returns a dead message to its queue.
func (x *tx) redrive(m *message, h hand) error {
	if m.NoBody {
		return fmt.Errorf("message %q: %w", siding.Scrub(m.ID, 64), siding.ErrNoBody)
	}
	note := "was set aside"
	if m.LastError != nil {
		note = string(m.Reason) + ", " + string(m.LastError.Cause)
	}
	m.revise(h.revision(siding.Revision{At: x.now, Kind: siding.RevisionRedriven, Note: note}))
	m.Message = siding.Redrive(m.Message, x.now)
	x.put(m)
	x.tellOrigins(m, nil)
	return nil
}

// Return sends dead letters back with another body or other headers; see [siding.Quarantine].
func (s *Store) Return(ctx context.Context, queue string, list ...siding.Return) ([]error, error) {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	act, h := siding.ActOf(ctx), handOf(ctx)
	return s.change(ctx, "Return", queue, ids, func(x *tx, m *message, i int) error {
		repaired, err := x.comeBack(m, list[i], h)
		switch {
		case err != nil:
			return err
		case repaired:
			x.did(act, siding.ActionRepair, queue, siding.Scrub(list[i].Note, siding.MaxHeader), 1, m.ID)
		default:
			x.did(act, siding.ActionRedrive, queue, "", 1, m.ID)
		}
		return nil
	})
}

// comeBack redrives a dead message with the body and the headers that are given, and tells whether they are others than
// it had.
func (x *tx) comeBack(m *message, r siding.Return, h hand) (repaired bool, err error) {
	present := siding.Hash(sha256.Sum256(m.Body))
	switch from := r.From != (siding.Hash{}); {
	case m.State != siding.StateDead:
		return false, wrongState(m)
	case m.NoBody && (r.Body == nil || from):
		return false, fmt.Errorf("message %q: %w", siding.Scrub(m.ID, 64), siding.ErrNoBody)
	case from && r.From != present:
		return false, fmt.Errorf("the body of message %q has been changed since it was read: %w", siding.Scrub(m.ID, 64), siding.ErrConflict)
	}
	v := siding.Revision{At: x.now, Kind: siding.RevisionRepaired, Note: siding.Scrub(r.Note, siding.MaxHeader)}
	if r.Body != nil && (m.NoBody || siding.Hash(sha256.Sum256(r.Body)) != present) {
		v.Body, repaired = m.Body, true
		m.Body, m.NoBody = copied(r.Body), false
	}
	if headers := scrubbedHeaders(r.Headers); r.Headers != nil && !maps.Equal(headers, m.Headers) {
		v.Headers, repaired = m.Headers, true
		m.Headers = headers
	}
	if repaired {
		m.revise(h.revision(v))
	}
	return repaired, x.redrive(m, h)
}

// restore gives a message back the body that retention has dropped: the same has been enqueued. A repair that the dropped
// one had is gone.
func (m *message) restore(body []byte) {
	if m.NoBody {
		m.Body, m.NoBody = body, false
	}
}
