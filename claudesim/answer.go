package claudesim

import (
	"strings"
)

// stop reasons of the service.
const (
	stopEnd      = "end_turn"
	stopTokens   = "max_tokens"
	stopSequence = "stop_sequence"
	stopTool     = "tool_use"
	stopPause    = "pause_turn"
	stopRefusal  = "refusal"
	stopWindow   = "model_context_window_exceeded"
)

// think makes the whole answer to a request, before any limit of length: the same for the same question, whatever the
// limits, so that asking again with more room gives the rest of the same answer.
func think(q *request) *answer {
	switch {
	case q.tool != nil:
		text, fits := generate(q.tool.Schema, q.asked)
		return &answer{blocks: []block{{tool: q.tool.Name, text: text, whole: true}}, stop: stopTool, fits: fits}
	case q.format != nil:
		text, fits := generate(q.format, q.asked)
		return &answer{blocks: []block{{text: text}}, stop: stopEnd, fits: fits}
	}
	return &answer{blocks: []block{{text: newMuse(q.asked, 0).prose()}}, stop: stopEnd, fits: true}
}

// goOn leaves out what the caller already has of the answer.
func (a *answer) goOn(begun string) {
	first := &a.blocks[0]
	if first.tool != "" || begun == "" {
		return
	}
	if rest, ok := strings.CutPrefix(first.text, begun); ok {
		first.text = rest
		if rest == "" {
			a.blocks = nil
		}
	}
}

// limit ends the answer where the caller's stop sequences, max_tokens or the context window end it.
func (a *answer) limit(q *request) {
	if len(a.blocks) == 0 {
		return
	}
	first := &a.blocks[0]
	if first.tool == "" {
		for _, s := range q.stops {
			if at := strings.Index(first.text, s); at >= 0 {
				first.text, a.stop, a.stopSequence = first.text[:at], stopSequence, s
			}
		}
	}
	room, stop := q.maxTokens, stopTokens
	if left := q.spec.MaxInputTokens - q.inputTokens; q.spec.Newer && left < room {
		room, stop = left, stopWindow
	}
	if tokensOf(first.text, q.spec) <= room {
		if a.stop == stopSequence {
			a.fits = a.fits && q.format == nil
		}
		return
	}
	first.text = cutTokens(first.text, room, q.spec)
	first.whole = false
	a.stop, a.stopSequence, a.fits = stop, "", false
	if first.text == "" && first.tool == "" {
		a.blocks = nil
	}
}

// tokens is what the answer costs to write.
func (a *answer) tokens(m Model) (n int64) {
	for _, b := range a.blocks {
		n += tokensOf(b.text, m)
	}
	return n
}
