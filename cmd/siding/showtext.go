package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// showRecord writes all that is known of a message for a person.
func (a *app) showRecord(r *siding.Record, f showFlags) error {
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
	a.showBytes("body, "+counted(int64(len(r.Body)), "byte"), r.Body, fault, f)
	if r.Result != nil {
		a.showBytes("result", r.Result, nil, f)
	}
	a.showTimeline(r, f)
	return nil
}

func stateText(r *siding.Record) string {
	switch r.State {
	case siding.StateReady:
		return "ready, not before " + when(r.AvailableAt)
	case siding.StateLeased:
		return fmt.Sprintf("leased by %s until %s", r.Worker, when(r.LeasedUntil))
	case siding.StateDone:
		if r.Digest != "" {
			return "done, under recipe " + r.Digest
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

// showTimeline writes deliveries, calls and revisions in the order of time.
func (a *app) showTimeline(r *siding.Record, f showFlags) {
	type entry struct {
		at   time.Time
		text string
	}
	var entries []entry
	add := func(at time.Time, format string, args ...any) {
		entries = append(entries, entry{at, fmt.Sprintf(format, args...)})
	}
	for _, d := range r.History {
		add(d.StartedAt, "delivery %d by %s: %s", d.Number, d.Worker, deliveryText(d))
	}
	for _, c := range r.Calls {
		add(c.StartedAt, "call %d (delivery %d) to %s: %s", c.ID, c.Delivery, c.Lane, callText(c))
	}
	for _, v := range r.Revisions {
		text := string(v.Kind)
		if v.Note != "" {
			text += ": " + v.Note
		}
		if v.Body != nil {
			text += "; the body before had " + counted(int64(len(v.Body)), "byte")
		}
		if v.Result != nil {
			text += "; there was an answer"
		}
		add(v.At, "%s", text)
	}
	if len(entries) == 0 {
		return
	}
	slices.SortStableFunc(entries, func(x, y entry) int { return x.at.Compare(y.at) })
	_, _ = fmt.Fprintln(a.out, "\nhistory")
	for _, e := range entries {
		_, _ = fmt.Fprintf(a.out, "  %s  %s\n", when(e.at), oneLine(e.text, 1024))
	}
	if r.Forgotten > 0 {
		_, _ = fmt.Fprintf(a.out, "  (%s between the first and the last were forgotten)\n", plural(r.Forgotten, "delivery", "deliveries"))
	}
	for _, v := range r.Revisions {
		if v.Body != nil {
			a.showBytes("body before "+when(v.At), v.Body, nil, f)
		}
		if v.Result != nil {
			a.showBytes("answer before "+when(v.At), v.Result, nil, f)
		}
	}
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
