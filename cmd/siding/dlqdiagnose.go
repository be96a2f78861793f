package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// diagnosisLine is what was found in a dead letter, with --json.
type diagnosisLine struct {
	Type             string               `json:"type"` // diagnosis
	V                int                  `json:"v"`
	Queue            string               `json:"queue"`
	ID               string               `json:"id"`
	Reason           siding.Reason        `json:"reason"`
	Cause            siding.Cause         `json:"cause"`
	Fingerprint      string               `json:"fingerprint"`
	NoBody           bool                 `json:"no_body"`
	Findings         []quarantine.Finding `json:"findings"`
	SuggestedRepairs []string             `json:"suggested_repairs"` // all of them together mend it, in this order; empty: nothing does
}

// diagnosedInFull is how many letters are told one by one; of more there is a summary.
const diagnosedInFull = 5

func (a *app) dlqDiagnoseCommand() *cobra.Command {
	var sf selectFlags
	var recipe string
	cmd := &cobra.Command{
		Use:   "diagnose [ID...]",
		Short: "Find out what is wrong with dead letters, and what mends them",
		Long: "Diagnose looks into the body, the failure and the calls of what was set aside, with the schemas and limits of the\n" +
			"recipe, and says what is wrong, where, and by which command it is mended. For a few letters it tells all that it\n" +
			"finds, for many a summary by group. It changes nothing and makes no call.\n\n" + whereHelp,
		Example: example("siding dlq diagnose", "siding dlq diagnose img-0412", "siding dlq diagnose --cause invalid-json --json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sf.ids = append(sf.ids, args...)
			ctx := cmd.Context()
			store, path, err := a.openReading(ctx)
			if err != nil {
				return err
			}
			defer closing(store)
			sel, err := a.resolve(ctx, store, &sf)
			if err == nil {
				err = a.checkNamed(ctx, store, &sf)
			}
			if err != nil {
				return storeError(err)
			}
			sel.Bodies = true
			d := &diagnosis{desk: a.newDesk(store, recipe), path: path, groups: map[siding.GroupKey]*groupFindings{}}
			return storeError(d.run(ctx, sel))
		},
	}
	sf.register(cmd)
	recipeFlag(cmd, &recipe)
	return cmd
}

// diagnosis looks into a selection: what it finds is told one by one while they are few, and else by group.
type diagnosis struct {
	*desk
	path   string
	n      int64
	full   strings.Builder // the first few in full
	order  []*groupFindings
	groups map[siding.GroupKey]*groupFindings
}

func (d *diagnosis) run(ctx context.Context, sel *selection) error {
	var unread int64
	for l, err := range sel.walk(ctx, d.store) {
		switch {
		case err != nil && (isEndless(err) || ctx.Err() != nil):
			return endOfWalk(ctx, err)
		case err != nil:
			unread++
			d.notef("a message that cannot be read was left out: %v", err)
			continue
		}
		if err := d.each(ctx, l); err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return err
		}
	}
	d.reportFailed(sel)
	if !d.json {
		if err := d.tell(); err != nil {
			return err
		}
	}
	switch {
	case unread > 0:
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", counted(unread, "message"))
	case d.n == 0:
		d.hintf("nothing matches")
	}
	return nil
}

func (d *diagnosis) each(ctx context.Context, l siding.Listed) error {
	var usage *usageError
	findings, err := d.diagnose(ctx, l.Message)
	if err != nil {
		if errors.As(err, &usage) || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("message %q in queue %q: %w", l.ID, l.Queue, err)
	}
	repairs, err := d.suggest(ctx, l.Message, findings)
	if err != nil {
		return err
	}
	if d.n++; d.json {
		return writeJSON(d.out, newDiagnosisLine(l, findings, repairs))
	}
	if d.n <= diagnosedInFull {
		if d.n > 1 {
			d.full.WriteByte('\n')
		}
		writeDiagnosis(&d.full, l.Message, findings, d.colour(d.out))
		writeRemedies(&d.full, d.storeFlag(d.path), l.Message, findings, repairs)
	}
	d.count(l, findings, repairs)
	return nil
}

func newDiagnosisLine(l siding.Listed, findings []quarantine.Finding, repairs []string) diagnosisLine {
	line := diagnosisLine{
		Type: "diagnosis", V: 1, Queue: l.Queue, ID: l.ID, Reason: l.Reason, NoBody: l.NoBody,
		Findings: append([]quarantine.Finding{}, findings...), SuggestedRepairs: append([]string{}, repairs...),
	}
	if e := l.LastError; e != nil {
		line.Cause, line.Fingerprint = e.Cause, e.Fingerprint
	}
	return line
}

func (d *diagnosis) tell() error {
	if d.n <= diagnosedInFull {
		_, err := io.WriteString(d.out, d.full.String())
		return err
	}
	return d.summary()
}

// writeDiagnosis tells what was found in a message: faults first, each with its place.
func writeDiagnosis(w io.Writer, m siding.Message, findings []quarantine.Finding, colour bool) {
	_, _ = fmt.Fprintf(w, "%s in queue %s", oneLine(m.ID, 200), oneLine(m.Queue, 100))
	if e := m.LastError; e != nil {
		_, _ = fmt.Fprintf(w, ": %s (%s, group %s)\n  %s", e.Cause, m.Reason, e.Fingerprint, oneLine(e.Text, 400))
	}
	_, _ = fmt.Fprintln(w)
	writeFindings(w, m.Body, findings, colour)
}

func writeFindings(w io.Writer, body []byte, findings []quarantine.Finding, colour bool) {
	if len(findings) == 0 {
		_, _ = fmt.Fprintln(w, "  nothing more was found")
	}
	for _, fault := range []bool{true, false} {
		for _, f := range findings {
			if f.Fault != fault {
				continue
			}
			sign := "*"
			if !fault {
				sign = "·"
			}
			_, _ = fmt.Fprintf(w, "  %s %s%s: %s\n", sign, f.Code, findingPlace(f), oneLine(f.Text, 600))
			if f.Offset != nil && fault {
				if text := excerpt(body, *f.Offset, colour); text != "" {
					_, _ = fmt.Fprintf(w, "      %s\n", text)
				}
			}
		}
	}
}

// findingPlace says where a fault is: the field, line and column, and the byte.
func findingPlace(f quarantine.Finding) string {
	var parts []string
	if f.Pointer != nil && *f.Pointer != "" {
		parts = append(parts, "in "+oneLine(*f.Pointer, 200))
	}
	if f.Line > 0 {
		parts = append(parts, fmt.Sprintf("at %d:%d", f.Line, f.Column))
	}
	if f.Offset != nil {
		parts = append(parts, fmt.Sprintf("byte %d", *f.Offset))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, ", ")
}

// writeRemedies gives ready-made commands for what mends a message.
func writeRemedies(w io.Writer, storeFlag string, m siding.Message, findings []quarantine.Finding, repairs []string) {
	command := func(names ...string) string {
		return "siding redrive" + storeFlag + " --queue " + shellQuote(m.Queue) + " --id " + shellQuote(m.ID) + repairArgs(names)
	}
	if m.NoBody {
		_, _ = fmt.Fprintln(w, "  its body has been dropped by retention; enqueue the same record again")
		return
	}
	if len(repairs) > 0 {
		label := "mend it:  "
		if slices.ContainsFunc(repairs, aGuess) {
			label = "may mend: "
		}
		_, _ = fmt.Fprintf(w, "  %s %s\n", label, siding.Scrub(command(repairs...), 4096))
	}
	seen := map[string]bool{}
	for _, r := range repairs {
		seen[r] = true
	}
	label := "or choose:"
	if len(repairs) == 0 {
		label = "perhaps:  "
	}
	for _, f := range findings {
		for _, r := range f.Repairs {
			if seen[r] || len(seen) > len(repairs)+4 {
				continue
			}
			seen[r] = true
			_, _ = fmt.Fprintf(w, "  %s %s\n", label, siding.Scrub(command(r), 4096))
		}
	}
	if len(seen) == 0 {
		_, _ = fmt.Fprintf(w, "  no repair is known; \"siding explain %s\" says what to do\n", explained(m))
	}
}

func explained(m siding.Message) string {
	if m.LastError == nil {
		return string(m.Reason)
	}
	return oneLine(string(m.LastError.Cause), 64)
}

// repairArgs gives repairs as words of a command line.
func repairArgs(names []string) string {
	var b strings.Builder
	for _, r := range names {
		b.WriteString(" --repair " + shellQuote(r))
	}
	return b.String()
}
