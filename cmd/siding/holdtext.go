package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// sayHeld says of each hold that ended a run what is at fault, since when and until when, and what to do.
func (a *app) sayHeld(held *worker.HeldError, path string) {
	for _, g := range held.Holds {
		for _, line := range a.heldLines(g, path) {
			a.notef("%s", line)
		}
	}
	a.notef("Nothing was set aside or charged for it. When it is mended, the same command goes on.")
}

// heldLines tells of one hold.
func (a *app) heldLines(g siding.Gate, path string) []string {
	h := g.Hold
	what := string(h.Cause)
	if what == "" {
		what = string(h.Kind)
	}
	head := fmt.Sprintf("held: %s is at fault, not the messages (%s): %s", scopeText(g.Key), oneLine(what, 64), heldReason(h))
	if h.Kind == siding.HoldManual {
		head = fmt.Sprintf("held: %s is held by hand: %s", scopeText(g.Key), heldReason(h))
		if h.By != "" {
			head += " (" + oneLine(h.By, 64) + ")"
		}
	}
	lines := []string{head}
	if !h.Since.IsZero() { // a gate that is not in the store has no beginning
		times := "  since " + h.Since.UTC().Format(time.RFC3339)
		if !h.Until.IsZero() {
			times += "; the service says that it ends at " + h.Until.UTC().Format(time.RFC3339)
		}
		lines = append(lines, times)
	}
	resume := "siding holds resume" + a.storeFlag(path) + " " + shellQuote(g.Key.String())
	switch {
	case g.Key.Name == "":
	case h.Kind == siding.HoldManual:
		lines = append(lines, "  what ends it: "+resume)
	case h.Kind == siding.HoldSystemic:
		lines = append(lines, "  if it is the messages' own fault after all, this sets them aside: "+resume+" --as-poison")
	case !h.Until.IsZero():
		lines = append(lines, "  to try before that: "+resume)
	}
	if do := whatToDo(g); do != "" {
		lines = append(lines, "  "+do)
	}
	return lines
}

func heldReason(h *siding.Hold) string {
	return strings.TrimRight(oneLine(h.Text, 1024), ". ") + "."
}

// scopeText names what is held.
func scopeText(k siding.GateKey) string {
	at := "the work"
	switch k.Scope {
	case siding.ScopeAccount, siding.ScopeLane, siding.ScopeRecipe:
		at = "the " + string(k.Scope)
	}
	if k.Name != "" {
		at += " " + oneLine(k.Name, 256)
	}
	return at
}

// whatToDo says how a fault is mended.
func whatToDo(g siding.Gate) string {
	switch g.Hold.Kind {
	case siding.HoldManual:
		return ""
	case siding.HoldOutage:
		return "The work waited as long as --wait says; nothing is to be mended here."
	case siding.HoldSystemic:
		return "Look at the recipe, and at one of the messages with \"siding show\"."
	case siding.HoldBudget:
		return "Raise budget.usd in the recipe, or leave it at that."
	}
	switch claude := strings.HasPrefix(g.Key.Name, "claude/"); {
	case g.Hold.Cause == siding.CauseCredentials && claude:
		return "Set a valid ANTHROPIC_API_KEY."
	case g.Hold.Cause == siding.CauseCredentials:
		return "Mend the credential that the recipe sends, or the rights that the program needs."
	case g.Hold.Cause == siding.CauseAccount:
		return "Mend the account: its credit, its spend limit, its organisation."
	case g.Hold.Cause == siding.CauseModelNotFound:
		return "Correct the model in the recipe, or use an account that may use it."
	}
	return "Mend what the text says."
}

// shortHolds names holds for the progress line.
func shortHolds(gates []siding.Gate) string {
	parts := make([]string, len(gates))
	for i, g := range gates {
		what := string(g.Hold.Cause)
		if what == "" || g.Hold.Kind != siding.HoldFault {
			what = string(g.Hold.Kind)
		}
		parts[i] = fmt.Sprintf("%s (%s)", oneLine(string(g.Key.Scope), 64), oneLine(what, 64))
		if !g.Hold.Until.IsZero() {
			parts[i] += " until " + g.Hold.Until.UTC().Format(time.RFC3339)
		}
	}
	return strings.Join(parts, ", ")
}
