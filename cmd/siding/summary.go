package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// causesShown is how many groups of failures a summary shows.
const causesShown = 10

// summarise writes what became of an input: the object of --json, or a few lines for a person.
func (a *app) summarise(w io.Writer, s siding.InputStats, path, queue string) error {
	if a.json {
		return writeJSON(a.out, newSummaryLine(s))
	}
	var parts []string
	for _, c := range []struct {
		n    int64
		text string
	}{{s.Done, "done"}, {s.Dead, "set aside"}, {s.Held, "held"}, {s.Pending, "left to do"}, {s.Discarded, "discarded"}} {
		if c.n > 0 || c.text == "done" {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.text))
		}
	}
	_, err := fmt.Fprintf(w, "%s: %s\n%s\n", counted(s.Enqueued, "message"), strings.Join(parts, ", "), moneyText(s))
	if err != nil {
		return err
	}
	if s.Dead > 0 {
		_, _ = fmt.Fprintln(w, "\nset aside")
		a.causeTable(w, s.Causes, path, queue, !a.quiet)
		if !a.quiet {
			_, _ = fmt.Fprintln(w, "  What is sent back is worked by the next run.")
		}
	}
	if reviewPrompt(s) {
		_, _ = fmt.Fprintln(w, "\nMore than 1 % of the answers do not fit the output schema: look at the prompt, and at some of the answers.")
	}
	return nil
}

func moneyText(s siding.InputStats) string {
	text := fmt.Sprintf("%s, %s", counted(s.Calls, "call"), dollars(s.Cost))
	if s.UnknownCalls > 0 {
		text += fmt.Sprintf("; %s may have been billed without an answer, at most %s together",
			counted(s.UnknownCalls, "call"), dollars(s.UnknownMax))
	}
	if s.UnpricedCalls > 0 {
		text += fmt.Sprintf("; %s without a known price", counted(s.UnpricedCalls, "call"))
	}
	return text
}

// causeTable shows groups of dead letters, and with commands those that list them and send them back, exactly.
func (a *app) causeTable(w io.Writer, causes []siding.CauseCount, path, queue string, commands bool) {
	groups := map[siding.Cause]int{}
	for _, c := range causes {
		groups[c.Cause]++
	}
	for i, c := range causes {
		if i == causesShown {
			_, _ = fmt.Fprintf(w, "  … and %d more groups: siding dlq groups%s --queue %s\n", len(causes)-i, a.storeFlag(path), shellQuote(queue))
			break
		}
		choose := " --cause " + shellQuote(string(c.Cause))
		if groups[c.Cause] > 1 {
			choose = " --fingerprint " + shellQuote(c.Fingerprint)
		}
		choose = a.storeFlag(path) + " --queue " + shellQuote(queue) + choose
		_, _ = fmt.Fprintf(w, "  %d  %s: %s\n", c.Count, oneLine(string(c.Cause), 64), oneLine(c.Sample, 160))
		if commands {
			_, _ = fmt.Fprintf(w, "     look at it:   siding dlq diagnose%s\n     send it back: siding redrive%s\n", siding.Scrub(choose, 4096), siding.Scrub(choose, 4096))
		}
	}
}

// asHeld gives the hold in an error, if there is one.
func asHeld(err error) *worker.HeldError {
	held, _ := errors.AsType[*worker.HeldError](err)
	return held
}
