package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// Get gives all that is known of a message; see [siding.Operator].
func (s *Store) Get(ctx context.Context, queue, id string) (*siding.Record, error) {
	var out *siding.Record
	err := s.read(ctx, func(x *tx) error {
		m, err := x.find(queue, id)
		if err != nil {
			return err
		}
		out = &siding.Record{
			Message: shown(m, true), Source: shownSource(m.source), Result: copied(m.result), Forgotten: m.forgotten,
			History: slices.Clone(m.history), Revisions: slices.Clone(m.revisions), DiscardReason: m.discardReason,
			Calls: x.shownCalls(m.number), Worker: m.lease.worker, LeasedUntil: m.lease.until,
		}
		return nil
	})
	return out, err
}

// List walks over the messages that a selection names; see [siding.Operator].
func (s *Store) List(ctx context.Context, sel siding.Selection) iter.Seq2[siding.Listed, error] {
	return func(yield func(siding.Listed, error) bool) {
		type place struct {
			at     time.Time
			number int64
		}
		var places []place
		err := s.read(ctx, func(x *tx) error {
			selected, err := x.selector(sel)
			if err != nil {
				return err
			}
			x.each(sel.Queue, func(m *message) {
				if selected(m) {
					places = append(places, place{m.listedAt(), m.number})
				}
			})
			return nil
		})
		if err != nil {
			yield(siding.Listed{}, err)
			return
		}
		slices.SortFunc(places, func(a, b place) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.number, b.number)) })
		if sel.Limit > 0 {
			places = places[:min(len(places), sel.Limit)]
		}
		for _, p := range places {
			var out siding.Listed
			err := s.read(ctx, func(x *tx) error {
				m := x.messages[p.number]
				out = siding.Listed{Message: shown(m, sel.Bodies), Source: shownSource(m.source)}
				return nil
			})
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// listedAt is the time by which messages are listed and selected.
func (m *message) listedAt() time.Time {
	if m.State == siding.StateDead {
		return m.DeadAt
	}
	return m.ReceivedAt
}

// selector gives the test that a selection makes.
func (x *tx) selector(s siding.Selection) (func(*message) bool, error) {
	var in *input
	if s.Input != 0 {
		var err error
		if in, err = x.input(s.Input, s.Queue); err != nil {
			return nil, err
		}
	}
	return func(m *message) bool {
		e := m.LastError
		if e == nil {
			e = &siding.LastError{}
		}
		if in != nil {
			if _, ok := in.byID[m.ID]; !ok || m.Queue != in.queue {
				return false
			}
		}
		return among(s.IDs, m.ID) && among(s.States, m.State) && among(s.Causes, e.Cause) &&
			among(s.Fingerprints, e.Fingerprint) && among(s.Reasons, m.Reason) &&
			(s.Since.IsZero() || !m.listedAt().Before(s.Since)) && (s.Until.IsZero() || m.listedAt().Before(s.Until))
	}, nil
}

// among tells whether v is in a list, or the list says nothing.
func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// Redrive returns dead messages to their queue; see [siding.Operator].
func (s *Store) Redrive(ctx context.Context, queue string, ids ...string) ([]error, error) {
	act, h := siding.ActOf(ctx), handOf(ctx)
	return s.change(ctx, "Redrive", queue, ids, func(x *tx, m *message, _ int) error {
		if m.State != siding.StateDead {
			return wrongState(m)
		}
		if err := x.redrive(m, h); err != nil {
			return err
		}
		x.did(act, siding.ActionRedrive, queue, "", 1, m.ID)
		return nil
	})
}

// Discard gives messages up; see [siding.Operator].
func (s *Store) Discard(ctx context.Context, queue, reason string, ids ...string) ([]error, error) {
	reason = cmp.Or(siding.Scrub(reason, siding.MaxHeader), "no reason given")
	act, h := siding.ActOf(ctx), handOf(ctx)
	return s.change(ctx, "Discard", queue, ids, func(x *tx, m *message, _ int) error {
		switch m.State {
		case siding.StateDone, siding.StateDiscarded:
			return wrongState(m)
		case siding.StateLeased:
			x.interruptBy(m, "the message was discarded while it was worked on")
		}
		m.revise(h.revision(siding.Revision{At: x.now, Kind: siding.RevisionDiscarded, Note: reason}))
		m.State, m.AvailableAt, m.DeadAt, m.Reason, m.WaitsFor = siding.StateDiscarded, time.Time{}, time.Time{}, "", ""
		m.discardReason = reason
		x.ended(m)
		x.put(m)
		x.tellOrigins(m, nil)
		x.did(act, siding.ActionDiscard, queue, reason, 1, m.ID)
		return nil
	})
}

// interruptBy records the end of a delivery that an operator cut off.
func (x *tx) interruptBy(m *message, text string) {
	f := &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseUnknown, Err: errors.New(text)}
	x.record(m, siding.OutcomeInterrupted, f.Stored(), "")
	x.advance(m)
}

func wrongState(m *message) error {
	return fmt.Errorf("message %q is %s: %w", siding.Scrub(m.ID, 64), m.State, siding.ErrWrongState)
}

// change tries a change on each message; its error is the answer for that one.
func (s *Store) change(ctx context.Context, op, queue string, ids []string, change func(*tx, *message, int) error) ([]error, error) {
	out := make([]error, len(ids))
	err := s.write(ctx, op, func(x *tx) error {
		for i, id := range ids {
			m, err := x.find(queue, id)
			if err == nil {
				err = change(x, m, i)
			}
			out[i] = err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
