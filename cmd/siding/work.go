package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// giveUp is how long a store may answer with nothing but errors before the work ends: long enough to free some disk,
// and not for ever where nobody looks.
const giveUp = 10 * time.Minute

func (a *app) workCommand() *cobra.Command {
	var simulate string
	var concurrency int
	var wait waitFlag
	cmd := &cobra.Command{
		Use:   "work RECIPE",
		Short: "Work on a queue until stopped",
		Long: "Work works on all messages of the recipe's queue, also those that come while it runs, until it is stopped with\n" +
			"Ctrl-C. Several processes may work on one store. A fault that is not the messages' and does not pass by itself ends it\n" +
			"with code 4.",
		Example: example("siding work recipe.yaml", "siding work --simulate recipe.yaml --concurrency 4"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkConcurrency(concurrency), wait.check()); err != nil {
				return err
			}
			j, err := a.openJob(cmd.Context(), args[0], simulate, concurrency)
			if err != nil {
				return err
			}
			defer j.close()
			defer a.watch(cmd.Context(), j)()
			return storeError(a.workOn(cmd.Context(), j, wait))
		},
	}
	a.simulateFlag(cmd, &simulate)
	concurrencyFlag(cmd, &concurrency)
	wait.register(cmd)
	return cmd
}

func (a *app) workOn(ctx context.Context, j *job, wait waitFlag) error {
	before, err := j.totals(ctx)
	if err != nil {
		return err
	}
	a.remember(ctx, j)
	p := newProgress(before)
	w, err := j.worker(worker.Config{Observe: p.observe, Wait: wait.forHold})
	if err != nil {
		return err
	}
	a.hintf("working on queue %s; Ctrl-C stops", j.recipe.Queue)
	stop := a.showProgress(ctx, p, j.totals)
	c := a.campaignsOf(j.store, j.path, j.recipe.Queue)
	err = c.during(ctx, func() error {
		return a.runWorkers(ctx, j, w, p, strandings{wait: wait, count: j.totals, forever: true})
	})
	c.close()
	stop()
	after, serr := j.totals(context.WithoutCancel(ctx))
	if serr == nil && j.sim != nil {
		a.compareBill(j.sim, before, after)
	}
	stranded, isStranded := errors.AsType[*strandedError](err)
	switch held := asHeld(err); {
	case isStranded:
		a.sayStranded(ctx, j.store, stranded, j.path)
		err = said(errHeld)
	case held != nil:
		a.sayHeld(held, j.path)
		err = said(errHeld)
	case errors.Is(err, errInterrupted):
		a.hintf("stopped: %d done, %d set aside, %d left in the queue", after.Done, after.Dead, after.Pending)
		err = said(err)
	}
	return errors.Join(err, serr)
}

// runWorker runs a worker until it ends or is stopped. A stop gives errInterrupted.
func (a *app) runWorker(ctx context.Context, w *worker.Worker) error {
	err := w.Run(ctx)
	if held := asHeld(err); held == nil && (errors.Is(err, siding.ErrShutdown) || err == nil && ctx.Err() != nil) {
		if err != nil && err != siding.ErrShutdown { //nolint:errorlint // it says more than that
			a.notef("%v", err)
		}
		return errInterrupted
	}
	return err
}

// queueTotals counts a whole queue as if it were an input.
func queueTotals(ctx context.Context, store siding.Operator, queue string) (siding.InputStats, error) {
	all, err := store.Stats(ctx, queue)
	if err != nil || len(all) == 0 {
		return siding.InputStats{}, err
	}
	s := all[0]
	return siding.InputStats{
		Enqueued: s.Ready + s.Leased + s.Done + s.Dead + s.Discarded, Done: s.Done, Dead: s.Dead,
		Pending: s.Ready + s.Leased, Discarded: s.Discarded, Leased: s.Leased, Retrying: s.Retrying, Waiting: s.Waiting, Calls: s.Calls,
		UnknownCalls: s.UnknownCalls, UnpricedCalls: s.UnpricedCalls, Cost: s.Cost, UnknownMax: s.UnknownMax,
		Causes: s.Causes,
	}, nil
}

// worker makes a worker for the recipe; c has what is not the recipe's.
func (j *job) worker(c worker.Config) (*worker.Worker, error) {
	c.Queue, c.Handler, c.Policy, c.Digest = j.recipe.Queue, j.handler, j.recipe.Policy(), j.digest
	c.Concurrency, c.GiveUp, c.Gates, c.Then = j.concurrency, giveUp, j.handler.GateKeys(), j.recipe.Then
	w, err := worker.New(j.store, c)
	if err != nil {
		return nil, usagef("recipe %s: %w", j.recipe.Name, err)
	}
	return w, nil
}
