package main

import (
	"encoding/json"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// The objects of --json and of the results file. Their fields and the order of them are fixed; scripts stand on it, so
// they are changed only by adding.

// resultLine is the answer to one record, a line of the results file.
type resultLine struct {
	Type         string          `json:"type"` // result
	V            int             `json:"v"`
	ID           string          `json:"id"`
	Result       json.RawMessage `json:"result"`                  // null when there is none, or when it is no JSON
	ResultBase64 string          `json:"result_base64,omitempty"` // a result that is no JSON
	Calls        int64           `json:"calls"`
	Usage        siding.Usage    `json:"usage"`
	CostUSD      *usd            `json:"cost_usd"` // null when the price of one of its calls is not known
	Recipe       string          `json:"recipe"`   // the digest under which it was answered
}

func newResultLine(m siding.Member) resultLine {
	l := resultLine{
		Type: "result", V: 1, ID: m.Message.ID, Calls: m.Calls, Usage: m.Usage, Recipe: m.Message.Digest,
	}
	l.Result, l.ResultBase64 = rawJSON(m.Result)
	if m.UnpricedCalls == 0 {
		c := usd(m.Cost)
		l.CostUSD = &c
	}
	return l
}

// summaryLine is the last line of a run: what became of this input, now or by an earlier run.
type summaryLine struct {
	Type          string      `json:"type"` // summary
	V             int         `json:"v"`
	Enqueued      int64       `json:"enqueued"` // = done + dead + held + pending + discarded
	Done          int64       `json:"done"`
	Dead          int64       `json:"dead"`
	Held          int64       `json:"held"`
	Pending       int64       `json:"pending"`
	Discarded     int64       `json:"discarded"`
	Calls         int64       `json:"calls"`
	UnknownCalls  int64       `json:"unknown_calls"`
	CostUSD       usd         `json:"cost_usd"`
	UnknownMaxUSD usd         `json:"unknown_max_usd"`
	UnpricedCalls int64       `json:"unpriced_calls"`
	Causes        []causeLine `json:"causes"`
	ReviewPrompt  bool        `json:"review_prompt"` // above 1 % schema mismatches
}

type causeLine struct {
	Cause       siding.Cause `json:"cause"`
	Fingerprint string       `json:"fingerprint"`
	Count       int64        `json:"count"`
}

func newSummaryLine(s siding.InputStats) summaryLine {
	l := summaryLine{
		Type: "summary", V: 1, Enqueued: s.Enqueued, Done: s.Done, Dead: s.Dead, Held: s.Held, Pending: s.Pending,
		Discarded: s.Discarded, Calls: s.Calls, UnknownCalls: s.UnknownCalls, CostUSD: usd(s.Cost),
		UnknownMaxUSD: usd(s.UnknownMax), UnpricedCalls: s.UnpricedCalls, Causes: causeLines(s.Causes),
	}
	l.ReviewPrompt = reviewPrompt(s)
	return l
}

func causeLines(causes []siding.CauseCount) []causeLine {
	lines := make([]causeLine, 0, len(causes))
	for _, c := range causes {
		lines = append(lines, causeLine{c.Cause, c.Fingerprint, c.Count})
	}
	return lines
}

// reviewPrompt tells whether the prompt is worth a look; see [siding.ReviewPrompt].
func reviewPrompt(s siding.InputStats) bool {
	_, review := siding.ReviewPrompt(s.Causes, s.Done+s.Dead)
	return review
}

// holdLine is an account, lane or recipe that is held or rests.
type holdLine struct {
	Type           string          `json:"type"` // hold
	V              int             `json:"v"`
	Scope          siding.Scope    `json:"scope"` // account, lane or recipe
	Name           string          `json:"name"`
	Kind           siding.HoldKind `json:"kind"` // empty for a lane that only rests
	Cause          siding.Cause    `json:"cause"`
	Text           string          `json:"text"`
	By             string          `json:"by"` // who made it by hand
	Since          stamp           `json:"since"`
	Until          stamp           `json:"until"`      // as the service says
	NextProbe      stamp           `json:"next_probe"` // null when nothing is tried before the next start
	Probes         int             `json:"probes"`     // that came back with the fault
	ThrottledUntil stamp           `json:"throttled_until"`
}

func newHoldLine(g siding.Gate) holdLine {
	l := holdLine{Type: "hold", V: 1, Scope: g.Key.Scope, Name: g.Key.Name, ThrottledUntil: stamp(g.Throttle.Until)}
	if h := g.Hold; h != nil {
		l.Kind, l.Cause, l.Text, l.By, l.Probes = h.Kind, h.Cause, h.Text, h.By, h.Probes
		l.Since, l.Until, l.NextProbe = stamp(h.Since), stamp(h.Until), stamp(h.NextProbe)
	}
	return l
}

// deadLetterLine is a message that is set aside, in lists.
type deadLetterLine struct {
	Type             string        `json:"type"` // dead_letter
	V                int           `json:"v"`
	Queue            string        `json:"queue"`
	ID               string        `json:"id"`
	Reason           siding.Reason `json:"reason"`
	Cause            siding.Cause  `json:"cause"`
	Fingerprint      string        `json:"fingerprint"`
	Attempt          int           `json:"attempt"`
	Waits            int           `json:"waits"`
	Interruptions    int           `json:"interruptions"`
	Redrives         int           `json:"redrives"`
	FirstReceivedAt  stamp         `json:"first_received_at"`
	DeadAt           stamp         `json:"dead_at"`
	LastError        string        `json:"last_error"`
	File             *string       `json:"file"`              // null for what no input brought
	Line             *int64        `json:"line"`              // from 1
	Offset           *int64        `json:"offset"`            // byte offset of the record in its file, from 0
	FaultOffset      *int64        `json:"fault_offset"`      // byte offset of the fault in the body; null when not known
	SuggestedRepairs []string      `json:"suggested_repairs"` // names of those that may help, by the cause; dlq diagnose knows better
	NoBody           bool          `json:"no_body"`           // retention has dropped the body
}

func newDeadLetterLine(l siding.Listed) deadLetterLine {
	d := deadLetterLine{
		Type: "dead_letter", V: 1, Queue: l.Queue, ID: l.ID, Reason: l.Reason, Attempt: l.Attempt, Waits: l.Waits,
		Interruptions: l.Interruptions, Redrives: l.Redrives, FirstReceivedAt: stamp(l.ReceivedAt),
		DeadAt: stamp(l.DeadAt), SuggestedRepairs: []string{}, NoBody: l.NoBody,
	}
	if e := l.LastError; e != nil {
		d.Cause, d.Fingerprint, d.LastError, d.FaultOffset = e.Cause, e.Fingerprint, e.Text, e.FaultOffset
		d.SuggestedRepairs = append(d.SuggestedRepairs, quarantine.SuggestFor(e.Cause)...)
	}
	if s := l.Source; s != nil {
		d.File, d.Line, d.Offset = &s.File, &s.Line, &s.Offset
	}
	return d
}
