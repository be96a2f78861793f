package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/siding-dev/siding"
)

// Reask makes done members of another digest ready again; see [siding.Manifest].
func (s *Store) Reask(ctx context.Context, id siding.InputID, digest string) (int64, error) {
	return s.changeStale(ctx, "reask", id, digest, "asked again under "+digest, func(t *tx, m *stored) (bool, error) {
		if m.NoBody { // there is nothing to ask with
			return false, nil
		}
		return true, t.reask(m)
	})
}

// KeepAnswers marks done members of another digest as answered under this one; see [siding.Manifest].
func (s *Store) KeepAnswers(ctx context.Context, id siding.InputID, digest string) (int64, error) {
	digest = siding.Scrub(digest, siding.MaxHeader)
	return s.changeStale(ctx, "keep-answers", id, digest, "answers kept under "+digest, func(t *tx, m *stored) (bool, error) {
		was := m.standing()
		m.Digest = digest
		err := t.guarded("UPDATE messages SET digest = ? WHERE id = ? AND state = 'done'", text(digest), m.id)
		if err != nil {
			return false, err
		}
		return true, t.move(m.id, m.queue, m.hasInput, was, m.standing())
	})
}

// changeStale carries out a change of each done member of another digest, in small pieces; what is for the audit trail.
func (s *Store) changeStale(ctx context.Context, op string, id siding.InputID, digest, what string,
	change func(*tx, *stored) (bool, error),
) (int64, error) {
	queue, err := s.queueOf(ctx, id)
	if err != nil {
		return 0, err
	}
	act := siding.ActOf(ctx)
	act.ID = cmp.Or(act.ID, rand.Text()) // one entry for all pieces
	var total int64
	for from, more := int64(-1<<62), true; more; {
		var n, next int64
		err := s.write(ctx, op, pageSize*1024, func(t *tx) error {
			n, next, more = 0, from, false
			var page []ready
			rows := 0
			err := t.query(func(r *row) error {
				rows++
				next = r.int(messageWidth) + 1
				if m := (ready{stored: r.message(), err: r.err}); m.State == siding.StateDone && m.Digest != digest {
					m.err = r.err
					page = append(page, m)
				}
				return nil
			}, "SELECT "+messageColumns+", s.ordinal FROM members s JOIN messages m ON m.id = s.message WHERE s.input = ? AND s.ordinal >= ? ORDER BY s.ordinal LIMIT ?",
				int64(id), from, pageSize)
			if err != nil {
				return err
			}
			more = rows == pageSize
			for i := range page {
				if page[i].err != nil {
					continue // InputMembers shows it
				}
				changed, err := change(t, &page[i].stored)
				if err != nil {
					return err
				}
				if changed {
					n++
				}
			}
			if n == 0 {
				return nil
			}
			return t.did(act, siding.ActionReask, queue, what, n)
		})
		if err != nil {
			return total, err
		}
		total, from = total+n, next
	}
	return total, nil
}

// reask makes a done message ready again, with its answer in the history. m becomes what it is.
func (t *tx) reask(m *stored) error {
	was := m.standing()
	if err := t.revise(m.id, revision{kind: siding.RevisionReasked, digest: m.Digest, answer: true}); err != nil {
		return err
	}
	if err := t.send("DELETE FROM results WHERE message = ?", m.id); err != nil {
		return err
	}
	if err := t.setError(m.id, nil); err != nil {
		return err
	}
	m.forget()
	m.State, m.Digest = siding.StateReady, ""
	err := t.guarded(`UPDATE messages SET state = 'ready', available_at = ?, `+forgotten+`, cause = NULL, fingerprint = NULL,
		digest = NULL WHERE id = ? AND state = 'done'`, t.now, m.id)
	if err != nil {
		return err
	}
	return t.move(m.id, m.queue, m.hasInput, was, m.standing())
}

// Readopt replaces the result of a done message by a journaled answer; see [siding.Manifest].
func (s *Store) Readopt(ctx context.Context, queue, id string, j siding.Judgement, result []byte) error {
	j.Digest = siding.Scrub(j.Digest, siding.MaxHeader)
	out, err := s.each(ctx, "readopt", queue, []string{id}, func(t *tx, m *stored, _ int) error { return t.readopt(m, j, result) })
	if err != nil {
		return err
	}
	return out[0]
}

func (t *tx) readopt(m *stored, j siding.Judgement, result []byte) error {
	if m.State != siding.StateDone || m.Digest == j.Digest {
		return fmt.Errorf("readopt %q: %w: it is %s under the digest %q", m.ID, siding.ErrWrongState, m.State, m.Digest)
	}
	own, err := t.number("SELECT count(*) FROM calls WHERE id = ? AND message = ?", int64(j.Call), m.id)
	if err != nil {
		return err
	}
	if own == 0 {
		return fmt.Errorf("readopt %q: call %d: %w", m.ID, j.Call, siding.ErrNotFound)
	}
	was := m.standing()
	if err := t.revise(m.id, revision{kind: siding.RevisionReadopted, digest: m.Digest, answer: true}); err != nil {
		return err
	}
	if err := t.send("DELETE FROM results WHERE message = ?", m.id); err != nil {
		return err
	}
	if result != nil {
		if err := t.send("INSERT INTO results (message, result) VALUES (?, ?)", m.id, result); err != nil {
			return err
		}
	}
	m.Digest = j.Digest
	if err := t.guarded("UPDATE messages SET digest = ? WHERE id = ? AND state = 'done'", text(m.Digest), m.id); err != nil {
		return err
	}
	if err := t.judge(m.id, j); err != nil {
		return err
	}
	return t.move(m.id, m.queue, m.hasInput, was, m.standing())
}
