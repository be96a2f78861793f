package alert

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/siding-dev/siding"
)

// Store is what a watcher needs of a [siding.Store].
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	Stats(ctx context.Context, queue string) ([]siding.QueueStats, error)
	Groups(ctx context.Context, q siding.GroupQuery) ([]siding.Group, error)
	Gates(ctx context.Context) ([]siding.Gate, error)
	Note(ctx context.Context, key string) (siding.Note, error)
	SetNote(ctx context.Context, n siding.Note) (int64, error)
}

const (
	// Every is how often a watcher looks, or less often where looking is much work: it takes a twentieth of the time at most.
	Every = 5 * time.Second
	// FinalWait is how long a watcher stays, once its work has ended, to send what is still to be sent.
	FinalWait = 10 * time.Second
	// confirmWait is how long it is tried to write down that a notice was sent.
	confirmWait = 5 * time.Second
	// retries bounds how often a note is written anew that somebody else has changed meanwhile.
	retries = 20
)

// Watcher watches a queue, and tells its sinks. Several processes may watch one queue. Nothing that goes wrong here stops
// the work: it is said, and tried again.
type Watcher struct {
	Store     Store
	Queue     string
	Rules     Rules
	Sinks     []Sink
	Gates     siding.GateKeys // that the queue's work goes through
	Simulated bool
	Say       func(text string) // takes what goes wrong, in words, for the operator; it is not called by two at once

	token string
	mu    sync.Mutex
	said  map[string]string
}

// Run watches until ctx ends, which is the end of the work; then it looks once more and sends what is to be sent, for at
// most [FinalWait].
func (w *Watcher) Run(ctx context.Context) {
	w.token, w.said = rand.Text(), map[string]string{}
	sending, stop := outlasting(ctx, FinalWait)
	defer stop()
	for ctx.Err() == nil {
		began := time.Now()
		sent, next := w.step(sending, false)
		if !sent {
			pause(ctx, max(min(next, Every), 20*time.Since(began)))
		}
	}
	end := time.Now().Add(FinalWait)
	for final := true; ; final = false {
		sent, next := w.step(sending, final)
		switch {
		case sent:
		case next == never:
			return
		case next > time.Until(end):
			w.say("end", "alerts: what could not be sent by now is sent by the next run or work on queue "+w.Queue)
			return
		default:
			pause(sending, next)
		}
	}
}

// outlasting gives a context that ends a while after ctx.
func outlasting(ctx context.Context, d time.Duration) (context.Context, func()) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return own, func() {
		stop()
		cancel()
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// never is longer than anybody waits.
const never = 24 * time.Hour

// step looks at the queue and sends what may be sent now, one notice to each sink. It tells whether one was received, so
// that there may be more, and else when there will be something to send.
func (w *Watcher) step(ctx context.Context, final bool) (sent bool, next time.Duration) {
	taken, next, err := w.look(ctx, final)
	w.trouble("look", err)
	if err != nil {
		return false, never
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, p := range taken {
		all.Go(func() {
			received, again := w.send(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			sent = sent || received
			next = min(next, again)
		})
	}
	all.Wait()
	return sent, next
}

// look evaluates the rules, and takes the notices that are to be sent by the same write.
func (w *Watcher) look(ctx context.Context, final bool) (taken []Pending, next time.Duration, err error) {
	names := make([]string, len(w.Sinks))
	for i, s := range w.Sinks {
		names[i] = s.Name
	}
	expired := 0
	err = w.update(ctx, func(s State, now time.Time) (State, error) {
		f, err := w.figures(ctx, final) // after the note was read: figures older than what was told would undo it
		if err != nil {
			return s, err
		}
		s, notices := Evaluate(s, w.Rules, f, now)
		for _, n := range notices {
			s.Post(n, names, now)
		}
		expired = s.Expire(now)
		taken, next = s.Claim(names, w.token, now), never
		if at := s.Next(names, now); !at.IsZero() {
			next = at.Sub(now)
		}
		return s, nil
	})
	if expired > 0 && err == nil {
		w.say("expired", fmt.Sprintf("alerts: %d notices of queue %s could not be sent for a week, or are too many, and are given up", expired, w.Queue))
	}
	return taken, next, err
}

// update changes the state in the store. change may be called several times.
func (w *Watcher) update(ctx context.Context, change func(s State, now time.Time) (State, error)) error {
	for try := 1; ; try++ {
		note, err := w.Store.Note(ctx, Key(w.Queue))
		if err != nil && !errors.Is(err, siding.ErrNotFound) {
			return err
		}
		now, err := w.Store.Now(ctx)
		if err != nil {
			return err
		}
		s, err := decode(note.Value)
		w.trouble("decode", err) // and what holds is told once more
		if s, err = change(s, now); err != nil {
			return err
		}
		value, err := s.encode()
		if err != nil || bytes.Equal(value, note.Value) {
			return err
		}
		_, err = w.Store.SetNote(ctx, siding.Note{Key: Key(w.Queue), Value: value, Version: note.Version})
		if !errors.Is(err, siding.ErrConflict) || try == retries {
			return err
		}
	}
}

// figures reads how the queue stands, as far as the rules ask.
func (w *Watcher) figures(ctx context.Context, final bool) (Figures, error) {
	f := Figures{Queue: w.Queue, Watched: w.Gates, Simulated: w.Simulated, Final: final}
	stats, err := w.Store.Stats(ctx, w.Queue)
	if err != nil {
		return f, err
	}
	for _, s := range stats {
		if s.Queue == w.Queue {
			f.Dead, f.Ended, f.Causes = s.Dead, s.Done+s.Dead, s.Causes
		}
	}
	if w.Rules.NewGroup {
		q := siding.GroupQuery{Queue: w.Queue, States: []siding.GroupState{siding.GroupNew}, Empty: true}
		if f.New, err = w.Store.Groups(ctx, q); err != nil {
			return f, err
		}
	}
	if w.Rules.Hold {
		if f.Gates, err = w.Store.Gates(ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

// send sends one notice and writes down what came of it. A process that dies in between leaves its claim, and another one
// sends the notice again when that has run out.
func (w *Watcher) send(ctx context.Context, p Pending) (received bool, again time.Duration) {
	sink := w.sink(p.Sink)
	err := sink.Send(ctx, p.Notice, p.Tries)
	ctx, cut := context.WithoutCancel(ctx), ctx.Err() != nil
	ctx, cancel := context.WithTimeout(ctx, confirmWait)
	defer cancel()
	w.trouble(p.Sink, err)
	again = never
	werr := w.update(ctx, func(s State, now time.Time) (State, error) {
		s = s.clone()
		switch {
		case err == nil:
			s.Sent(p)
		case cut:
			s.Release(p)
		default:
			s.Failed(p, siding.FailureOf(err).RetryAfter, mathrand.Float64(), now)
		}
		if at := s.Next([]string{p.Sink}, now); !at.IsZero() {
			again = at.Sub(now)
		}
		return s, nil
	})
	w.trouble("confirm", werr)
	return err == nil && werr == nil, again
}

func (w *Watcher) sink(name string) Sink {
	for _, s := range w.Sinks {
		if s.Name == name {
			return s
		}
	}
	return Sink{}
}

// trouble says what went wrong, where it is not what was said last.
func (w *Watcher) trouble(about string, err error) {
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.said, about)
		return
	}
	w.say(about, fmt.Sprintf("alerts of queue %s: %v; it is tried again", w.Queue, err))
}

func (w *Watcher) say(about, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said[about] != text && w.Say != nil {
		w.said[about] = text
		w.Say(siding.Scrub(text, siding.MaxErrorText))
	}
}
