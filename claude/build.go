package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/siding-dev/siding"
)

// toolName is the tool that a recipe with via: tool forces. It is part of what is sent, so it never changes.
const toolName = "answer"

const toolDescription = "Give the answer in this form."

// The wire form of a request, in the order in which it is written. Sampling parameters are not among it: the API
// version of the SDK refuses them.
type (
	wireRequest struct {
		Model         string          `json:"model"`
		MaxTokens     int64           `json:"max_tokens,omitempty"`
		System        string          `json:"system,omitempty"`
		Messages      []wireMessage   `json:"messages"`
		StopSequences []string        `json:"stop_sequences,omitempty"`
		OutputConfig  *wireOutput     `json:"output_config,omitempty"`
		Tools         []wireTool      `json:"tools,omitempty"`
		ToolChoice    *wireToolChoice `json:"tool_choice,omitempty"`
	}
	wireMessage struct {
		Role    string `json:"role"`
		Content any    `json:"content"` // []wireBlock, or json.RawMessage of a paused turn
	}
	wireBlock struct {
		Type   string      `json:"type"`
		Source *wireSource `json:"source,omitempty"`
		Text   string      `json:"text,omitempty"`
	}
	wireSource struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	wireOutput struct {
		Format wireFormat `json:"format"`
	}
	wireFormat struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	wireTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	wireToolChoice struct {
		Type            string `json:"type"`
		Name            string `json:"name"`
		DisableParallel bool   `json:"disable_parallel_tool_use"`
	}
)

// A request is what will be sent, byte for byte.
type request struct {
	body  []byte
	hash  siding.Hash // over body
	ask   siding.Hash // over the same without output schema and max_tokens
	limit int64       // max_tokens
}

// A prompt is a record as it is asked: its text and its images.
type prompt struct {
	text   string
	images []imageFile
	paused []json.RawMessage // contents of turns that the service paused, in their order
}

// prepareFor makes the prompt of a message, or finds what is wrong with it without a call, and gives the handler as the
// message's own settings make it.
func (h *Handler) prepareFor(m siding.Message) (*Handler, prompt, *siding.Failure) {
	own, f := h.of(m)
	if f != nil {
		return nil, prompt{}, f
	}
	p, f := own.prepare(m.Body)
	return own, p, f
}

// prepare makes the prompt of a record, or finds what is wrong with it without a call.
func (h *Handler) prepare(body []byte) (prompt, *siding.Failure) {
	record, f := parseRecord(body)
	if f != nil {
		return prompt{}, f
	}
	if h.input != nil {
		if err := h.input.check(record); err != nil {
			return prompt{}, bodyFault(siding.CauseSchemaViolation, "the record does not fit the input schema: %w", err)
		}
	}
	text, f := render(h.template, record, h.maxRequest)
	if f != nil {
		return prompt{}, f
	}
	if strings.TrimSpace(text) == "" {
		return prompt{}, bodyFault(siding.CauseEmptyInput, "the prompt has no text: it is empty or white space")
	}
	if h.own.instruction != "" {
		text = strings.TrimRight(text, " \t\r\n") + "\n\n" + h.own.instruction
	}
	images, f := h.readImages(record)
	if f != nil {
		return prompt{}, f
	}
	p := prompt{text: text, images: images}
	return p, h.preflight(p)
}

// build writes the request: the same prompt and limit always give the same bytes.
func (h *Handler) build(p prompt, limit int64) request {
	w := h.asked(p)
	r := request{limit: limit, ask: sha256.Sum256(encode(w))}
	w.MaxTokens = limit
	h.shape(&w)
	r.body = encode(w)
	r.hash = sha256.Sum256(r.body)
	return r
}

// asked is the question of a request: without output schema and max_tokens.
func (h *Handler) asked(p prompt) wireRequest {
	content := make([]wireBlock, 0, len(p.images)+1)
	for _, i := range p.images {
		content = append(content, wireBlock{Type: "image", Source: &wireSource{Type: "base64", MediaType: i.mediaType, Data: i.data}})
	}
	content = append(content, wireBlock{Type: "text", Text: p.text})
	w := wireRequest{
		Model: h.c.Model, System: h.c.System, Messages: []wireMessage{{Role: "user", Content: content}}, StopSequences: h.c.StopSequences,
	}
	for _, turn := range p.paused {
		w.Messages = append(w.Messages, wireMessage{Role: "assistant", Content: turn})
	}
	return w
}

// shape adds the output schema.
func (h *Handler) shape(w *wireRequest) {
	switch {
	case h.output == nil:
	case h.c.Output.Via == ViaTool:
		w.Tools = []wireTool{{Name: toolName, Description: toolDescription, InputSchema: h.wire}}
		w.ToolChoice = &wireToolChoice{Type: "tool", Name: toolName, DisableParallel: true}
	default:
		w.OutputConfig = &wireOutput{Format: wireFormat{Type: "json_schema", Schema: h.wire}}
	}
}

// encode writes JSON without escaping < > & and without a line break at the end.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Everything handed to it is text, valid JSON or a number.
		panic("claude: encoding a request: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
