package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// Enqueue puts messages into a queue; see [siding.Producer].
func (s *Store) Enqueue(ctx context.Context, queue string, o siding.EnqueueOptions, msgs ...siding.NewMessage) (
	[]siding.Enqueued, error,
) {
	var out []siding.Enqueued
	err := s.write(ctx, "Enqueue", func(x *tx) error {
		var in *input
		if o.Input != 0 {
			var err error
			if in, err = x.input(o.Input, queue); err != nil {
				return err
			}
			if in.sealed {
				return fmt.Errorf("input %d is sealed: %w", o.Input, siding.ErrWrongState)
			}
		}
		for _, m := range msgs {
			out = append(out, x.enqueue(queue, o, in, received(m)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// received gives a message as the store keeps it: its own copy, texts scrubbed, times in the store's unit.
func received(m siding.NewMessage) siding.NewMessage {
	m.Body = append([]byte{}, m.Body...)
	if m.ContentType == "" {
		m.ContentType = "application/json"
	}
	m.ContentType = siding.Scrub(m.ContentType, siding.MaxHeader)
	m.FairnessKey = siding.Scrub(m.FairnessKey, siding.MaxHeader)
	m.Headers = scrubbedHeaders(m.Headers)
	m.NotBefore = roundUp(m.NotBefore)
	m.ExpiresAt = roundUp(m.ExpiresAt)
	m.Source = shownSource(m.Source)
	return m
}

// scrubbedHeaders gives a copy of headers as they are kept; nil where there are none.
func scrubbedHeaders(headers map[string]string) map[string]string {
	var out map[string]string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if out == nil {
			out = map[string]string{}
		}
		out[siding.Scrub(name, siding.MaxHeader)] = siding.Scrub(headers[name], siding.MaxHeader)
	}
	return out
}

// roundUp gives the time in whole microseconds, not earlier; the zero time stays zero.
func roundUp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Add(time.Microsecond - 1).UTC().Truncate(time.Microsecond)
}

func (x *tx) enqueue(queue string, o siding.EnqueueOptions, in *input, m siding.NewMessage) siding.Enqueued {
	hash := siding.Hash(sha256.Sum256(m.Body))
	nameless := m.ID == ""
	if in != nil {
		if m = x.identify(in, m, hash); in.repeats(m.ID, hash) {
			return siding.Enqueued{ID: m.ID, Status: siding.EnqueueDuplicate}
		}
	}
	e := siding.Enqueued{ID: m.ID}
	e.Status, e.Err = x.take(queue, o, m, hash)
	if e.Err != nil {
		e.Status = siding.EnqueueRefused
	} else if in != nil {
		x.join(in, x.numbers[key{queue, m.ID}], m, hash, nameless)
	}
	return e
}

// take puts a message with a settled ID into the queue, or compares it with the one that has the ID.
func (x *tx) take(queue string, o siding.EnqueueOptions, m siding.NewMessage, hash siding.Hash) (siding.EnqueueStatus, error) {
	if err := siding.CheckID(m.ID); err != nil {
		return "", err
	}
	number, known := x.numbers[key{queue, m.ID}]
	if !known {
		return x.insert(queue, o, m, hash)
	}
	old := *x.messages[number]
	effective := old.received
	if old.next != nil {
		effective = sha256.Sum256(old.next.Body)
	}
	switch {
	case effective == hash:
		return x.same(&old, o, m)
	case !o.Supersede:
		return "", fmt.Errorf("message %q in queue %q has another body: %w", m.ID, siding.Scrub(queue, 64), siding.ErrConflict)
	case old.State == siding.StateDiscarded:
		return siding.EnqueueDiscarded, nil
	case old.State == siding.StateLeased:
		old.next = &m
		x.put(&old)
		return siding.EnqueueSuperseded, nil
	}
	x.supersede(&old, m)
	x.put(&old)
	if m.Dead != nil {
		return siding.EnqueueDead, nil
	}
	return siding.EnqueueSuperseded, nil
}

func (x *tx) insert(queue string, o siding.EnqueueOptions, m siding.NewMessage, hash siding.Hash) (siding.EnqueueStatus, error) {
	if o.MaxDepth > 0 && m.Dead == nil && x.depth(queue) >= o.MaxDepth {
		return "", fmt.Errorf("message %q: queue %q has %d undone messages: %w", m.ID, siding.Scrub(queue, 64), o.MaxDepth, siding.ErrFull)
	}
	x.lastMessage++
	n := &message{number: x.lastMessage}
	n.Queue, n.ID, n.ReceivedAt = queue, m.ID, x.now
	n.fill(m, hash, x.now)
	set(x, x.numbers, key{queue, m.ID}, n.number)
	x.put(n)
	if m.Dead != nil {
		return siding.EnqueueDead, nil
	}
	return siding.EnqueueNew, nil
}

// fill gives the message a body and what comes with it, and makes it ready, or dead where its fault is known.
func (m *message) fill(n siding.NewMessage, hash siding.Hash, now time.Time) {
	m.Body, m.received, m.ContentType, m.Headers = n.Body, hash, n.ContentType, n.Headers
	m.Priority, m.FairnessKey, m.ExpiresAt, m.source = n.Priority, n.FairnessKey, n.ExpiresAt, n.Source
	m.State, m.AvailableAt = siding.StateReady, now
	if n.NotBefore.After(now) {
		m.AvailableAt = earlier(n.NotBefore, siding.Never.Add(-time.Microsecond))
	}
	if n.Dead != nil {
		m.setAside(n.Dead, siding.ReasonPoison, now)
	}
}

// setAside makes a message a dead letter without a delivery.
func (m *message) setAside(f *siding.Failure, reason siding.Reason, now time.Time) {
	if f.Reason != "" {
		reason = f.Reason
	}
	g := *f
	if g.Outcome == "" {
		g.Outcome = siding.OutcomePermanent
	}
	m.State, m.AvailableAt, m.DeadAt, m.Reason, m.LastError = siding.StateDead, time.Time{}, now, reason, g.Stored()
}

// same answers for a message that is known with the same body.
func (x *tx) same(m *message, o siding.EnqueueOptions, n siding.NewMessage) (siding.EnqueueStatus, error) {
	if n.Source != nil { // the record may have moved in its input
		m.source = n.Source
		x.put(m)
	}
	if m.NoBody && m.State != siding.StateDiscarded {
		m.restore(n.Body)
		x.put(m)
	}
	switch m.State {
	case siding.StateDiscarded:
		return siding.EnqueueDiscarded, nil
	case siding.StateDead:
		// What is set aside at once is no better the second time.
		if !o.RedriveDead || n.Dead != nil {
			return siding.EnqueueDead, nil
		}
		return siding.EnqueueRedriven, x.redrive(m, hand{})
	}
	return siding.EnqueueUnchanged, nil
}

// supersede gives a message that is not leased another body; the old one, and the answer to it, stay in the history.
func (x *tx) supersede(m *message, n siding.NewMessage) {
	m.revise(siding.Revision{
		At: x.now, Kind: siding.RevisionSuperseded, Body: m.Body, Headers: m.Headers, Result: m.result, Digest: m.Digest,
	})
	m.NoBody = false
	m.reset()
	m.Returned = 0
	m.fill(n, sha256.Sum256(n.Body), x.now)
	x.ended(m)
	x.partWays(m)
	x.tellOrigins(m, nil)
}

// reset makes a message one that has never failed and has no answer.
func (m *message) reset() {
	m.Attempt, m.Gray, m.Waits, m.Interruptions = 0, 0, 0, 0
	m.LastError, m.DeadAt, m.Reason = nil, time.Time{}, ""
	m.Suspect, m.SoloCrashes, m.Alone, m.HeldAt = false, 0, false, time.Time{}
	m.result, m.Digest, m.WaitsFor = nil, "", ""
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (m *message) revise(r siding.Revision) { m.revisions = append(slices.Clip(m.revisions), r) }

// depth counts the undone messages of a queue.
func (x *tx) depth(queue string) (n int64) {
	x.each(queue, func(m *message) {
		if m.State == siding.StateReady || m.State == siding.StateLeased {
			n++
		}
	})
	return n
}
