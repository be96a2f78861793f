package claude

import (
	"encoding/json"

	"github.com/siding-dev/siding"
)

// Reply is what a journaled answer of the service says, for a look at one that was not accepted.
type Reply struct {
	StopReason string // empty: none came
	Category   string // of a refusal; empty: not said
	Text       string // what the model wrote, all text blocks one after the other
	// Tool is the input of the first tool call; nil: there is none.
	Tool  json.RawMessage
	Usage siding.Usage
}

// ReadReply reads the raw bytes of an answer. false: they are no message of the service.
func ReadReply(answer []byte) (Reply, bool) {
	a, ok := parseAnswer(answer)
	if !ok {
		return Reply{}, false
	}
	r := Reply{StopReason: a.StopReason, Category: a.Category, Text: a.Text(), Usage: a.Usage}
	for _, b := range a.Blocks {
		if b.Type == "tool_use" {
			r.Tool = b.Input
			break
		}
	}
	return r, true
}
