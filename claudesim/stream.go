package claudesim

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// An event of a stream, and how many tokens of the answer it carries.
type streamEvent struct {
	name   string
	data   any
	tokens int64
	piece  bool // it carries a piece of the answer
}

func (e streamEvent) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("event: " + e.name + "\ndata: ")
	b.Write(encode(e.data))
	b.WriteString("\n\n")
	return b.Bytes()
}

// events splits an answer into the events of a stream.
func events(q *request, r *reply, requestID string) []streamEvent {
	a := r.answer
	whole := messageDocument(q, r, a, requestID)
	start := messageDocument(q, r, &answer{}, requestID)
	begun := r.usage
	begun.Output = min(begun.Output, 1)
	start["usage"] = usageDocument(q, begun)
	list := []streamEvent{{name: "message_start", data: map[string]any{"type": "message_start", "message": start}}}
	for i, b := range a.blocks {
		open, delta, field := map[string]any{"type": "text", "text": "", "citations": nil}, "text_delta", "text"
		if b.tool != "" {
			open = b.wire(requestID, i)
			open["input"] = map[string]any{}
			delta, field = "input_json_delta", "partial_json"
		}
		list = append(list, streamEvent{name: "content_block_start", data: map[string]any{"type": "content_block_start", "index": i, "content_block": open}})
		if i == 0 {
			list = append(list, streamEvent{name: "ping", data: map[string]any{"type": "ping"}})
		}
		for _, piece := range pieces(b.text) {
			data := map[string]any{"type": "content_block_delta", "index": i, "delta": map[string]any{"type": delta, field: piece}}
			list = append(list, streamEvent{name: "content_block_delta", data: data, tokens: tokensOf(piece, q.spec), piece: true})
		}
		list = append(list, streamEvent{name: "content_block_stop", data: map[string]any{"type": "content_block_stop", "index": i}})
	}
	end := map[string]any{"type": "message_delta", "usage": whole["usage"], "delta": map[string]any{
		"stop_reason": whole["stop_reason"], "stop_sequence": whole["stop_sequence"], "stop_details": whole["stop_details"], "container": nil,
	}}
	return append(list, streamEvent{name: "message_delta", data: end}, streamEvent{name: "message_stop", data: map[string]any{"type": "message_stop"}})
}

// pieces cuts a text into deltas, at spaces where there are any.
func pieces(text string) []string {
	const size = 24
	var list []string
	for len(text) > size {
		cut := strings.LastIndexByte(text[:size], ' ')
		if cut <= 0 {
			for cut = size; !utf8.RuneStart(text[cut]); {
				cut--
			}
		}
		list, text = append(list, text[:cut]), text[cut:]
	}
	if text == "" {
		return list
	}
	return append(list, text)
}

// stream sends an answer as events. It is charged at the beginning, since the service goes on writing when the client
// leaves; a stream that the service itself breaks is charged for what it has sent.
func (s *script) stream(p *plan, q *request, d Do, abandoned bool) {
	r, l := s.reply, p.profile.Latency
	list := events(q, r, s.call.RequestID)
	var failed []byte
	broken := d.streamOnly() || d.Fault == faultCut
	if broken {
		after := d.AfterEvents
		if d.Fault == faultCut {
			after = len(list) / 3
		}
		list, r.usage.Output = beginning(list, after)
		if d.Fault == faultStreamError {
			failed = streamEvent{name: "error", data: json.RawMessage(p.errorOf(d, time.Time{}).errorBody(s.call.RequestID))}.bytes()
		}
	}
	s.work(p.latency(q, s.call.Ordinal, 0, false), abandoned)
	s.header.Set("Content-Type", "text/event-stream; charset=utf-8")
	s.header.Set("Cache-Control", "no-cache")
	s.add(stepHead)
	for _, e := range list {
		s.wait(time.Duration(e.tokens) * l.PerOutputToken)
		s.write(e.bytes())
	}
	switch {
	case failed != nil:
		s.write(failed)
	case d.Fault == faultCut:
		s.add(stepCut)
	}
	s.fits = !broken && r.answer.fits
}

// beginning is the stream up to and with a number of pieces, and the tokens in them.
func beginning(list []streamEvent, pieces int) (head []streamEvent, tokens int64) {
	for i, e := range list {
		if !e.piece {
			continue
		}
		if pieces == 0 {
			return list[:i], tokens
		}
		pieces--
		tokens += e.tokens
	}
	return list[:max(0, len(list)-2)], tokens
}
