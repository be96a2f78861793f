package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/intake"
	"github.com/siding-dev/siding/quarantine"
)

// remediesFor is how many groups of failures the end of a run looks for repairs for: the largest.
const remediesFor = 50

// mendable is a group of dead letters of which a sample can be mended.
type mendable struct {
	siding.CauseCount
	message  siding.Message
	findings []quarantine.Finding
	repairs  []string
}

// tellRemedies names the two commands that mend what can be mended and finish it. What cannot be found out is left out:
// the work is done, and the table above says how to look further.
func (r *oneRun) tellRemedies(ctx context.Context, w io.Writer, causes []siding.CauseCount) {
	d := r.newDesk(r.store, "")
	d.facts[r.recipe.Queue] = r.recipe.Facts(r.handler)
	var found []mendable
	var left []siding.CauseCount
	for _, c := range causes[:min(len(causes), remediesFor)] {
		if m, ok := r.mendable(ctx, d, c); ok {
			found = append(found, m)
		} else {
			left = append(left, c)
		}
	}
	repairs := together(ctx, d, found)
	if len(repairs) == 0 {
		return
	}
	choose := r.storeFlag(r.path) + " --queue " + shellQuote(r.recipe.Queue) + chosen(found, left)
	_, _ = fmt.Fprintf(w, "\nto mend what can be mended, and finish it (add --dry-run to the first to see what changes)\n  siding redrive%s\n  %s\n",
		siding.Scrub(choose+repairArgs(repairs), 8192), siding.Scrub(r.againText(), 8192))
}

// mendable looks for repairs of a sample of a group.
func (r *oneRun) mendable(ctx context.Context, d *desk, c siding.CauseCount) (m mendable, ok bool) {
	sample, err := first(ctx, r.store, siding.Selection{
		Queue: r.recipe.Queue, Fingerprints: []string{c.Fingerprint}, States: []siding.State{siding.StateDead}, Input: r.input,
		Bodies: true, Limit: 1,
	})
	if err != nil || sample == nil {
		return m, false
	}
	m = mendable{CauseCount: c, message: *sample}
	if m.findings, err = d.diagnose(ctx, m.message); err != nil {
		return m, false
	}
	m.repairs, err = d.suggest(ctx, m.message, m.findings)
	return m, err == nil && len(m.repairs) > 0 && !slices.ContainsFunc(m.repairs, aGuess)
}

// aGuess tells whether a repair may be paid for in vain, or is not the records' but somebody's choice.
func aGuess(repair string) bool {
	name, _, _ := strings.Cut(repair, ":")
	return slices.Contains([]string{"request", "set", "drop", "rename", "jq", "command"}, name)
}

// together gives repairs that mend every sample when they are applied to each of them, in the order in which they are
// to be applied; none where there is no such list.
func together(ctx context.Context, d *desk, found []mendable) []string {
	var findings []quarantine.Finding
	var names []string
	for _, m := range found {
		findings = append(findings, m.findings...)
		for _, name := range m.repairs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if ordered := quarantine.Suggest(findings); len(ordered) >= len(names) {
		names = ordered
	}
	repairs, err := quarantine.ParseRepairs(names)
	if err != nil {
		return nil
	}
	for _, m := range found {
		if p, err := d.preview(ctx, m.message, repairs); err != nil || p.Verdict != quarantine.Changed {
			return nil
		}
	}
	return names
}

// chosen gives the flags that name the groups found, and none of those left: by cause where that does it.
func chosen(found []mendable, left []siding.CauseCount) string {
	var causes, fingerprints []string
	for _, m := range found {
		fingerprints = append(fingerprints, m.Fingerprint)
		if !slices.Contains(causes, string(m.Cause)) {
			causes = append(causes, string(m.Cause))
		}
	}
	for _, c := range left {
		if slices.Contains(causes, string(c.Cause)) {
			return " --fingerprint " + shellQuote(strings.Join(fingerprints, ","))
		}
	}
	return " --cause " + shellQuote(strings.Join(causes, ","))
}

// againText gives the command line of this run, as it can be given again.
func (r *oneRun) againText() string {
	if slices.Contains(r.inputs, intake.Stdin) {
		return "and the same run again"
	}
	words := []string{"siding"}
	for _, arg := range r.args {
		words = append(words, shellQuote(arg))
	}
	return strings.Join(words, " ")
}
