package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// shownColumns are the columns of a message as it is shown: of messages m, last_errors e and queues q.
const (
	shownColumns = messageColumns + ", " + errorColumns + ", q.name"
	shownFrom    = ` FROM messages m LEFT JOIN last_errors e ON e.message = m.id LEFT JOIN queues q ON q.id = m.queue`
	shownWidth   = messageWidth + errorWidth + 1
)

// shown reads [shownColumns].
func (r *row) shown() stored {
	m := r.message()
	m.LastError = r.lastError(messageWidth)
	m.Queue = r.str(messageWidth + errorWidth)
	return m
}

// bodyOf fills in the body of a message.
func bodyOf(c *conn, m *stored) error {
	found, err := c.one(func(r *row) { r.body(0, &m.Message) }, "SELECT "+bodyColumns+" FROM bodies b WHERE b.message = ?", m.id)
	if err == nil && !found {
		err = errors.New("the row of its body is missing")
	}
	return err
}

// Get gives all that is known of a message; see [siding.Operator].
func (s *Store) Get(ctx context.Context, queue, id string) (*siding.Record, error) {
	var out *siding.Record
	err := s.snapshot(ctx, func(c *conn) error {
		var m stored
		found, err := c.one(func(r *row) { m = r.shown() },
			"SELECT "+shownColumns+shownFrom+" WHERE q.name = ? AND m.event_id = ?", queue, id)
		switch {
		case err != nil:
			return fmt.Errorf("message %q: %w", siding.Scrub(id, 128), err)
		case !found:
			return fmt.Errorf("message %q: %w", siding.Scrub(id, 128), siding.ErrNotFound)
		}
		out, err = recordOf(c, &m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// recordOf gathers what belongs to a message.
func recordOf(c *conn, m *stored) (*siding.Record, error) {
	if err := bodyOf(c, m); err != nil {
		return nil, err
	}
	out := &siding.Record{Message: m.Message}
	ended := m.Deliveries
	if m.State == siding.StateLeased {
		out.Worker, out.LeasedUntil = m.worker, m.leasedUntil
		ended--
	}
	var err error
	if out.Source, err = sourceOf(c, m); err != nil {
		return nil, err
	}
	if m.State == siding.StateDone {
		if out.Result, err = resultOf(c, m.id); err != nil {
			return nil, err
		}
	}
	if out.History, err = historyOf(c, m.id); err != nil {
		return nil, err
	}
	out.Forgotten = max(ended-len(out.History), 0)
	if out.Calls, err = callsOf(c, m.id, m.Queue, m.ID); err != nil {
		return nil, err
	}
	if out.Revisions, err = revisionsOf(c, m.id); err != nil {
		return nil, err
	}
	if m.State == siding.StateDiscarded {
		for _, v := range out.Revisions {
			if v.Kind == siding.RevisionDiscarded {
				out.DiscardReason = v.Note
			}
		}
	}
	return out, nil
}

func resultOf(c *conn, message int64) (result []byte, err error) {
	_, err = c.one(func(r *row) { result = r.coded(0) }, "SELECT codec, key_id, result FROM results WHERE message = ?", message)
	return result, err
}

func historyOf(c *conn, message int64) (out []siding.DeliveryRecord, err error) {
	err = c.query(func(r *row) error {
		d := siding.DeliveryRecord{
			Number: r.counter(0), StartedAt: r.time(1), EndedAt: r.time(2), Worker: r.str(3), Outcome: siding.Outcome(r.str(4)),
			Digest: r.str(5),
		}
		if !r.null(6) {
			d.Error = r.lastErrorOf(d.Outcome, 6)
		}
		out = append(out, d)
		return r.err
	}, `SELECT number, started_at, ended_at, worker, outcome, digest, cause, fingerprint, error, status, request_id, fault_offset
		FROM deliveries WHERE message = ? ORDER BY number`, message)
	return out, err
}

func revisionsOf(c *conn, message int64) (out []siding.Revision, err error) {
	err = c.query(func(r *row) error {
		out = append(out, siding.Revision{
			At: r.time(0), Kind: siding.RevisionKind(r.str(1)), Note: r.str(2), Body: r.coded(3), Result: r.blob(6), Digest: r.str(7),
			By: r.str(8), Campaign: siding.CampaignID(r.int(9)), Headers: r.headers(10),
		})
		return r.err
	}, `SELECT at, kind, note, codec, key_id, body, result, digest, operator, campaign, headers FROM revisions
		WHERE message = ? ORDER BY id`, message)
	return out, err
}
