package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/intake"
	"github.com/siding-dev/siding/worker"
)

// runFlags are the flags of run.
type runFlags struct {
	out         string
	force       bool
	format      string
	simulate    string
	wait        waitFlag
	changed     string
	redriveDead bool
	concurrency int
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run RECIPE INPUT...",
		Short: "Work through the records of an input, and write the results",
		Long: "Run enqueues each record of the inputs (JSON Lines, a JSON array, CSV, or - for standard input), works until\n" +
			"nothing of this input is left to do, and writes the results in the order of the input. What goes wrong with one\n" +
			"record sets that one aside. Run the same command again and it goes on: what has been answered is not asked again.\n\n" +
			"Ctrl-C stops gracefully (what is under way may end), a second one at once; nothing is lost by either.",
		Example: example("siding run recipe.yaml metadata.jsonl", "siding run --simulate recipe.yaml metadata.jsonl",
			"zcat big.jsonl.gz | siding run recipe.yaml - --out big-results.jsonl"),
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), args[0], args[1:], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "the results file (default "+defaultResults+" here, "+defaultSimResult+
		" with --simulate); - is standard output")
	fl.BoolVar(&f.force, "force", false, "replace a results file that was not written for this recipe and these inputs")
	formatFlag(cmd, &f.format)
	a.simulateFlag(cmd, &f.simulate)
	f.wait.register(cmd)
	fl.StringVar(&f.changed, "changed", "", "what to do with answers that were given under another recipe: keep or ask")
	fl.BoolVar(&f.redriveDead, "redrive-dead", false, "send those of this input's records back that were set aside before")
	concurrencyFlag(cmd, &f.concurrency)
	_ = cmd.RegisterFlagCompletionFunc("changed", cobra.FixedCompletions([]string{"keep", "ask"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "", "the inputs' format: jsonl, json, csv or tsv (default: by extension)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(texts(intake.Formats()), cobra.ShellCompDirectiveNoFileComp))
}

func concurrencyFlag(cmd *cobra.Command, n *int) {
	cmd.Flags().IntVar(n, "concurrency", 0, "how many calls run at once (default: the recipe's)")
}

// check says what is wrong with the flags.
func (f runFlags) check() error {
	if f.changed != "" && f.changed != "keep" && f.changed != "ask" {
		return usagef("--changed %q is unknown; it is keep (take the old answers) or ask (ask again, and pay again)", siding.Scrub(f.changed, 64))
	}
	if err := f.wait.check(); err != nil {
		return err
	}
	return checkConcurrency(f.concurrency)
}

func checkConcurrency(n int) error {
	const most = 10_000
	if n < 0 || n > most {
		return usagef("--concurrency is %d; it must be 1 to %d", n, most)
	}
	return nil
}

// oneRun is a run while it runs.
type oneRun struct {
	*app
	*job
	flags  runFlags
	inputs []string
	key    string
	out    *outFile // nil: standard output
	input  siding.InputID
	before siding.InputStats
}

// run is the whole command. Whatever is found wrong before the first record is enqueued changes nothing.
func (a *app) run(ctx context.Context, recipePath string, inputs []string, f runFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	key, err := inputKey(inputs)
	if err != nil {
		return err
	}
	j, err := a.openJob(ctx, recipePath, f.simulate, f.concurrency)
	if err != nil {
		return err
	}
	defer j.close()
	r := &oneRun{app: a, job: j, flags: f, inputs: inputs, key: key}
	in, err := r.openInputs()
	if err != nil {
		return err
	}
	if err := r.openOut(ctx, recipePath); err != nil {
		return err
	}
	defer a.watch(ctx, j)()
	if err := r.enqueue(ctx, in); err != nil {
		return r.early(ctx, err)
	}
	r.remember(ctx, r.job)
	if err := r.changed(ctx); err != nil {
		return r.unasked(ctx, err)
	}
	return r.finish(ctx, r.work(ctx))
}

// inputKey names an input: its files, in order. Two runs with the same key share a manifest.
func inputKey(inputs []string) (string, error) {
	parts := make([]string, len(inputs))
	for i, in := range inputs {
		if in == intake.Stdin {
			parts[i] = in
			continue
		}
		path, err := filepath.Abs(in)
		if err != nil {
			return "", fmt.Errorf("input %s: %w", in, err)
		}
		parts[i] = strconv.Quote(path)
	}
	return strings.Join(parts, " "), nil
}

// openOut checks that the results can be written, before money is spent on them.
func (r *oneRun) openOut(ctx context.Context, recipePath string) error {
	path := r.flags.out
	switch {
	case isStdout(path):
		return nil
	case path == "" && r.sim != nil:
		path = defaultSimResult
	case path == "":
		path = defaultResults
	}
	info, err := r.store.Info(ctx)
	if err != nil {
		return storeError(err)
	}
	o := &owner{Queue: r.recipe.Queue, Input: r.key, Simulated: r.sim != nil}
	r.out, err = openOut(path, o, r.flags.force, slices.Concat(storeFiles(info), r.inputs, []string{recipePath})...)
	return err
}

// work works until nothing of the input is left to do.
func (r *oneRun) work(ctx context.Context) error {
	stats, err := r.store.InputStats(ctx, r.input, r.digest)
	if err != nil {
		return err
	}
	r.before = stats
	c := r.campaignsOf(r.store, r.path, r.recipe.Queue)
	defer c.close()
	for more := stats.Pending+stats.Held > 0; ; {
		if more {
			if err := r.workOff(ctx, c, stats); err != nil {
				return err
			}
		}
		if more, err = c.left(ctx, r.input); err != nil || !more {
			return err
		}
		if stats, err = r.store.InputStats(ctx, r.input, r.digest); err != nil {
			return err
		}
	}
}

// workOff works on what is ready, and on what campaigns send back meanwhile.
func (r *oneRun) workOff(ctx context.Context, c *campaigns, stats siding.InputStats) error {
	p := newProgress(stats)
	w, err := r.worker(worker.Config{Input: r.input, Drain: true, Observe: p.observe, Wait: r.flags.wait.forHold})
	if err != nil {
		return err
	}
	count := func(ctx context.Context) (siding.InputStats, error) {
		return r.store.InputStats(ctx, r.input, r.digest)
	}
	stop := r.showProgress(ctx, p, count)
	defer stop()
	return c.during(ctx, func() error {
		return r.runWorkers(ctx, r.job, w, p, strandings{wait: r.flags.wait, count: count})
	})
}

// finish ends every run that has got to work: results, summary, and how it ended.
func (r *oneRun) finish(ctx context.Context, ended error) error {
	ended = interrupted(ctx, ended)
	ctx = context.WithoutCancel(ctx)
	errs := []error{}
	held := asHeld(ended)
	stranded, isStranded := errors.AsType[*strandedError](ended)
	switch {
	case isStranded:
		r.sayStranded(ctx, r.store, stranded, r.path)
		errs = append(errs, said(errHeld))
	case held != nil:
		r.sayHeld(held, r.path)
		errs = append(errs, said(errHeld))
	case errors.Is(ended, errInterrupted):
		r.notef("%v", errInterrupted)
		errs = append(errs, said(errInterrupted))
	default:
		errs = append(errs, ended)
	}
	errs = append(errs, r.writeResults(ctx, r.input))
	stats, err := r.store.InputStats(ctx, r.input, r.digest)
	if err != nil {
		return storeError(errors.Join(append(errs, err)...))
	}
	if held != nil || isStranded { // what is left rests because of it, but for what other programs are at
		stats.Held, stats.Pending = stats.Held+stats.Pending-stats.Leased, stats.Leased
	}
	errs = append(errs, r.summarise(r.summaryTo(), stats, r.path, r.recipe.Queue))
	if stats.Dead > 0 && !r.json && !r.quiet {
		r.tellRemedies(ctx, r.summaryTo(), stats.Causes)
	}
	if r.sim != nil {
		r.compareBill(r.sim, r.before, stats)
	}
	if stats.Dead > 0 {
		errs = append(errs, said(errSetAside))
	}
	return storeError(errors.Join(errs...))
}

// summaryTo is where the summary goes: standard output, unless the results are there and it is not one of JSON lines.
func (r *oneRun) summaryTo() io.Writer {
	if r.out == nil && !r.json {
		return r.err
	}
	return r.app.out
}

// writeResults writes the results of an input to where they go.
func (r *oneRun) writeResults(ctx context.Context, input siding.InputID) error {
	fill := func(w io.Writer) error { return writeMembers(ctx, w, r.store, input) }
	if r.out == nil {
		return buffered(r.app.out, fill)
	}
	return r.out.write(fill)
}
