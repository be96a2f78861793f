package claudesim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// topLevel are the parameters of /v1/messages; count_tokens knows some of them.
var topLevel = []string{
	"model", "messages", "max_tokens", "system", "metadata", "stop_sequences", "stream", "temperature", "top_p", "top_k",
	"thinking", "tools", "tool_choice", "output_config", "service_tier", "container", "inference_geo", "cache_control",
	"speed", "diagnostics",
}

var countable = []string{"model", "messages", "system", "thinking", "tools", "tool_choice", "output_config", "cache_control", "speed"}

// A checker reads a request and stops at the first thing that the service would refuse.
type checker struct {
	*request
	rules  readRules
	fields map[string]json.RawMessage
	text   strings.Builder // becomes words
	ask    strings.Builder // becomes asked
	tokens int64
	images int
	last   struct {
		role string
		text string
	}
	prefix strings.Builder // everything up to the last cache mark, then everything
}

func (c *checker) refuse(format string, args ...any) {
	if c.bad == nil {
		c.bad = badRequest(fmt.Sprintf(format, args...))
	}
}

// check runs every check even after one has failed, because faults may match on text that stands behind the mistake;
// the first refusal is the one that is answered.
func (c *checker) check() {
	if json.Unmarshal(c.body, &c.fields) != nil || c.fields == nil {
		c.words = string(c.body)
		c.refuse("Input should be a valid dictionary or object to extract fields from")
		return
	}
	c.checkNames()
	c.checkModel()
	c.checkMaxTokens()
	c.checkSampling()
	c.stream = c.flag("stream")
	if geo := c.str("inference_geo"); geo == "us" {
		c.usInference = true
	}
	c.checkThinking()
	c.checkStops()
	c.checkTools()
	c.checkFormat()
	c.checkSystem()
	c.checkMessages()
	c.words, c.asked = c.text.String(), c.ask.String()
	c.checkEnd()
	c.inputTokens = c.tokens + tokensPerRequest
	c.checkContext()
	c.markTopLevel()
}

func (c *checker) checkNames() {
	known := topLevel
	if c.path == pathCount {
		known = countable
	}
	strange := 0
	for name := range c.fields {
		if !slices.Contains(known, name) {
			strange++
		}
	}
	if strange == 0 {
		return
	}
	// In the order of the body, so that the same body always gets the same words.
	for _, name := range memberNames(c.body) {
		if !slices.Contains(known, name) {
			c.refuse("%s: Extra inputs are not permitted", name)
		}
	}
}

func (c *checker) checkModel() {
	raw, ok := c.fields["model"]
	if !ok {
		c.refuse("model: Field required")
		return
	}
	if json.Unmarshal(raw, &c.model) != nil {
		c.refuse("model: Input should be a valid string")
		return
	}
	spec, known := c.rules.models.find(c.model)
	if !known {
		if c.bad == nil {
			c.bad = failure(404, "not_found_error", "model: "+c.model)
		}
		spec = Model{ID: c.model, Dated: c.model, MaxInputTokens: 200_000, MaxTokens: 64_000}
	}
	c.spec = spec
}

func (c *checker) checkMaxTokens() {
	if c.path == pathCount {
		return
	}
	raw, ok := c.fields["max_tokens"]
	if !ok {
		c.refuse("max_tokens: Field required")
		return
	}
	switch {
	case json.Unmarshal(raw, &c.maxTokens) != nil || string(raw) == "null":
		c.refuse("max_tokens: Input should be a valid integer")
	case c.maxTokens < 0:
		c.refuse("max_tokens: Input should be greater than or equal to 0")
	case c.maxTokens > c.spec.MaxTokens:
		c.refuse("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", c.maxTokens, c.spec.MaxTokens, c.spec.Dated)
	}
}

func (c *checker) checkSampling() {
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		raw, given := c.fields[name]
		if !given {
			continue
		}
		if c.version >= versionWithoutSampling {
			c.refuse("%s: this parameter is not supported by API version %s", name, c.version)
		}
		var n float64
		if json.Unmarshal(raw, &n) != nil {
			c.refuse("%s: Input should be a valid number", name)
		}
	}
}

func (c *checker) checkThinking() {
	raw, ok := c.fields["thinking"]
	if !ok || string(raw) == "null" {
		return
	}
	var thinking struct {
		Type   string `json:"type"`
		Budget int64  `json:"budget_tokens"`
	}
	if json.Unmarshal(raw, &thinking) != nil {
		c.refuse("thinking: Input should be a valid dictionary")
		return
	}
	switch thinking.Type {
	case "disabled", "adaptive":
	case "enabled":
		switch {
		case c.spec.Newer:
			c.refuse("%s", samples["thinking"].message)
		case thinking.Budget < 1024:
			c.refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case c.path != pathCount && thinking.Budget >= c.maxTokens:
			c.refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
		}
	default:
		c.refuse("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", thinking.Type)
	}
}

func (c *checker) checkStops() {
	raw, ok := c.fields["stop_sequences"]
	if !ok {
		return
	}
	if json.Unmarshal(raw, &c.stops) != nil {
		c.refuse("stop_sequences: Input should be a valid list of strings")
	}
	for i, s := range c.stops {
		if strings.TrimSpace(s) == "" {
			c.refuse("stop_sequences: each stop sequence must contain non-whitespace")
			c.stops = slices.Delete(slices.Clone(c.stops), i, i+1)
			return
		}
	}
}

func (c *checker) checkEnd() {
	if c.last.role != "assistant" {
		return
	}
	// A turn of the model at the end is a beginning that the answer goes on from: allowed where the model supports it,
	// and for an answer that the service itself paused.
	c.begun, c.continues = c.last.text, true
}

func (c *checker) checkContext() {
	limit := c.spec.MaxInputTokens
	switch {
	case c.path == pathCount || c.model == "":
	case c.inputTokens > limit:
		c.refuse("prompt is too long: %d tokens > %d maximum", c.inputTokens, limit)
	case c.inputTokens+c.maxTokens > limit && !c.spec.Newer:
		// Newer models answer what fits and stop with model_context_window_exceeded instead.
		c.refuse("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", c.inputTokens, c.maxTokens, limit)
	}
}

func (c *checker) flag(name string) bool {
	raw, ok := c.fields[name]
	if !ok || string(raw) == "null" {
		return false
	}
	var v bool
	if json.Unmarshal(raw, &v) != nil {
		c.refuse("%s: Input should be a valid boolean", name)
	}
	return v
}

func (c *checker) str(name string) string {
	raw, ok := c.fields[name]
	if !ok || string(raw) == "null" {
		return ""
	}
	var v string
	if json.Unmarshal(raw, &v) != nil {
		c.refuse("%s: Input should be a valid string", name)
	}
	return v
}

// memberNames lists an object's keys in the order of its bytes.
func memberNames(object []byte) []string {
	members, _ := parseOrdered(object).(*ordered)
	if members == nil {
		return nil
	}
	return members.keys
}
