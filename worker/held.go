package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// HeldError ends a run because of a fault that is not the messages': the account, the model, the configuration. Nothing
// is lost and nothing was charged; run again when the fault is mended.
type HeldError struct {
	// Holds are the gates in the way that are held, in the order account, lane, recipe: at least one. For a fault of a
	// scope that the worker does not watch, the name is empty, or the lane's.
	Holds []siding.Gate
	// Failure is the first of them as a failure: its Scope, Cause and Lane, and Until where the service named an end.
	Failure *siding.Failure
}

// Error tells of each hold the scope, the cause, the text, and until when where that is known.
func (e *HeldError) Error() string {
	texts := make([]string, len(e.Holds))
	for i, g := range e.Holds {
		where := g.Key.String()
		if g.Key.Name == "" {
			where = string(g.Key.Scope)
		}
		until := ""
		if !g.Hold.Until.IsZero() {
			until = " until " + g.Hold.Until.UTC().Format(time.RFC3339)
		}
		what := string(g.Hold.Cause)
		if what == "" {
			what = string(g.Hold.Kind)
		}
		texts[i] = fmt.Sprintf("%s held%s (%s): %s", siding.Scrub(where, 256), until, siding.Scrub(what, 64),
			siding.Scrub(g.Hold.Text, siding.MaxErrorText))
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives the failure.
func (e *HeldError) Unwrap() error { return e.Failure }

// failureOfHold gives a hold as the failure that it was made of.
func failureOfHold(g siding.Gate) *siding.Failure {
	f := &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: g.Hold.Cause, Scope: g.Key.Scope, Until: g.Hold.Until, Err: errors.New(g.Hold.Text),
	}
	if f.Scope == siding.ScopeLane {
		f.Lane = g.Key.Name
	}
	return f
}

// gateOf gives the gate that a failure of a scope which is not watched would have held.
func gateOf(f *siding.Failure) siding.Gate {
	key := siding.GateKey{Scope: f.Scope, Name: f.Lane}
	if f.Scope == "" {
		key.Scope = siding.ScopeLane
	}
	return siding.Gate{Key: key, Hold: &siding.Hold{
		Kind: siding.HoldFault, Cause: f.Cause, Text: siding.Scrub(f.Error(), siding.MaxErrorText), Until: f.Until,
	}}
}
