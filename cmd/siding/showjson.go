package main

import (
	"encoding/json"

	"github.com/siding-dev/siding"
)

// messageLine is all that is known of a message, with --json.
type messageLine struct {
	Type            string            `json:"type"` // message
	V               int               `json:"v"`
	Queue           string            `json:"queue"`
	ID              string            `json:"id"`
	State           siding.State      `json:"state"`
	Attempt         int               `json:"attempt"`
	Gray            int               `json:"gray"`
	Waits           int               `json:"waits"`
	Interruptions   int               `json:"interruptions"`
	Redrives        int               `json:"redrives"`
	Deliveries      int               `json:"deliveries"`
	WaitsFor        string            `json:"waits_for,omitempty"` // the queue whose result it waits for, or whose copy of it is dead
	Returned        int               `json:"returned,omitempty"`  // how many such results have come into its body
	FirstReceivedAt stamp             `json:"first_received_at"`
	AvailableAt     stamp             `json:"available_at"`
	ExpiresAt       stamp             `json:"expires_at"`
	DeadAt          stamp             `json:"dead_at"`
	Reason          siding.Reason     `json:"reason,omitempty"`
	LastError       *errorLine        `json:"last_error"`
	DiscardReason   string            `json:"discard_reason,omitempty"`
	Worker          string            `json:"worker,omitempty"`       // while it is leased
	LeasedUntil     *stamp            `json:"leased_until,omitempty"` // while it is leased
	File            *string           `json:"file"`
	Line            *int64            `json:"line"`
	Offset          *int64            `json:"offset"`
	ContentType     string            `json:"content_type"`
	Priority        int16             `json:"priority"`
	Headers         map[string]string `json:"headers,omitempty"`
	Body            *string           `json:"body"`                  // null when it is not UTF-8, or dropped
	BodyBase64      string            `json:"body_base64,omitempty"` // a body that is not UTF-8
	Result          json.RawMessage   `json:"result"`
	ResultBase64    string            `json:"result_base64,omitempty"`
	Recipe          string            `json:"recipe,omitempty"`
	History         []deliveryLine    `json:"history"`
	Forgotten       int               `json:"forgotten"` // deliveries between the first and the last that are not kept
	Calls           []callLine        `json:"calls"`
	Revisions       []revisionLine    `json:"revisions"`
	NoBody          bool              `json:"no_body"` // retention has dropped the body
}

type errorLine struct {
	Outcome     siding.Outcome `json:"outcome"`
	Cause       siding.Cause   `json:"cause"`
	Fingerprint string         `json:"fingerprint"`
	Text        string         `json:"text"`
	Status      int            `json:"status,omitempty"`
	RequestID   string         `json:"request_id,omitempty"`
	FaultOffset *int64         `json:"fault_offset"`
}

type deliveryLine struct {
	Number    int            `json:"number"`
	StartedAt stamp          `json:"started_at"`
	EndedAt   stamp          `json:"ended_at"`
	Worker    string         `json:"worker"`
	Outcome   siding.Outcome `json:"outcome"`
	Recipe    string         `json:"recipe,omitempty"`
	Error     *errorLine     `json:"error"`
}

type callLine struct {
	ID          siding.CallID  `json:"id"`
	Delivery    int            `json:"delivery"`
	Lane        string         `json:"lane"`
	StartedAt   stamp          `json:"started_at"`
	EndedAt     stamp          `json:"ended_at"`
	Fate        siding.Fate    `json:"fate"`
	Status      int            `json:"status,omitempty"`
	RequestID   string         `json:"request_id,omitempty"`
	Usage       siding.Usage   `json:"usage"`
	CostUSD     *usd           `json:"cost_usd"`           // null when the price is not known
	MaxUSD      *usd           `json:"max_usd,omitempty"`  // what a call of unknown fate cost at most
	Verdict     siding.Verdict `json:"verdict,omitempty"`  // accepted or rejected
	JudgedCause siding.Cause   `json:"rejected,omitempty"` // why it was rejected
	Recipe      string         `json:"recipe,omitempty"`
	Error       *errorLine     `json:"error"`
}

type revisionLine struct {
	At           stamp               `json:"at"`
	Kind         siding.RevisionKind `json:"kind"`
	Note         string              `json:"note,omitempty"`
	By           string              `json:"by,omitempty"`       // who did it by hand
	Campaign     siding.CampaignID   `json:"campaign,omitempty"` // that did it
	Headers      map[string]string   `json:"headers,omitempty"`  // the earlier headers, where they were replaced
	Body         *string             `json:"body"`               // the earlier body; null where it was not replaced or is not UTF-8
	BodyBase64   string              `json:"body_base64,omitempty"`
	Result       json.RawMessage     `json:"result"` // the earlier answer
	ResultBase64 string              `json:"result_base64,omitempty"`
	Recipe       string              `json:"recipe,omitempty"`
}

func newMessageLine(r *siding.Record) messageLine {
	l := messageLine{
		Type: "message", V: 1, Queue: r.Queue, ID: r.ID, State: r.State, Attempt: r.Attempt, Gray: r.Gray, Waits: r.Waits,
		Interruptions: r.Interruptions, Redrives: r.Redrives, Deliveries: r.Deliveries, WaitsFor: r.WaitsFor, Returned: r.Returned,
		FirstReceivedAt: stamp(r.ReceivedAt), AvailableAt: stamp(r.AvailableAt), ExpiresAt: stamp(r.ExpiresAt),
		DeadAt: stamp(r.DeadAt), Reason: r.Reason, LastError: newErrorLine(r.LastError), DiscardReason: r.DiscardReason,
		Worker: r.Worker, ContentType: r.ContentType, Priority: r.Priority, Headers: r.Headers, Recipe: r.Digest,
		Forgotten: r.Forgotten, History: []deliveryLine{}, Calls: []callLine{}, Revisions: []revisionLine{},
	}
	if l.NoBody = r.NoBody; !l.NoBody {
		l.Body, l.BodyBase64 = textOrBase64(r.Body)
	}
	l.Result, l.ResultBase64 = rawJSON(r.Result)
	if !r.LeasedUntil.IsZero() {
		until := stamp(r.LeasedUntil)
		l.LeasedUntil = &until
	}
	if s := r.Source; s != nil {
		l.File, l.Line, l.Offset = &s.File, &s.Line, &s.Offset
	}
	for _, d := range r.History {
		l.History = append(l.History, deliveryLine{
			Number: d.Number, StartedAt: stamp(d.StartedAt), EndedAt: stamp(d.EndedAt), Worker: d.Worker,
			Outcome: d.Outcome, Recipe: d.Digest, Error: newErrorLine(d.Error),
		})
	}
	for _, c := range r.Calls {
		l.Calls = append(l.Calls, newCallLine(c))
	}
	for _, v := range r.Revisions {
		line := revisionLine{
			At: stamp(v.At), Kind: v.Kind, Note: v.Note, By: v.By, Campaign: v.Campaign, Headers: v.Headers, Recipe: v.Digest,
		}
		if v.Body != nil {
			line.Body, line.BodyBase64 = textOrBase64(v.Body)
		}
		line.Result, line.ResultBase64 = rawJSON(v.Result)
		l.Revisions = append(l.Revisions, line)
	}
	return l
}

func newCallLine(c siding.Call) callLine {
	l := callLine{
		ID: c.ID, Delivery: c.Delivery, Lane: c.Lane, StartedAt: stamp(c.StartedAt), EndedAt: stamp(c.EndedAt),
		Fate: c.Fate, Status: c.Status, RequestID: c.RequestID, Usage: c.Usage, Verdict: c.Verdict,
		JudgedCause: c.JudgedCause, Recipe: c.Digest, Error: newErrorLine(c.Error),
	}
	switch worst, cost := usd(c.WorstCost), usd(c.Cost); {
	case c.Maybe() && c.Priced:
		l.MaxUSD = &worst
	case !c.Maybe() && (c.Priced || c.Fate != siding.FateAnswered):
		l.CostUSD = &cost
	}
	return l
}

func newErrorLine(e *siding.LastError) *errorLine {
	if e == nil {
		return nil
	}
	return &errorLine{
		Outcome: e.Outcome, Cause: e.Cause, Fingerprint: e.Fingerprint, Text: e.Text, Status: e.Status,
		RequestID: e.RequestID, FaultOffset: e.FaultOffset,
	}
}
