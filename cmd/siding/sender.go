package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/intake"
)

// sender enqueues messages and counts what became of them.
type sender struct {
	*app
	store   siding.Store
	queue   string
	options siding.EnqueueOptions
	counts  map[siding.EnqueueStatus]int64
	refused error // the first refusal
}

func (a *app) sendAll(ctx context.Context, s *sender, o intake.Options, extra siding.NewMessage) error {
	in, err := intake.Open([]string{intake.Stdin}, o)
	if err != nil {
		return asUsage(err)
	}
	for b := range readBatches(ctx, in) {
		for i := range b.msgs {
			m := &b.msgs[i]
			m.ContentType, m.Priority, m.Headers = extra.ContentType, extra.Priority, extra.Headers
			m.NotBefore, m.ExpiresAt = extra.NotBefore, extra.ExpiresAt
			if m.ID == "" { // without a manifest, equal records are one message
				m.ID = siding.RecordID(m.Source.SourceHash, 0)
			}
		}
		if err := s.put(ctx, b.msgs); err != nil {
			return s.end(err)
		}
		if b.err != nil {
			return s.end(unreadable(b.err))
		}
	}
	if ctx.Err() != nil {
		return s.end(errInterrupted)
	}
	return s.end(nil)
}

func (s *sender) put(ctx context.Context, msgs []siding.NewMessage) error {
	if len(msgs) == 0 {
		return nil
	}
	result, err := s.store.Enqueue(ctx, s.queue, s.options, msgs...)
	if err != nil {
		return err
	}
	if s.counts == nil {
		s.counts = map[siding.EnqueueStatus]int64{}
	}
	for _, e := range result {
		s.counts[e.Status]++
		line := sentLine{Type: "sent", V: 1, Queue: s.queue, ID: e.ID, Status: e.Status}
		if e.Err != nil {
			line.Error = siding.Scrub(e.Err.Error(), siding.MaxErrorText)
			if s.refused == nil {
				s.refused = fmt.Errorf("message %q was refused: %w", e.ID, explainRefusal(e.Err))
			}
		}
		if s.json {
			if err := writeJSON(s.out, line); err != nil {
				return err
			}
		}
	}
	return nil
}

func explainRefusal(err error) error {
	if errors.Is(err, siding.ErrConflict) {
		return fmt.Errorf("%w; --supersede lets it take the new body", err)
	}
	return err
}

// end says what became of the messages. A refusal is an error: what was asked for was not done.
func (s *sender) end(err error) error {
	var parts []string
	for _, status := range []siding.EnqueueStatus{
		siding.EnqueueNew, siding.EnqueueUnchanged, siding.EnqueueSuperseded, siding.EnqueueRedriven, siding.EnqueueDead,
		siding.EnqueueDiscarded, siding.EnqueueDuplicate, siding.EnqueueRefused,
	} {
		if n := s.counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to send")
	}
	s.hintf("queue %s: %s", s.queue, strings.Join(parts, ", "))
	if n := s.counts[siding.EnqueueDead]; n > 0 {
		s.notef("%s set aside and will not be worked; --redrive-dead sends back what was set aside before", plural(int(n), "is", "are"))
	}
	return errors.Join(err, s.refused)
}
