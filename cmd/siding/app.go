package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// app is one run of the program: where it reads and writes, and what the flags for every command say.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      map[string]string

	storeURL string
	json     bool
	quiet    bool
	as       string // who is at it, where it is said
	actText  string // the command line, for the audit trail
	args     []string

	simMeter  string        // where a simulated Claude writes its bill; empty: nowhere
	simBefore claudesim.Row // what that file held before

	started bool // the command line has been understood; an error from here on is not one of usage by itself
}

// Main runs one command line and gives its exit code. It is the whole program but for the process: tests call it with
// readers and writers of their own. env has entries of the form NAME=value. Cancelling ctx is like a first Ctrl-C.
func Main(ctx context.Context, args []string, stdin io.Reader, output, stderr io.Writer, env []string) int {
	out := &stdout{Writer: output}
	a := &app{in: stdin, out: out, err: stderr, env: map[string]string{}}
	for _, e := range env {
		if k, v, ok := strings.Cut(e, "="); ok {
			a.env[k] = v
		}
	}
	a.args, a.actText = args, actText(args)
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = asUsage(err)
	}
	err = out.end(interrupted(ctx, err))
	a.report(err)
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "siding",
		Short: "Run jobs against services that fail and cost money; set the bad ones aside",
		Long: "Siding runs asynchronous jobs against services that fail and cost money - above all the Claude API - and keeps\n" +
			"one bad input from stopping, slowing or billing the rest.\n\n" +
			"Exit codes, the first that applies: 2 wrong usage or configuration, 1 error, 130 interrupted (nothing lost; run\n" +
			"again), 4 held, needs attention (nothing lost; run again), 3 finished and some messages are set aside (doctor: a\n" +
			"rule is broken), 0 everything done.",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.started = true
			a.acting(cmd)
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&a.storeURL, "store", "", "the store: a path, sqlite:PATH or postgres://USER@HOST/DATABASE (default $SIDING_STORE, or siding.db; "+
		"for run and work beside the recipe)")
	f.BoolVar(&a.json, "json", false, "write one JSON object per line to standard output")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "show no progress and no hints")
	f.StringVar(&a.as, "as", "", "who does it, for the audit trail (default $SIDING_OPERATOR, or the user and the machine)")
	group(root)
	root.AddCommand(
		a.runCommand(), a.sendCommand(), a.workCommand(), a.statusCommand(), a.resultsCommand(), a.showCommand(),
		a.cancelCommand(), a.dlqCommand(), a.redriveCommand(), a.campaignCommand(), a.auditCommand(), a.retentionCommand(),
		a.holdsCommand(), a.alertCommand(), a.simCommand(), a.doctorCommand(), a.benchCommand(),
		a.explainCommand(), a.versionCommand(),
	)
	return root
}

// group makes cmd one that only holds others: alone it shows its help, and an unknown name is wrong usage.
func group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("%q is no command of %q", siding.Scrub(args[0], 64), cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += fmt.Sprintf(" (did you mean %q?)", near[0])
		}
		return fmt.Errorf("%s; %q lists them", text, cmd.CommandPath()+" --help")
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// report writes an error to standard error, each that was joined on its own, unless it has been said.
func (a *app) report(err error) {
	if err == nil || isSaid(err) {
		return
	}
	if parts := joined(err); len(parts) > 0 {
		for _, e := range parts {
			a.report(e)
		}
		return
	}
	_, _ = fmt.Fprintln(a.err, "siding: "+strings.TrimSpace(siding.Scrub(err.Error(), siding.MaxErrorText)))
}

// joined gives the parts of an error whose text is that of its parts, as errors.Join makes them.
func joined(err error) []error {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var text []string
	for _, e := range list.Unwrap() {
		text = append(text, e.Error())
	}
	if strings.Join(text, "\n") != err.Error() {
		return nil
	}
	return list.Unwrap()
}

// notef writes a line for the user to standard error.
func (a *app) notef(format string, args ...any) {
	_, _ = fmt.Fprintln(a.err, siding.Scrub(fmt.Sprintf(format, args...), siding.MaxErrorText))
}

// hintf is notef for what --quiet leaves out.
func (a *app) hintf(format string, args ...any) {
	if !a.quiet {
		a.notef(format, args...)
	}
}

// isTerminal tells whether w is a terminal.
func isTerminal(w any) bool {
	if s, ok := w.(*stdout); ok {
		w = s.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour tells whether w may be sent colours: a terminal that is not dumb, and NO_COLOR is not set (no-color.org).
func (a *app) colour(w io.Writer) bool {
	return isTerminal(w) && a.env["NO_COLOR"] == "" && a.env["TERM"] != "dumb"
}

// example formats a command's example for its help: each line indented.
func example(lines ...string) string {
	var b bytes.Buffer
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + l)
	}
	return b.String()
}
