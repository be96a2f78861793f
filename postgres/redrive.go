package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/siding-dev/siding"
)

// Redrive returns dead messages to their queue; see [siding.Operator].
func (s *Store) Redrive(ctx context.Context, queue string, ids ...string) ([]error, error) {
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	act, h := siding.ActOf(ctx), handOf(ctx)
	var out []error
	err := s.write(ctx, "redrive", 256*len(ids), func(t *tx) error {
		q, err := t.queue(queue, false)
		if err != nil {
			return err
		}
		known, err := t.standingsOf(q, ids)
		if err != nil {
			return err
		}
		out = make([]error, len(ids))
		var numbers []int64
		var redriven []string
		for i, id := range ids {
			k, ok := known[id]
			if out[i] = k.refusal(id, ok); out[i] == nil {
				k.state = siding.StateReady
				known[id] = k
				numbers, redriven = append(numbers, k.number), append(redriven, id)
			}
		}
		if len(numbers) == 0 {
			return nil
		}
		if err := t.redriveSet(numbers, int64(len(numbers)), h); err != nil {
			return err
		}
		return t.did(act, siding.ActionRedrive, queue, "", int64(len(numbers)), redriven...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// redrivable is what a redrive has to know of a message.
type redrivable struct {
	number   int64
	state    siding.State
	noBody   bool
	readable bool
}

// refusal says why a message cannot be redriven, or nil.
func (k redrivable) refusal(id string, found bool) error {
	id = siding.Scrub(id, 128)
	switch {
	case !found:
		return fmt.Errorf("redrive %q: %w", id, siding.ErrNotFound)
	case !k.readable:
		return fmt.Errorf("redrive %q: its row cannot be read", id)
	case k.state != siding.StateDead:
		return fmt.Errorf("redrive %q: %w: it is %s, not dead", id, siding.ErrWrongState, k.state)
	case k.noBody:
		return fmt.Errorf("redrive %q: %w", id, siding.ErrNoBody)
	}
	return nil
}

// standingsOf looks at the messages of a queue that have these IDs.
func (t *tx) standingsOf(queue int64, ids []string) (map[string]redrivable, error) {
	known := map[string]redrivable{}
	err := t.query(func(r *row) error {
		known[r.str(0)] = redrivable{r.int(1), siding.State(r.str(2)), r.bool(3), r.bool(4) && r.err == nil}
		return nil
	}, "SELECT m.event_id, m.id, m.state, m.no_body, "+readable+` FROM messages m WHERE m.event_id = ANY (?::text[]) AND m.queue = ?`, ids, queue)
	return known, err
}

// Discard gives messages up; see [siding.Operator].
func (s *Store) Discard(ctx context.Context, queue, reason string, ids ...string) ([]error, error) {
	reason = cmp.Or(siding.Scrub(reason, siding.MaxHeader), "no reason given")
	act, h := siding.ActOf(ctx), handOf(ctx)
	return s.each(ctx, "discard", queue, ids, func(t *tx, m *stored, _ int) error {
		switch m.State {
		case siding.StateReady, siding.StateLeased, siding.StateDead:
			if err := t.discard(m, reason, h); err != nil {
				return err
			}
			return t.did(act, siding.ActionDiscard, queue, reason, 1, m.ID)
		}
		return fmt.Errorf("discard %q: %w: it is %s", m.ID, siding.ErrWrongState, m.State)
	})
}

// each carries out one change for each ID, and answers for each: an error that is a guard's answer is the entry's.
func (s *Store) each(ctx context.Context, name, queue string, ids []string,
	change func(t *tx, m *stored, i int) error,
) ([]error, error) {
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	var out []error
	err := s.write(ctx, name, 512*len(ids), func(t *tx) error {
		out = make([]error, len(ids))
		q, err := t.queue(queue, false)
		if err != nil {
			return err
		}
		for i, id := range ids {
			var m stored
			var bad error
			found, err := t.one(func(r *row) {
				m = r.message()
				bad, r.err = r.err, nil
			}, "SELECT "+messageColumns+" FROM messages m WHERE m.queue = ? AND m.event_id = ?", q, id)
			switch {
			case err != nil:
				return err
			case !found:
				out[i] = fmt.Errorf("%s %q: %w", name, siding.Scrub(id, 128), siding.ErrNotFound)
				continue
			case bad != nil:
				out[i] = fmt.Errorf("%s %q: its row cannot be read: %w", name, siding.Scrub(id, 128), bad)
				continue
			}
			if err := change(t, &m, i); err != nil {
				if isGuard(err) {
					out[i] = err
					continue
				}
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// redrive returns a dead message to its queue. m becomes what it is.
func (t *tx) redrive(m *stored, h hand) error {
	if m.NoBody {
		return fmt.Errorf("redrive %q: %w", m.ID, siding.ErrNoBody)
	}
	was := m.standing()
	note := fmt.Sprintf("%s, %s, attempt %d", m.Reason, m.cause, m.Attempt)
	if err := t.revise(m.id, revision{hand: h, kind: siding.RevisionRedriven, note: note}); err != nil {
		return err
	}
	m.Message = siding.Redrive(m.Message, fromMicros(t.now))
	m.cause, m.fingerprint = "", ""
	if err := t.setError(m.id, nil); err != nil {
		return err
	}
	err := t.guarded(`UPDATE messages SET state = 'ready', turn = ?, available_at = ?, attempt = ?, gray = ?, waits = ?,
		interruptions = ?, suspect = ?, solo_crashes = ?, alone = ?, held_at = ?, redrives = ?, reset_after = deliveries,
		dead_at = NULL, reason = NULL, cause = NULL, fingerprint = NULL, waits_for = NULL, no_body = false WHERE id = ? AND state = 'dead'`,
		m.turn(), t.now, m.Attempt, m.Gray, m.Waits, m.Interruptions, m.Suspect, m.SoloCrashes, m.Alone, micros(m.HeldAt),
		m.Redrives, m.id)
	if err != nil {
		return err
	}
	if err := t.move(m.id, m.queue, m.hasInput, was, m.standing()); err != nil {
		return err
	}
	return t.tellOrigins(m, nil, nil)
}

// discard gives a message up. A delivery under way ends here in the history, as interrupted.
func (t *tx) discard(m *stored, reason string, h hand) error {
	if m.State == siding.StateLeased {
		if err := t.cutOff(m); err != nil {
			return err
		}
	}
	was := m.standing()
	if err := t.revise(m.id, revision{hand: h, kind: siding.RevisionDiscarded, note: reason}); err != nil {
		return err
	}
	m.State, m.WaitsFor = siding.StateDiscarded, ""
	err := t.guarded(`UPDATE messages SET state = 'discarded', turn = greatest(turn, (attempt > 0)::int), dead_at = NULL, reason = NULL, waits_for = NULL
		WHERE id = ? AND state IN ('ready', 'dead')`, m.id)
	if err != nil {
		return err
	}
	if err := t.move(m.id, m.queue, m.hasInput, was, m.standing()); err != nil {
		return err
	}
	if err := t.ended(m); err != nil {
		return err
	}
	return t.tellOrigins(m, nil, nil)
}

// cutOff ends the delivery of a leased message by hand. The message is ready then, with the body that waited for it.
func (t *tx) cutOff(m *stored) error {
	was := m.standing()
	e := (&siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseUnknown, Err: errDiscarded}).Stored()
	if err := t.remember(m, siding.OutcomeInterrupted, "", e); err != nil {
		return err
	}
	err := t.guarded("UPDATE messages SET state = 'ready', available_at = ?, lease_nonce = 0 WHERE id = ? AND state = 'leased' AND lease_nonce = ?",
		t.now, m.id, m.nonce)
	if err != nil {
		return err
	}
	m.State = siding.StateReady
	if err := t.move(m.id, m.queue, m.hasInput, was, m.standing()); err != nil || !m.pending {
		return err
	}
	return t.takePending(m)
}
