package quarantine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// Retention says how long a queue's bodies are kept before they are dropped; 0: for ever, the default of each. See
// [siding.DropWhat] for what each is counted from.
type Retention struct {
	Dead, Done, History time.Duration
}

// The bounds of a retention that is not off. What is dropped is gone, so that a slip of the pen must not do it at once.
const (
	MinRetention = time.Minute
	MaxRetention = 100 * 365 * 24 * time.Hour
)

// retentionJSON is how a note holds it: durations as Go writes them, empty where nothing is dropped.
type retentionJSON struct {
	Dead    string `json:"dead"`
	Done    string `json:"done"`
	History string `json:"history"`
}

// RetentionKey is the key of the note with a queue's retention.
func RetentionKey(queue string) string { return "setting/retention/" + queue }

// Of gives the field of what can be dropped, to read or to change; nil for what is not known.
func (r *Retention) Of(w siding.DropWhat) *time.Duration {
	switch w {
	case siding.DropDead:
		return &r.Dead
	case siding.DropDone:
		return &r.Done
	case siding.DropHistory:
		return &r.History
	}
	return nil
}

// Off tells whether nothing is ever dropped.
func (r Retention) Off() bool { return r == Retention{} }

// Validate says which durations are out of bounds.
func (r Retention) Validate() error {
	var errs []error
	for _, w := range siding.DropWhats() {
		if d := *r.Of(w); d != 0 && (d < MinRetention || d > MaxRetention) {
			errs = append(errs, fmt.Errorf("%s: %v is no time to keep bodies for; it must be from a minute to %d days, or off", w, d, MaxRetention/(24*time.Hour)))
		}
	}
	return errors.Join(errs...)
}

// MarshalJSON writes it as a note holds it.
func (r Retention) MarshalJSON() ([]byte, error) {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return json.Marshal(retentionJSON{text(r.Dead), text(r.Done), text(r.History)})
}

// UnmarshalJSON reads it. What it cannot read, or what is out of bounds, is an error: nothing is dropped by guess.
func (r *Retention) UnmarshalJSON(b []byte) error {
	var j retentionJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	var read Retention
	for w, text := range map[siding.DropWhat]string{siding.DropDead: j.Dead, siding.DropDone: j.Done, siding.DropHistory: j.History} {
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d == 0 {
			return fmt.Errorf("%s: %q is no duration", w, siding.Scrub(text, 64))
		}
		*read.Of(w) = d
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*r = read
	return nil
}

// ReadRetention gives a queue's retention as the store has it, and the version of the note that holds it: 0 where there is none.
func ReadRetention(ctx context.Context, store siding.Quarantine, queue string) (r Retention, version int64, err error) {
	note, err := store.Note(ctx, RetentionKey(queue))
	switch {
	case errors.Is(err, siding.ErrNotFound):
		return Retention{}, 0, nil
	case err != nil:
		return Retention{}, 0, fmt.Errorf("the retention of queue %s: %w", siding.Scrub(queue, 128), err)
	}
	if err := json.Unmarshal(note.Value, &r); err != nil {
		return Retention{}, note.Version, fmt.Errorf("the retention of queue %s cannot be read, and nothing is dropped: %w", siding.Scrub(queue, 128), err)
	}
	return r, note.Version, nil
}

// WriteRetention sets a queue's retention where the note still has the version that was read; else [siding.ErrConflict].
func WriteRetention(ctx context.Context, store siding.Quarantine, queue string, r Retention, version int64) error {
	err := r.Validate()
	var value []byte
	if err == nil && !r.Off() {
		value, err = json.Marshal(r)
	}
	if err == nil {
		_, err = store.SetNote(ctx, siding.Note{Key: RetentionKey(queue), Value: value, Version: version})
	}
	if err != nil {
		return fmt.Errorf("the retention of queue %s: %w", siding.Scrub(queue, 128), err)
	}
	return nil
}

// dropPiece is how many bodies are dropped in one write: other writes go on in between.
const dropPiece = 500

// Apply drops the bodies that a queue does not keep any more at a time of the store, in pieces, and gives how many of
// each it dropped, also with an error. Nothing else changes. It may be called by several at once.
func (r Retention) Apply(ctx context.Context, store siding.Quarantine, queue string, now time.Time) (map[siding.DropWhat]int64, error) {
	return r.apply(ctx, store, queue, now, func(time.Duration) error { return nil })
}

// apply calls rest between two pieces, with the time that the first has taken; its error ends it.
func (r Retention) apply(ctx context.Context, store siding.Quarantine, queue string, now time.Time, rest func(time.Duration) error) (map[siding.DropWhat]int64, error) {
	dropped := map[siding.DropWhat]int64{}
	if err := r.Validate(); err != nil {
		return dropped, err
	}
	for _, w := range siding.DropWhats() {
		if *r.Of(w) == 0 {
			continue
		}
		for more := true; more; {
			began := time.Now()
			n, err := store.DropBodies(ctx, siding.Drop{What: w, Queue: queue, Before: now.Add(-*r.Of(w)), Limit: dropPiece})
			dropped[w] += n
			if err != nil {
				return dropped, fmt.Errorf("dropping bodies (%s) of queue %s: %w", w, siding.Scrub(queue, 128), err)
			}
			if more = n >= dropPiece; more {
				if err := rest(time.Since(began)); err != nil {
					return dropped, err
				}
			}
		}
	}
	return dropped, nil
}
