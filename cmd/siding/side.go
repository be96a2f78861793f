package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/recipe"
	"github.com/siding-dev/siding/worker"
)

// A side is the work on a queue that records go to which are too large: by the recipe that the main one names for it.
type side struct {
	*job
	progress *progress
	ended    chan struct{} // closed when its worker has ended
	err      error         // how, from then on
}

// openSides makes the handlers of the recipes that the main one leads to, on the same store and service.
func (j *job) openSides(a *app, storeID string) error {
	for r := j.recipe.Side; r != nil; r = r.Side {
		h, err := r.Handler(a.handlerEnv(j.sim, j.store, storeID))
		if err != nil {
			return explainEnv(r, err)
		}
		j.sides = append(j.sides, &job{
			recipe: r, handler: h, store: j.store, path: j.path, digest: r.Digest(), concurrency: r.Concurrency, sim: j.sim,
		})
	}
	return nil
}

// checkSides finds what is wrong with the recipes that the main one leads to, before there is a store.
func (j *job) checkSides(a *app) error {
	for r := j.recipe.Side; r != nil; r = r.Side {
		if j.sim != nil && !r.AsksClaude() {
			return notSimulated(r)
		}
		if _, err := r.Handler(a.handlerEnv(j.sim, noJournal{}, "")); err != nil {
			return explainEnv(r, err)
		}
	}
	return nil
}

func notSimulated(r *recipe.Recipe) error {
	return usagef("recipe %s: --simulate stands in for Claude, and this recipe does not ask it; nothing else can be simulated", siding.Scrub(r.Name, 512))
}

// runWorkers runs the main worker until it ends, and those of the queues that too large records go to beside it. Where the
// main one has nothing left but what waits for another queue, and nothing comes of that, it is stopped: the error says so. s
// has what the watch over that needs to know of the main work.
func (a *app) runWorkers(ctx context.Context, j *job, w *worker.Worker, p *progress, s strandings) error {
	if j.recipe.Oversize == "" {
		return a.runWorker(ctx, w)
	}
	beside, stop := context.WithCancel(ctx)
	defer stop()
	sides := make([]*side, len(j.sides))
	for i, one := range j.sides {
		a.remember(ctx, one)
		sides[i] = &side{job: one, progress: newProgress(siding.InputStats{}), ended: make(chan struct{})}
		each, err := one.worker(worker.Config{Observe: sides[i].progress.observe, Wait: s.wait.forHold})
		if err != nil {
			return err
		}
		go func() {
			defer close(sides[i].ended)
			sides[i].err = each.Run(beside)
		}()
	}
	p.showSides(sides)
	s.app, s.store, s.sides, s.looks = a, j.store, sides, map[string]look{}
	watched := make(chan error, 1)
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		err := s.watch(over)
		if err != nil {
			w.Stop()
		}
		watched <- err
	}()
	err := a.runWorker(ctx, w)
	end()
	if why := <-watched; why != nil && ctx.Err() == nil {
		err = why
	}
	stop()
	errs := []error{err}
	for _, one := range sides {
		<-one.ended
		if e := one.err; e != nil && asHeld(e) == nil && !errors.Is(e, siding.ErrShutdown) && !errors.Is(err, e) {
			errs = append(errs, fmt.Errorf("queue %s: %w", one.recipe.Queue, e))
		}
	}
	return joinEnds(errs)
}

// joinEnds joins errors; one alone stays what it is, so that how a run ended is still seen in it.
func joinEnds(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// totals counts the job's whole queue, and with it those of its sides.
func (j *job) totals(ctx context.Context) (siding.InputStats, error) {
	sum, err := queueTotals(ctx, j.store, j.recipe.Queue)
	for _, one := range j.sides {
		var s siding.InputStats
		if err == nil {
			s, err = queueTotals(ctx, j.store, one.recipe.Queue)
		}
		sum.Calls, sum.UnknownCalls, sum.UnpricedCalls = sum.Calls+s.Calls, sum.UnknownCalls+s.UnknownCalls, sum.UnpricedCalls+s.UnpricedCalls
		sum.Cost, sum.UnknownMax = sum.Cost.Add(s.Cost), sum.UnknownMax.Add(s.UnknownMax)
	}
	return sum, err
}

// showSides has the progress line tell of the work beside.
func (p *progress) showSides(sides []*side) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sides = sides
}

// sideTexts say how many wait for other queues, and what is in the way there.
func (p *progress) sideTexts() (texts []string) {
	for _, w := range p.stats.Waiting {
		texts = append(texts, fmt.Sprintf("%d for queue %s", w.Count, oneLine(w.Queue, 64)))
	}
	for _, one := range p.sides {
		if why := one.progress.inTheWay(); why != "" {
			texts = append(texts, fmt.Sprintf("queue %s: %s", one.recipe.Queue, why))
		}
	}
	return texts
}

// inTheWay says what keeps a worker from working; empty: nothing.
func (p *progress) inTheWay() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != "" {
		return "the store: " + p.fault
	}
	if p.held != "" {
		return "held: " + p.held
	}
	return p.rest
}
