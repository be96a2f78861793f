package claudesim

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// A reply is what the service would say to one request, before any fault of the connection. It is either an error
// (kind, message, code), a page that some proxy made (raw), some other document (raw), or an answer.
type reply struct {
	status int
	header http.Header

	kind, message, code string
	raw                 []byte
	answer              *answer

	usage  Usage // what is reported, and billed if the call is
	billed bool
}

// An answer is the model's part of a reply.
type answer struct {
	blocks       []block
	stop         string // stop_reason
	stopSequence string
	category     string // of a refusal
	// fits says that a client should take this answer: it ends as asked, has content, and meets the schema.
	fits bool
}

// A block is one piece of an answer: text, or a call of a tool.
type block struct {
	tool  string // the tool's name; empty for text
	text  string // the text, or the tool's input as JSON
	whole bool   // for a tool: text is complete JSON
}

func failure(status int, kind, message string) *reply {
	return &reply{status: status, header: http.Header{}, kind: kind, message: message}
}

func badRequest(message string) *reply { return failure(http.StatusBadRequest, invalid, message) }

func htmlPage(status int, page string) *reply {
	return &reply{status: status, header: http.Header{"Content-Type": {"text/html"}}, raw: []byte(page)}
}

func document(v any) *reply {
	return &reply{status: http.StatusOK, header: http.Header{}, raw: encode(v)}
}

// errorBody is the service's envelope, the same for a whole answer and for an event in a stream.
func (r *reply) errorBody(requestID string) []byte {
	detail := struct {
		Type    string            `json:"type"`
		Message string            `json:"message"`
		Details map[string]string `json:"details,omitempty"`
	}{Type: r.kind, Message: r.message}
	if r.code != "" {
		detail.Details = map[string]string{"error_code": r.code}
	}
	return encode(struct {
		Type      string `json:"type"`
		Error     any    `json:"error"`
		RequestID string `json:"request_id"`
	}{"error", detail, requestID})
}

// body is the whole document of a reply that is not streamed.
func (r *reply) body(q *request, requestID string) []byte {
	switch {
	case r.raw != nil:
		return r.raw
	case r.answer != nil:
		return encode(messageDocument(q, r, r.answer, requestID))
	default:
		return r.errorBody(requestID)
	}
}

// messageDocument is the wire form of an answer. Its ID is made from that of the request.
func messageDocument(q *request, r *reply, a *answer, requestID string) map[string]any {
	content := make([]any, 0, len(a.blocks))
	for i, b := range a.blocks {
		content = append(content, b.wire(requestID, i))
	}
	var stop, sequence, details any
	if a.stop != "" {
		stop = a.stop
	}
	if a.stopSequence != "" {
		sequence = a.stopSequence
	}
	if a.stop == stopRefusal {
		details = map[string]any{"type": "refusal", "category": a.category, "explanation": "This request touches a topic that the model does not answer."}
	}
	return map[string]any{
		"id": "msg_" + requestID[4:], "type": "message", "role": "assistant", "model": q.spec.Dated, "content": content,
		"stop_reason": stop, "stop_sequence": sequence, "stop_details": details, "usage": usageDocument(q, r.usage),
		"container": nil, "diagnostics": nil,
	}
}

func (b block) wire(requestID string, at int) map[string]any {
	if b.tool == "" {
		return map[string]any{"type": "text", "text": b.text, "citations": nil}
	}
	input := json.RawMessage(b.text)
	if !b.whole {
		input = json.RawMessage(completeMembers(b.text))
	}
	return map[string]any{"type": "tool_use", "id": toolID(requestID, at), "name": b.tool, "input": input, "caller": map[string]any{"type": "direct"}}
}

func toolID(requestID string, at int) string {
	return "toolu_" + requestID[4:] + string(rune('a'+at%26))
}

func usageDocument(q *request, u Usage) map[string]any {
	geo := "global"
	if q.usInference {
		geo = "us"
	}
	return map[string]any{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_creation_input_tokens": u.CacheWrite5m + u.CacheWrite1h, "cache_read_input_tokens": u.CacheRead,
		"cache_creation":        map[string]any{"ephemeral_5m_input_tokens": u.CacheWrite5m, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		"output_tokens_details": map[string]any{"thinking_tokens": 0},
		"server_tool_use":       nil, "service_tier": "standard", "speed": "standard", "inference_geo": geo,
	}
}

// encode writes JSON without escaping what needs none, as the service does. Everything given to it can be encoded.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("claudesim: encoding an answer: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// completeMembers is what can be read of an object that was cut: the members that came whole.
func completeMembers(text string) string {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	whole := "{}"
	if _, err := dec.Token(); err != nil {
		return whole
	}
	for dec.More() {
		if _, err := dec.Token(); err != nil {
			return whole
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return whole
		}
		whole = text[:dec.InputOffset()] + "}"
	}
	return whole
}
