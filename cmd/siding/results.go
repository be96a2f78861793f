package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

func (a *app) resultsCommand() *cobra.Command {
	var queue, out string
	var force, simulated bool
	cmd := &cobra.Command{
		Use:   "results [RECIPE INPUT...]",
		Short: "Write the results again, without working",
		Long: "Results writes what is done: of an input in the order of its records, as the last run of it would, or with --queue\n" +
			"of a whole queue, oldest first. It makes no call and changes nothing in the store.",
		Example: example("siding results recipe.yaml metadata.jsonl", "siding results --queue tag-jobs --out all.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (queue == "") == (len(args) == 0) || len(args) == 1 {
				return usagef("name a recipe and its inputs, or a queue with --queue")
			}
			return a.results(cmd.Context(), args, queue, out, force, simulated)
		},
	}
	f := cmd.Flags()
	f.StringVar(&queue, "queue", "", "the results of this queue")
	f.StringVarP(&out, "out", "o", "", "the results file (default "+defaultResults+" here, "+defaultSimResult+
		" for a simulated store); - is standard output")
	f.BoolVar(&force, "force", false, "replace a file that was not written for the same recipe and inputs")
	f.BoolVar(&simulated, "simulate", false, "take the simulated store here, "+defaultSimStore)
	return cmd
}

func (a *app) results(ctx context.Context, args []string, queue, out string, force, simulated bool) error {
	o := sqlite.Options{ReadOnly: true}
	if simulated {
		o.Mode = sqlite.Simulated
	}
	key := ""
	if len(args) > 0 {
		r, err := loadRecipe(args[0])
		if err != nil {
			return err
		}
		if key, err = inputKey(args[1:]); err != nil {
			return err
		}
		queue = r.Queue
	}
	store, path, err := a.openStore(ctx, "", simulated, o)
	if err != nil {
		return err
	}
	defer closing(store)
	info, err := store.Info(ctx)
	if err != nil {
		return storeError(err)
	}
	fill := func(w io.Writer) error { return writeQueue(ctx, w, store, queue) }
	if key == "" {
		if known, err := store.Stats(ctx, queue); err != nil {
			return storeError(err)
		} else if len(known) == 0 {
			return usagef("the store %s has no queue %q; \"siding status\" lists them", path, siding.Scrub(queue, 64))
		}
	} else {
		id, err := store.FindInput(ctx, queue, key)
		if errors.Is(err, siding.ErrNotFound) {
			return usagef("the store %s has no run of these inputs in queue %q; the names of the inputs must be those of the run", path, queue)
		}
		if err != nil {
			return storeError(err)
		}
		fill = func(w io.Writer) error { return writeMembers(ctx, w, store, id) }
	}
	switch {
	case isStdout(out):
		return storeError(buffered(a.out, fill))
	case out == "" && info.Simulated:
		out = defaultSimResult
	case out == "":
		out = defaultResults
	}
	file, err := openOut(out, &owner{Queue: queue, Input: key, Simulated: info.Simulated}, force, append(storeFiles(info), args...)...)
	if err != nil {
		return err
	}
	if err := file.write(fill); err != nil {
		return storeError(err)
	}
	a.hintf("written to %s", out)
	return nil
}

// writeMembers writes the results of an input's members, in the order of the input.
func writeMembers(ctx context.Context, w io.Writer, store siding.Manifest, id siding.InputID) error {
	for m, err := range store.InputMembers(ctx, id, siding.MemberOptions{States: []siding.State{siding.StateDone}}) {
		if err != nil {
			return endOfWalk(ctx, err)
		}
		if err := writeJSON(w, newResultLine(m)); err != nil {
			return err
		}
	}
	return nil
}

// writeQueue writes the results of a whole queue. A message that another process takes away meanwhile is left out.
func writeQueue(ctx context.Context, w io.Writer, store siding.Operator, queue string) error {
	for l, err := range store.List(ctx, siding.Selection{Queue: queue, States: []siding.State{siding.StateDone}}) {
		if err != nil {
			return endOfWalk(ctx, err)
		}
		r, err := store.Get(ctx, l.Queue, l.ID)
		if errors.Is(err, siding.ErrNotFound) || err == nil && r.State != siding.StateDone {
			continue
		}
		if err != nil {
			return fmt.Errorf("message %q: %w", l.ID, err)
		}
		m := siding.Member{Message: r.Message, Result: r.Result, Calls: int64(len(r.Calls))}
		for _, c := range r.Calls {
			m.Usage, m.Cost = m.Usage.Add(c.Usage), m.Cost.Add(c.Cost)
			if c.Fate == siding.FateAnswered && !c.Priced {
				m.UnpricedCalls++
			}
		}
		if err := writeJSON(w, newResultLine(m)); err != nil {
			return err
		}
	}
	return nil
}
