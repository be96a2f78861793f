package quarantine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// JanitorEvery is how often a [Janitor] looks, and how often one of several does.
const JanitorEvery = time.Minute

const (
	// janitorTurn bounds one turn. What it does not get done, the next does.
	janitorTurn = 50 * time.Second
	// leastRest is between two pieces; a longer one takes as long to rest from as it took.
	leastRest = 20 * time.Millisecond
)

// Janitor drops what a queue's retention does not keep any more, while others work on the queue: in small pieces with
// rests between them, and by one process at a time. Where no retention is set it does nothing. What it drops is
// recorded in the audit trail.
type Janitor struct {
	Store interface {
		siding.Quarantine
		Now(ctx context.Context) (time.Time, error)
	}
	Queue string
	Say   func(text string) // takes what goes wrong, in words, for the operator; nil: nobody
}

// turn is who looks after retention until when; it is kept in a note.
type turn struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

// turnKey is the key of the note that says whose turn it is.
func turnKey(queue string) string { return "retention/" + queue }

// Run looks at once, and then again and again until ctx ends. An error is said, when it is not the one that was said last,
// and the next look tries again.
func (j Janitor) Run(ctx context.Context) {
	me, said := rand.Text(), ""
	for ctx.Err() == nil {
		text := ""
		if err := j.turn(ctx, me); err != nil && ctx.Err() == nil {
			text = siding.Scrub(fmt.Sprintf("retention: %v; it is tried again", err), siding.MaxErrorText)
		}
		if text != "" && text != said && j.Say != nil {
			j.Say(text)
		}
		said = text
		_ = sleep(ctx, JanitorEvery)
	}
}

// turn drops what is due, where it is this janitor's turn.
func (j Janitor) turn(ctx context.Context, me string) error {
	r, _, err := ReadRetention(ctx, j.Store, j.Queue)
	if err != nil || r.Off() {
		return err
	}
	now, err := j.Store.Now(ctx)
	if err != nil {
		return err
	}
	if mine, err := j.take(ctx, me, now); err != nil || !mine {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, janitorTurn, errTurnOver)
	defer cancel()
	ctx = siding.WithAct(ctx, siding.Act{ID: rand.Text(), By: "siding", Text: "retention"})
	_, err = r.apply(ctx, j.Store, j.Queue, now, func(took time.Duration) error { return sleep(ctx, max(took, leastRest)) })
	if errors.Is(context.Cause(ctx), errTurnOver) {
		return nil
	}
	return err
}

var errTurnOver = errors.New("the turn is over")

// take makes it this janitor's turn, unless it is another's. A janitor that has died keeps its turn for as long as it may
// last, and no longer.
func (j Janitor) take(ctx context.Context, me string, now time.Time) (bool, error) {
	note, err := j.Store.Note(ctx, turnKey(j.Queue))
	if err != nil && !errors.Is(err, siding.ErrNotFound) {
		return false, err
	}
	var t turn
	_ = json.Unmarshal(note.Value, &t) // what cannot be read is nobody's turn
	if t.By != me && now.Before(t.Until) && t.Until.Sub(now) <= JanitorEvery {
		return false, nil
	}
	value, err := json.Marshal(turn{me, now.Add(JanitorEvery)})
	if err != nil {
		return false, err
	}
	_, err = j.Store.SetNote(ctx, siding.Note{Key: turnKey(j.Queue), Value: value, Version: note.Version})
	if errors.Is(err, siding.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// sleep rests for a while; the error is that ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
