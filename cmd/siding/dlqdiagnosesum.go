package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// groupFindings is what was found in the letters of one group.
type groupFindings struct {
	key     siding.GroupKey
	cause   siding.Cause
	n       int64
	codes   map[string]int64 // letters with such a fault
	sample  map[string]string
	repairs map[string]int64 // letters that these repairs mend, as words of a command line
	guesses map[string]bool  // those of repairs that may be in vain
}

// maxGroupCodes bounds what is kept of a group.
const maxGroupCodes = 50

// count takes what was found in a letter into the sums of its group.
func (d *diagnosis) count(l siding.Listed, findings []quarantine.Finding, repairs []string) {
	key := siding.GroupKey{Queue: l.Queue}
	var cause siding.Cause
	if e := l.LastError; e != nil {
		key.Fingerprint, cause = e.Fingerprint, e.Cause
	}
	g := d.groups[key]
	if g == nil {
		g = &groupFindings{key: key, cause: cause, codes: map[string]int64{}, sample: map[string]string{},
			repairs: map[string]int64{}, guesses: map[string]bool{}}
		d.groups[key] = g
		d.order = append(d.order, g)
	}
	g.n++
	seen := map[string]bool{}
	for _, f := range findings {
		if !f.Fault || seen[f.Code] || len(g.codes) >= maxGroupCodes && g.codes[f.Code] == 0 {
			continue
		}
		seen[f.Code] = true
		if g.codes[f.Code]++; g.codes[f.Code] == 1 {
			g.sample[f.Code] = fmt.Sprintf("%s%s: %s", oneLine(l.ID, 80), findingPlace(f), oneLine(f.Text, 200))
		}
	}
	if args := repairArgs(repairs); args != "" && (len(g.repairs) < maxGroupCodes || g.repairs[args] > 0) {
		g.repairs[args]++
		g.guesses[args] = slices.ContainsFunc(repairs, aGuess)
	}
}

// summary tells what was found by group, those with the most letters first, and by which commands they are mended.
func (d *diagnosis) summary() error {
	slices.SortStableFunc(d.order, func(x, y *groupFindings) int { return cmp.Compare(y.n, x.n) })
	var mended, perhaps int64
	for i, g := range d.order {
		if i > 0 {
			_, _ = fmt.Fprintln(d.out)
		}
		_, _ = fmt.Fprintf(d.out, "%d  %s in queue %s (group %s)\n", g.n, oneLine(string(g.cause), 64), oneLine(g.key.Queue, 100), g.key.Fingerprint)
		for _, code := range byCount(g.codes) {
			_, _ = fmt.Fprintf(d.out, "  * %s in %d, for instance %s\n", code, g.codes[code], g.sample[code])
		}
		choose := d.storeFlag(d.path) + " --queue " + shellQuote(g.key.Queue) + " --fingerprint " + shellQuote(g.key.Fingerprint)
		for _, args := range byCount(g.repairs) {
			label := "mends"
			if g.guesses[args] {
				label = "may mend"
				perhaps += g.repairs[args]
			} else {
				mended += g.repairs[args]
			}
			_, _ = fmt.Fprintf(d.out, "  %s %d: siding redrive%s\n", label, g.repairs[args], siding.Scrub(choose+args, 4096))
		}
		if len(g.repairs) == 0 {
			_, _ = fmt.Fprintf(d.out, "  no repair is known; \"siding explain %s\" says what to do\n", oneLine(string(g.cause), 64))
		}
	}
	text := fmt.Sprintf("repairs mend %d", mended)
	if perhaps > 0 {
		text += fmt.Sprintf(", and may mend %d more", perhaps)
	}
	_, err := fmt.Fprintf(d.out, "\n%s in %s; %s\n", counted(d.n, "dead letter"), counted(int64(len(d.order)), "group"), text)
	if err == nil {
		d.hintf("add --dry-run to a command to see first what it would change")
	}
	return err
}

// byCount gives the keys of m, those with the highest count first.
func byCount(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		return cmp.Or(cmp.Compare(m[y], m[x]), strings.Compare(x, y))
	})
}
