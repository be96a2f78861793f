package claude

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// digestOf hashes what shapes the request and its acceptance, and nothing else: not the key, the address, the timeout or
// the prices. White space in the schemas does not count; the order of their keys does, because the model answers in it.
// The result is stored with every answer, so this form never changes: what is added later must be left out when empty.
func (h *Handler) digestOf() string {
	var input, output json.RawMessage
	if h.input != nil {
		input = h.input.raw
	}
	via := ""
	if h.output != nil {
		output, via = h.output.raw, h.c.Output.Via
	}
	sum := sha256.Sum256(encode(struct {
		Version       int             `json:"v"`
		Model         string          `json:"model"`
		MaxTokens     int64           `json:"max_tokens"`
		System        string          `json:"system,omitempty"`
		Prompt        string          `json:"prompt"`
		ImageFields   []string        `json:"image_fields,omitempty"`
		Output        json.RawMessage `json:"output,omitempty"`
		Via           string          `json:"via,omitempty"`
		StopSequences []string        `json:"stop_sequences,omitempty"`
		Input         json.RawMessage `json:"input,omitempty"`
	}{1, h.c.Model, h.c.MaxTokens, h.c.System, h.c.Prompt, h.c.Images.Fields, output, via, h.c.StopSequences, input}))
	return hex.EncodeToString(sum[:8])
}
