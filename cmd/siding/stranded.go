package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// A strandedError ends a run that has nothing left but what waits for the results of another queue, of which none come.
type strandedError struct {
	waiting int64
	queue   string
	why     error // a *worker.HeldError where a hold is in the way there; nil: nobody works that queue
}

func (e *strandedError) Error() string {
	return fmt.Sprintf("%s for the results of queue %s, and nobody works it", waitText(e.waiting), e.queue)
}

func (e *strandedError) Unwrap() error { return e.why }

func waitText(n int64) string {
	if n == 1 {
		return "1 record waits"
	}
	return fmt.Sprintf("%d records wait", n)
}

const (
	lookEvery   = time.Second
	strandAfter = 30 * time.Second // so long must nothing have happened in a queue that another process may work
)

// strandings looks whether the queues that records wait for are worked.
type strandings struct {
	wait    waitFlag
	count   func(context.Context) (siding.InputStats, error) // how the main work stands
	forever bool                                             // another process may come and work a queue, however late

	*app
	store siding.Operator
	sides []*side
	looks map[string]look // at the queues without a side, by their names
	told  bool
}

// look is how a queue stood, and since when.
type look struct {
	stats siding.InputStats
	since time.Time
}

// watch ends with an error when nothing is left but what waits in vain, or when the work beside has failed; with nil at
// the end of ctx.
func (s *strandings) watch(ctx context.Context) error {
	before := "" // the queue that was found to be stranded at the look before: once may be chance
	for tick := time.NewTicker(lookEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		for _, one := range s.sides {
			if err := one.end(); err != nil && asHeld(err) == nil && !errors.Is(err, siding.ErrShutdown) {
				return fmt.Errorf("queue %s: %w", one.recipe.Queue, err)
			}
		}
		stats, err := s.count(ctx)
		if err != nil || stats.Pending == 0 || stats.Pending > waiting(stats) {
			before = ""
			continue // the worker says what is wrong with the store
		}
		err = s.stranded(ctx, stats)
		var e *strandedError
		if !errors.As(err, &e) {
			before = ""
			continue
		}
		if before == e.queue {
			return err
		}
		before = e.queue
	}
}

// end gives how the side's worker ended; nil while it works.
func (s *side) end() error {
	select {
	case <-s.ended:
		return s.err
	default:
		return nil
	}
}

// waiting counts what waits for other queues.
func waiting(s siding.InputStats) (n int64) {
	for _, w := range s.Waiting {
		n += w.Count
	}
	return n
}

// stranded tells whether nothing comes of all that a queue or an input waits for.
func (s *strandings) stranded(ctx context.Context, stats siding.InputStats) error {
	var first error
	for _, w := range stats.Waiting {
		err := s.strandedAt(ctx, w)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// strandedAt tells whether nothing comes of what waits for one queue.
func (s *strandings) strandedAt(ctx context.Context, w siding.WaitCount) error {
	for _, one := range s.sides {
		if one.recipe.Queue != w.Queue {
			continue
		}
		if held := asHeld(one.end()); held != nil {
			return &strandedError{w.Count, w.Queue, held}
		}
		there, err := queueTotals(ctx, s.store, w.Queue)
		if err != nil || there.Pending > waiting(there) {
			return nil
		}
		return s.stranded(ctx, there) // it waits in its turn
	}
	there, err := queueTotals(ctx, s.store, w.Queue)
	if err != nil {
		return nil
	}
	old, known := s.looks[w.Queue]
	if !known || there.Leased > 0 || there.Done != old.stats.Done || there.Dead != old.stats.Dead || there.Calls != old.stats.Calls {
		s.looks[w.Queue] = look{there, time.Now()}
		s.tell(w)
		return nil
	}
	patience := strandAfter
	if s.wait.given != nil && *s.wait.given {
		patience = s.wait.d
	}
	if s.forever || time.Since(old.since) < patience {
		return nil
	}
	return &strandedError{waiting: w.Count, queue: w.Queue}
}

// tell says once what is waited for.
func (s *strandings) tell(w siding.WaitCount) {
	if s.told {
		return
	}
	s.told = true
	s.hintf("%s for the results of queue %s, which this command does not work: siding work with the recipe of that queue does", waitText(w.Count), oneLine(w.Queue, 128))
}

// sayStranded says at the end of a run what it waits for, and what to do.
func (a *app) sayStranded(ctx context.Context, store siding.Quarantine, e *strandedError, path string) {
	if held := asHeld(e.why); held != nil {
		a.notef("%s for the results of queue %s, and that is held:", waitText(e.waiting), oneLine(e.queue, 128))
		a.sayHeld(held, path)
		return
	}
	a.notef("held: %s for the results of queue %s, and nobody works it.", waitText(e.waiting), oneLine(e.queue, 128))
	name := "RECIPE-OF-" + siding.Scrub(e.queue, 128)
	if known, err := rememberedRecipe(context.WithoutCancel(ctx), store, e.queue); err == nil && known.Path != "" {
		name = siding.Scrub(known.Path, 4096)
	}
	a.notef("  start this, and run the same command again: siding work%s %s", a.storeFlag(path), shellQuote(name))
	a.notef("  or name that recipe in preflight.oversize.recipe, and this command works both")
}
