package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/siding-dev/siding"
)

// callColumns are those of calls under the name c that [row.call] reads.
const callColumns = `c.id, c.delivery, c.request_hash, c.ask_hash, c.digest, c.lane, c.started_at, c.deadline, c.ended_at,
	c.fate, c.status, c.request_id, c.output_limit, c.input_tokens, c.output_tokens, c.cache_write_5m_tokens,
	c.cache_write_1h_tokens, c.cache_read_tokens, c.cost, c.worst_cost, c.priced, c.error, c.verdict, c.judged_cause, c.judged_under`

const callWidth = 25

// call reads [callColumns] from column i on; the queue and the event ID are not there.
func (r *row) call(i int) siding.Call {
	c := siding.Call{
		ID: siding.CallID(r.int(i)), Delivery: int(r.int(i + 1)), RequestHash: r.hash(i + 2), AskHash: r.hash(i + 3),
		Digest: r.str(i + 4), Lane: r.str(i + 5), StartedAt: r.time(i + 6), Deadline: r.time(i + 7), EndedAt: r.time(i + 8),
		Fate: siding.Fate(r.str(i + 9)), Status: int(r.int(i + 10)), RequestID: r.str(i + 11), OutputLimit: r.int(i + 12),
		Usage: r.usageAt(i + 13), Cost: siding.Money(r.int(i + 18)), WorstCost: siding.Money(r.int(i + 19)),
		Priced: r.bool(i + 20), Verdict: siding.Verdict(r.str(i + 22)), JudgedCause: siding.Cause(r.str(i + 23)),
		JudgedUnder: r.str(i + 24),
	}
	if text := r.str(i + 21); text != "" {
		c.Error = &siding.LastError{}
		if err := json.Unmarshal([]byte(text), c.Error); err != nil && r.err == nil {
			r.err = fmt.Errorf("the error of call %d cannot be read: %w", c.ID, err)
		}
	}
	if !slices.Contains(siding.Fates(), c.Fate) && r.err == nil {
		r.err = fmt.Errorf("call %d has the fate %q, which is not known", c.ID, siding.Scrub(string(c.Fate), 64))
	}
	return c
}

// Calls lists the calls made for a message; see [siding.Journal].
func (s *Store) Calls(ctx context.Context, queue, id string) ([]siding.Call, error) {
	var out []siding.Call
	err := s.snapshot(ctx, func(c *conn) error {
		message, err := c.number("SELECT m.id FROM messages m JOIN queues q ON q.id = m.queue WHERE q.name = ? AND m.event_id = ?", queue, id)
		if err == nil {
			out, err = callsOf(c, message, queue, id)
		}
		return err
	})
	return out, err
}

func callsOf(c *conn, message int64, queue, id string) (out []siding.Call, err error) {
	err = c.query(func(r *row) error {
		call := r.call(0)
		call.Queue, call.EventID = queue, id
		out = append(out, call)
		return r.err
	}, "SELECT "+callColumns+" FROM calls c WHERE c.message = ? ORDER BY c.id", message)
	return out, err
}

// Answer gives the raw bytes of a call's answer; see [siding.Journal].
func (s *Store) Answer(ctx context.Context, id siding.CallID) (body []byte, err error) {
	err = s.read(ctx, func(c *conn) error {
		var found bool
		body, found, err = answerOf(c, id)
		if err == nil && !found {
			err = fmt.Errorf("the answer of call %d: %w", id, siding.ErrNotFound)
		}
		return err
	})
	return body, err
}

func answerOf(c *conn, id siding.CallID) (body []byte, found bool, err error) {
	found, err = c.one(func(r *row) { body = r.coded(0) }, "SELECT codec, key_id, answer FROM answers WHERE call = ?", int64(id))
	return body, found, err
}

func queueName(c *conn, id int64) (name string, err error) {
	_, err = c.one(func(r *row) { name = r.str(0) }, "SELECT name FROM queues WHERE id = ?", id)
	return name, err
}
