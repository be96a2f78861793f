package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/siding-dev/siding"
)

// comeback is a [siding.Return], prepared outside the transaction.
type comeback struct {
	siding.Return
	hash    siding.Hash // of the body, where there is one
	headers any         // as they are stored, where there are some
}

func newComeback(r siding.Return) (*comeback, error) {
	c := &comeback{Return: r}
	if r.Body != nil {
		c.hash = sha256.Sum256(r.Body)
	}
	var err error
	c.headers, err = headersText(r.Headers)
	return c, err
}

// Return sends dead letters back with another body or other headers; see [siding.Quarantine].
func (s *Store) Return(ctx context.Context, queue string, list ...siding.Return) ([]error, error) {
	ids, backs := make([]string, len(list)), make([]*comeback, len(list))
	for i := range list {
		var err error
		if backs[i], err = newComeback(list[i]); err != nil {
			return nil, fmt.Errorf("return %q: %w", siding.Scrub(list[i].ID, 128), err)
		}
		ids[i] = list[i].ID
	}
	act, h := siding.ActOf(ctx), handOf(ctx)
	return s.each(ctx, "return", queue, ids, func(t *tx, m *stored, i int) error {
		repaired, err := t.comeBack(m, backs[i], h)
		if err != nil {
			return err
		}
		if repaired {
			return t.did(act, siding.ActionRepair, queue, backs[i].Note, 1, m.ID)
		}
		return t.did(act, siding.ActionRedrive, queue, "", 1, m.ID)
	})
}

// comeBack redrives a dead message with the body and the headers that are given, and tells whether they are others than
// it had. What a later enqueueing is compared with stays: the hash of the body as received. m becomes what it is.
func (t *tx) comeBack(m *stored, c *comeback, h hand) (repaired bool, err error) {
	if m.State != siding.StateDead {
		return false, fmt.Errorf("return %q: %w: it is %s, not dead", m.ID, siding.ErrWrongState, m.State)
	}
	var present siding.Hash
	var headers any
	found, err := t.one(func(r *row) { present, headers = r.hash(0), text(r.str(1)) },
		"SELECT coalesce(body_hash, hash), headers FROM bodies WHERE message = ?", m.id)
	switch {
	case err != nil:
		return false, err
	case !found, m.NoBody && (c.Body == nil || c.From != siding.Hash{}):
		return false, fmt.Errorf("return %q: %w", m.ID, siding.ErrNoBody)
	case c.From != siding.Hash{} && c.From != present:
		return false, fmt.Errorf("return %q: its body has been changed since it was read: %w", m.ID, siding.ErrConflict)
	}
	v := revision{
		hand: h, kind: siding.RevisionRepaired, note: c.Note,
		body: c.Body != nil && (m.NoBody || c.hash != present), headers: c.Return.Headers != nil && c.headers != headers,
	}
	if v.body || v.headers {
		if err := t.revise(m.id, v); err != nil {
			return false, err
		}
	}
	if v.body {
		if err := t.setBody(m.id, c.Body); err != nil {
			return false, err
		}
		m.NoBody = false
	}
	if v.headers {
		if err := t.guarded("UPDATE bodies SET headers = ? WHERE message = ?", c.headers, m.id); err != nil {
			return false, err
		}
	}
	return v.body || v.headers, t.redrive(m, h)
}

// setBody replaces a message's body by one that was not received.
func (t *tx) setBody(message int64, body []byte) error {
	hash := sha256.Sum256(body)
	return t.guarded("UPDATE bodies SET body = ?1, body_hash = nullif(?2, hash), codec = '', key_id = '' WHERE message = ?3", body, hash[:], message)
}

// presentHash gives the hash of a message's body as it is; the zero hash where its row is missing.
func (t *tx) presentHash(message int64) (h siding.Hash, err error) {
	_, err = t.one(func(r *row) { h = r.hash(0) }, "SELECT coalesce(body_hash, hash) FROM bodies WHERE message = ?", message)
	return h, err
}

// restore gives a message back the body that retention has dropped: the same has been enqueued. A repair that the dropped
// one had is gone.
func (t *tx) restore(m *stored, c content) error {
	err := t.guarded("UPDATE bodies SET body = ?, body_hash = NULL, codec = '', key_id = '' WHERE message = ?", c.body, m.id)
	if err != nil {
		return err
	}
	m.NoBody = false
	return t.guarded("UPDATE messages SET no_body = false WHERE id = ? AND no_body", m.id)
}
