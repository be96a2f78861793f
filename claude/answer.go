package claude

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/siding-dev/siding"
)

// answer is what acceptance looks at. It is read from raw bytes, so that a journaled answer is judged like a fresh one.
type answer struct {
	ID           string
	Type         string
	StopReason   string
	StopSequence string
	Category     string // of a refusal
	Blocks       []answerBlock
	Content      json.RawMessage // as it came, to send a paused turn back
	Usage        siding.Usage
	Geo          string // where it was computed
	Tier         string
}

type answerBlock struct {
	Type  string
	Text  string
	Name  string
	Input json.RawMessage
}

// parseAnswer reads the bytes of an answer. false: they are not a whole answer of type message with an ID. A field of
// an unexpected kind reads as empty.
func parseAnswer(body []byte) (answer, bool) {
	top := members(body)
	a := answer{
		ID: text(top["id"]), Type: text(top["type"]), StopReason: text(top["stop_reason"]),
		StopSequence: text(top["stop_sequence"]), Category: text(members(top["stop_details"])["category"]),
		Content: top["content"],
	}
	var blocks []json.RawMessage
	_ = json.Unmarshal(top["content"], &blocks)
	for _, raw := range blocks {
		b := members(raw)
		a.Blocks = append(a.Blocks, answerBlock{Type: text(b["type"]), Text: text(b["text"]), Name: text(b["name"]), Input: b["input"]})
	}
	usage := members(top["usage"])
	creation := members(usage["cache_creation"])
	a.Usage = siding.Usage{
		Input: count(usage["input_tokens"]), Output: count(usage["output_tokens"]), CacheRead: count(usage["cache_read_input_tokens"]),
		CacheWrite5m: count(creation["ephemeral_5m_input_tokens"]), CacheWrite1h: count(creation["ephemeral_1h_input_tokens"]),
	}
	// Without the breakdown the total counts as written for five minutes, the service's default.
	if whole := count(usage["cache_creation_input_tokens"]); whole > a.Usage.CacheWrite5m+a.Usage.CacheWrite1h {
		a.Usage.CacheWrite5m = whole - a.Usage.CacheWrite1h
	}
	a.Geo, a.Tier = text(usage["inference_geo"]), text(usage["service_tier"])
	return a, a.Type == "message" && a.ID != ""
}

// answerOf reads a message of the SDK.
func answerOf(m *anthropic.Message) answer {
	a := answer{
		ID: m.ID, Type: string(m.Type), StopReason: string(m.StopReason), StopSequence: m.StopSequence,
		Category: string(m.StopDetails.Category),
	}
	for _, b := range m.Content {
		a.Blocks = append(a.Blocks, answerBlock{Type: b.Type, Text: b.Text, Name: b.Name, Input: b.Input})
	}
	return a
}

// Text is what the model wrote, all text blocks one after the other.
func (a answer) Text() string {
	var b strings.Builder
	for _, each := range a.Blocks {
		if each.Type == "text" {
			b.WriteString(each.Text)
		}
	}
	return b.String()
}

// members reads an object. Keys are taken exactly as they are spelled; nil for anything else.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// count reads a number of tokens; anything that is none counts as 0.
func count(raw json.RawMessage) int64 {
	const most = 1 << 40 // far beyond any context window, and sums stay in range
	var n int64
	_ = json.Unmarshal(raw, &n)
	return min(max(n, 0), most)
}
