package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/siding-dev/siding"
)

// changedLine says that answers were given under another recipe, with --json.
type changedLine struct {
	Type        string `json:"type"` // changed
	V           int    `json:"v"`
	Count       int64  `json:"count"`        // answers under another recipe
	EstimateUSD *usd   `json:"estimate_usd"` // what asking again is likely to cost; null when no price is known
	WorstUSD    *usd   `json:"worst_usd"`    // and at most
	Rejudged    int64  `json:"rejudged"`     // journaled answers that pass the changed acceptance rules
}

// errChanged is wrong usage: it has not been said what to do with answers of another recipe.
var errChanged = errors.New("answers of another recipe")

// changed looks for members that were answered under another recipe. Journaled answers that pass this one's acceptance
// are taken; for the rest --changed says what to do, and without it no call is made.
func (r *oneRun) changed(ctx context.Context) error {
	stats, err := r.store.InputStats(ctx, r.input, r.digest)
	if err != nil || stats.Stale == 0 {
		return err
	}
	rejudged, err := r.rejudge(ctx)
	if err != nil {
		return err
	}
	if rejudged > 0 {
		r.hintf("%s passed the changed recipe without a call", counted(rejudged, "answer"))
		if stats, err = r.store.InputStats(ctx, r.input, r.digest); err != nil || stats.Stale == 0 {
			return err
		}
	}
	switch r.flags.changed {
	case "keep":
		n, err := r.store.KeepAnswers(ctx, r.input, r.digest)
		if err == nil {
			r.hintf("%s of the earlier recipe kept", counted(n, "answer"))
		}
		return err
	case "ask":
		n, err := r.store.Reask(ctx, r.input, r.digest)
		if err == nil {
			r.hintf("%s asked again", counted(n, "record"))
		}
		return err
	}
	return r.sayChanged(ctx, stats.Stale, rejudged)
}

// rejudgers is how many answers are judged at once: what they come to is written in groups then.
const rejudgers = 32

// rejudge judges the journaled answers of members anew, and takes those that pass.
func (r *oneRun) rejudge(ctx context.Context) (taken int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	members := make(chan siding.Message)
	var n atomic.Int64
	var wg sync.WaitGroup
	for range rejudgers {
		wg.Go(func() {
			for m := range members {
				switch ok, err := r.readopt(ctx, m); {
				case err != nil:
					cancel(err) // the first counts
				case ok:
					n.Add(1)
				}
			}
		})
	}
	for m, err := range r.store.InputMembers(ctx, r.input, staleMembers(r.digest)) {
		if err != nil {
			cancel(err)
		}
		if ctx.Err() != nil {
			break
		}
		members <- m.Message
	}
	close(members)
	wg.Wait()
	return n.Load(), context.Cause(ctx)
}

// readopt takes a journaled answer of a message that passes today's acceptance, if there is one.
func (r *oneRun) readopt(ctx context.Context, m siding.Message) (bool, error) {
	calls, err := r.store.Calls(ctx, m.Queue, m.ID)
	if err != nil {
		return false, err
	}
	j, result, ok, err := r.handler.Rejudge(ctx, m, calls)
	if err != nil {
		return false, fmt.Errorf("judging the answer of %q again: %w", m.ID, err)
	}
	if !ok {
		return false, nil
	}
	err = r.store.Readopt(ctx, m.Queue, m.ID, j, result)
	if errors.Is(err, siding.ErrWrongState) || errors.Is(err, siding.ErrNotFound) {
		return false, nil // somebody else has changed it meanwhile
	}
	return err == nil, err
}

func staleMembers(digest string) siding.MemberOptions {
	return siding.MemberOptions{States: []siding.State{siding.StateDone}, Stale: digest, Bodies: true}
}

// sayChanged says how many answers were given under another recipe, and what it would cost to ask again.
func (r *oneRun) sayChanged(ctx context.Context, count, rejudged int64) error {
	line := changedLine{Type: "changed", V: 1, Count: count, Rejudged: rejudged}
	cost := "and no price is known for asking again"
	if likely, worst, priced, err := r.estimate(ctx); err != nil {
		return err
	} else if priced {
		l, w := usd(likely), usd(worst)
		line.EstimateUSD, line.WorstUSD = &l, &w
		cost = fmt.Sprintf("and asking again would cost about %s, at most %s", dollars(likely), dollars(worst))
	}
	if r.json {
		if err := writeJSON(r.app.out, line); err != nil {
			return err
		}
	}
	return usagef("%w: %s answered under another recipe, %s; no call was made; give --changed keep to take the old answers, "+
		"or --changed ask to ask again", errChanged, plural(int(count), "record of this input was", "records of this input were"), cost)
}

// estimate adds up what asking the members again is likely to cost, and at most.
func (r *oneRun) estimate(ctx context.Context) (likely, worst siding.Money, priced bool, err error) {
	for m, err := range r.store.InputMembers(ctx, r.input, staleMembers(r.digest)) {
		if err != nil {
			return 0, 0, false, endOfWalk(ctx, err)
		}
		l, w, ok := r.handler.Estimate(m.Message)
		if !ok {
			return 0, 0, false, nil
		}
		likely, worst = likely.Add(l), worst.Add(w)
	}
	return likely, worst, true, nil
}

// unasked ends a run that found answers of another recipe, or was stopped while it looked: no call has been made.
func (r *oneRun) unasked(ctx context.Context, ended error) error {
	if errors.Is(interrupted(ctx, ended), errInterrupted) {
		return r.finish(ctx, errInterrupted)
	}
	if !errors.Is(ended, errChanged) || !r.json {
		return storeError(ended)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	stats, err := r.store.InputStats(limited, r.input, r.digest)
	if err == nil {
		err = r.summarise(r.app.out, stats, r.path, r.recipe.Queue)
	}
	return errors.Join(ended, err)
}
