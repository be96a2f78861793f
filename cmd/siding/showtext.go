package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// showRecord writes all that is known of a message for a person, and in the end what is wrong with a dead letter.
func (a *app) showRecord(ctx context.Context, d *desk, r *siding.Record, path string, f showFlags) error {
	if err := a.showKnown(r, f); err != nil {
		return err
	}
	if r.State != siding.StateDead {
		return nil
	}
	findings, repairs, err := d.lookInto(ctx, r)
	if err != nil { // what is known has been shown
		a.notef("what is wrong with it could not be looked into: %v", err)
		return nil
	}
	_, _ = fmt.Fprintln(a.out, "\ndiagnosis")
	writeFindings(a.out, r.Body, findings, a.colour(a.out))
	writeRemedies(a.out, a.storeFlag(path), r.Message, findings, repairs)
	return nil
}

// showKnown writes what the store knows of a message.
func (a *app) showKnown(r *siding.Record, f showFlags) error {
	t := newTable(a.out)
	field := func(name string, value any) { t.row(name, value) }
	field("message", r.ID)
	field("queue", r.Queue)
	field("state", stateText(r))
	if s := r.Source; s != nil {
		field("from", fmt.Sprintf("%s, line %d, byte %d", s.File, s.Line, s.Offset))
	}
	field("received", when(r.ReceivedAt))
	field("attempt", fmt.Sprintf("%d (gray %d, waits %d, interruptions %d, redrives %d, deliveries %d)",
		r.Attempt, r.Gray, r.Waits, r.Interruptions, r.Redrives, r.Deliveries))
	if r.State == siding.StateDead {
		field("set aside", fmt.Sprintf("%s, %s", when(r.DeadAt), r.Reason))
	}
	if e := r.LastError; e != nil {
		field("cause", fmt.Sprintf("%s (group %s)", e.Cause, e.Fingerprint))
	}
	for _, k := range slices.Sorted(maps.Keys(r.Headers)) {
		field("header "+k, r.Headers[k])
	}
	if err := t.flush(); err != nil {
		return err
	}
	var fault *int64
	if e := r.LastError; e != nil {
		fault = e.FaultOffset
		_, _ = fmt.Fprintf(a.out, "\nlast error\n%s\n", indent(siding.Scrub(e.Text, siding.MaxErrorText)))
		if fault != nil {
			_, _ = fmt.Fprintf(a.out, "  (byte %d of the body)\n", *fault)
		}
	}
	if r.NoBody {
		_, _ = fmt.Fprintln(a.out, "\nthe body has been dropped by retention")
	} else {
		a.showBytes("body, "+counted(int64(len(r.Body)), "byte"), r.Body, fault, f)
	}
	if r.Result != nil {
		a.showBytes("result", r.Result, nil, f)
	}
	a.showTimeline(r, f)
	return nil
}

func stateText(r *siding.Record) string {
	switch r.State {
	case siding.StateReady:
		if r.WaitsFor != "" {
			return "ready, and waits for the result of queue " + oneLine(r.WaitsFor, 128)
		}
		return "ready, not before " + when(r.AvailableAt)
	case siding.StateLeased:
		return fmt.Sprintf("leased by %s until %s", r.Worker, when(r.LeasedUntil))
	case siding.StateDone:
		if r.Digest != "" {
			return "done, under recipe " + r.Digest
		}
	case siding.StateDead:
		if r.WaitsFor != "" {
			return "dead, as its copy in queue " + oneLine(r.WaitsFor, 128) + " is: sent back there, its result comes back here"
		}
	case siding.StateDiscarded:
		return "discarded: " + r.DiscardReason
	}
	return string(r.State)
}

func (a *app) showBytes(title string, b []byte, fault *int64, f showFlags) {
	_, _ = fmt.Fprintf(a.out, "\n%s\n", title)
	if f.hex {
		writeHex(a.out, b, fault, f.full)
		return
	}
	writeBody(a.out, b, fault, f.full, a.colour(a.out))
}

func deliveryText(d siding.DeliveryRecord) string {
	if d.EndedAt.IsZero() {
		return "under way"
	}
	text := fmt.Sprintf("%s after %v", d.Outcome, d.EndedAt.Sub(d.StartedAt).Round(time.Millisecond))
	if e := d.Error; e != nil {
		text += ", " + string(e.Cause)
		if e.Status != 0 {
			text += fmt.Sprintf(", status %d", e.Status)
		}
		if e.RequestID != "" {
			text += ", request " + e.RequestID
		}
		text += ": " + e.Text
	}
	return text
}

func callText(c siding.Call) string {
	parts := []string{string(c.Fate)}
	if c.Status != 0 {
		parts = append(parts, fmt.Sprintf("status %d", c.Status))
	}
	switch {
	case c.Maybe() && c.Priced:
		parts = append(parts, "maybe billed, at most "+dollars(c.WorstCost))
	case c.Maybe():
		parts = append(parts, "maybe billed")
	case c.Fate == siding.FateAnswered && c.Priced:
		parts = append(parts, dollars(c.Cost))
	case c.Fate == siding.FateAnswered:
		parts = append(parts, "price not known")
	}
	if c.Fate == siding.FateAnswered {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", c.Usage.Input, c.Usage.Output))
	}
	if c.Verdict != siding.VerdictNone {
		v := string(c.Verdict)
		if c.JudgedCause != "" {
			v += " (" + string(c.JudgedCause) + ")"
		}
		parts = append(parts, v)
	}
	if c.RequestID != "" {
		parts = append(parts, "request "+c.RequestID)
	}
	return strings.Join(parts, ", ")
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
