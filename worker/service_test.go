package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/siding-dev/siding"
)

// service is what the handlers of the tests call: it answers after its latency, by a rule, and notes every call.
type service struct {
	latency time.Duration
	// answer decides about a call that came at a time since the start; nil is a success.
	answer func(d *siding.Delivery, at time.Duration) *siding.Failure
	// told gives the limits that the service tells with an answer to a call that came at a time; nil: none.
	told func(at time.Duration) *siding.RateLimits

	mu    sync.Mutex
	start time.Time
	seen  []served
}

type served struct {
	id      string
	at, end time.Duration
	ok      bool
	queue   string
}

func newService(answer func(d *siding.Delivery, at time.Duration) *siding.Failure) *service {
	return &service{latency: 300 * time.Millisecond, start: time.Now(), answer: answer}
}

func (s *service) Handle(_ context.Context, d *siding.Delivery) (siding.Result, error) {
	at := time.Since(s.start)
	s.mu.Lock()
	f := s.answer(d, at)
	var r siding.Result
	if s.told != nil {
		r.Limits = s.told(at)
	}
	s.mu.Unlock()
	if f != nil && f.NoCall {
		return r, f
	}
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, served{d.ID, at, time.Since(s.start), f == nil, d.Queue})
	if f != nil {
		return r, f
	}
	return r, nil
}

// calls gives the calls that came between two times, in the order in which they came.
func (s *service) calls(from, to time.Duration) (out []served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.seen {
		if one.at >= from && one.at < to {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b served) int { return int(a.at - b.at) })
	return out
}

const always = time.Duration(1<<63 - 1)

func unavailable() *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeTransient, Cause: siding.CauseServerError, Status: 503, Err: errors.New("unavailable")}
}

func unreadable() *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Status: 400, Err: errors.New("cannot be read")}
}

// waiting is how the program waits: for what ends by itself, and a day for a date.
func waiting(h siding.Hold) time.Duration {
	switch {
	case !h.Until.IsZero():
		return 24 * time.Hour
	case h.SelfEnding():
		return always
	}
	return 0
}
