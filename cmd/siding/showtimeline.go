package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// event is something that happened to a message.
type event struct {
	at   time.Time
	text string
}

// timeline gives all that is known to have happened to a message, in the order of time: where it came from, deliveries
// and how they ended, calls, what was changed by hand or by a campaign, and when it was held and set aside.
func timeline(r *siding.Record) []event {
	var events []event
	add := func(at time.Time, format string, args ...any) {
		events = append(events, event{at, fmt.Sprintf(format, args...)})
	}
	if !r.ReceivedAt.IsZero() {
		text := "received"
		if s := r.Source; s != nil {
			text += fmt.Sprintf(" from %s, line %d", s.File, s.Line)
		}
		add(r.ReceivedAt, "%s", text)
	}
	for _, d := range r.History {
		add(d.StartedAt, "delivery %d by %s: %s", d.Number, d.Worker, deliveryText(d))
	}
	for _, c := range r.Calls {
		add(c.StartedAt, "call %d (delivery %d) to %s: %s", c.ID, c.Delivery, c.Lane, callText(c))
	}
	for _, v := range r.Revisions {
		add(v.At, "%s", revisionText(v))
	}
	heldSeen := slices.ContainsFunc(r.History, func(d siding.DeliveryRecord) bool {
		return d.Outcome == siding.OutcomeHeld && d.EndedAt.Equal(r.HeldAt)
	})
	if !r.HeldAt.IsZero() && !heldSeen {
		add(r.HeldAt, "held: the fault was not the message's")
	}
	switch {
	case !r.DeadAt.IsZero():
		add(r.DeadAt, "set aside (%s)", r.Reason)
	case r.State == siding.StateLeased:
		add(r.LeasedUntil, "the lease of %s ends, unless it is extended", r.Worker)
	}
	slices.SortStableFunc(events, func(x, y event) int { return x.at.Compare(y.at) })
	return events
}

// revisionText says what was changed, by whom, and how.
func revisionText(v siding.Revision) string {
	text := string(v.Kind)
	if v.By != "" {
		text += " by " + v.By
	}
	if v.Campaign != 0 {
		text += fmt.Sprintf(" in campaign %d", v.Campaign)
	}
	if v.Note != "" {
		text += ": " + v.Note
	}
	if v.Body != nil {
		text += "; the body before had " + counted(int64(len(v.Body)), "byte")
	}
	if v.Headers != nil {
		var before []string
		for _, name := range slices.Sorted(maps.Keys(v.Headers)) {
			before = append(before, name+"="+v.Headers[name])
		}
		text += "; the headers before were " + dash(strings.Join(before, ", "))
	}
	if v.Result != nil {
		text += "; there was an answer"
	}
	return text
}

// showTimeline writes what happened to a message, and the earlier bodies and answers.
func (a *app) showTimeline(r *siding.Record, f showFlags) {
	events := timeline(r)
	if len(events) == 0 {
		return
	}
	_, _ = fmt.Fprintln(a.out, "\nhistory")
	for _, e := range events {
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
