package claudesim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A contentBlock is what the simulator reads of a block, in a message, the system prompt or a tool's result.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Source    *mediaSource    `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Cache     *cacheMark      `json:"cache_control"`
}

type cacheMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

func (c *checker) checkSystem() {
	raw, ok := c.fields["system"]
	if !ok || string(raw) == "null" {
		return
	}
	blocks, isText := c.blocks(raw, "system")
	for i, b := range blocks {
		if b.Type != "text" || b.Text == nil {
			c.refuse("system.%d.type: Input should be 'text'", i)
			continue
		}
		if *b.Text == "" && isText {
			continue // an empty system prompt given as a string is no system prompt
		}
		c.checkText("system", *b.Text)
		c.count(*b.Text)
		c.mark(b.Cache)
	}
}

func (c *checker) checkMessages() {
	raw, ok := c.fields["messages"]
	if !ok {
		c.refuse("messages: Field required")
		return
	}
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &messages) != nil {
		c.refuse("messages: Input should be a valid list")
		return
	}
	if len(messages) == 0 {
		c.refuse("messages: at least one message is required")
	}
	var open []string // tool calls that the next message must answer
	for i, m := range messages {
		at := fmt.Sprintf("messages.%d", i)
		switch {
		case m.Role != "user" && m.Role != "assistant" && m.Role != "system":
			c.refuse("%s.role: Input should be 'user' or 'assistant'", at)
		case i == 0 && m.Role == "assistant":
			c.refuse("messages: first message must use the \"user\" role")
		}
		if len(m.Content) == 0 || string(m.Content) == "null" {
			c.refuse("%s.content: Field required", at)
			continue
		}
		blocks, _ := c.blocks(m.Content, at+".content")
		if len(blocks) == 0 && i < len(messages)-1 || len(blocks) == 0 && m.Role != "assistant" {
			c.refuse("%s: all messages must have non-empty content except for the optional final assistant message", at)
		}
		open = c.checkTurn(at, m.Role, blocks, open)
		c.tokens += tokensPerMessage
	}
	if len(open) > 0 {
		c.unanswered(open)
	}
}

// checkTurn reads one message and returns the tool calls that it leaves open.
func (c *checker) checkTurn(at, role string, blocks []contentBlock, open []string) []string {
	c.last.role, c.last.text = role, ""
	var calls []string
	answered := map[string]bool{}
	for i, b := range blocks {
		where := fmt.Sprintf("%s.content.%d", at, i)
		switch b.Type {
		case "text":
			c.turnText(where, role, b)
		case "image":
			c.checkImage(where, b.Source)
		case "document":
			c.checkDocument(where, b.Source)
		case "tool_use":
			calls = append(calls, b.ID)
			c.tokens += tokensOf(b.Name+string(b.Input), c.spec)
		case "tool_result":
			answered[b.ToolUseID] = true
			inner, _ := c.blocks(b.Content, where+".content")
			for j, in := range inner {
				if in.Type == "text" && in.Text != nil {
					c.count(*in.Text)
				} else if in.Type == "image" {
					c.checkImage(fmt.Sprintf("%s.content.%d", where, j), in.Source)
				}
			}
		case "thinking", "redacted_thinking", "search_result", "server_tool_use", "web_search_tool_result", "container_upload":
		default:
			c.refuse("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'text', 'thinking', 'tool_result', 'tool_use'", where, b.Type)
		}
		c.mark(b.Cache)
	}
	for _, id := range open {
		if !answered[id] {
			c.unanswered(open)
			break
		}
	}
	return calls
}

func (c *checker) turnText(where, role string, b contentBlock) {
	if b.Text == nil {
		c.refuse("%s.text.text: Field required", where)
		return
	}
	if role == "assistant" {
		c.last.text += *b.Text
		c.count(*b.Text)
		return
	}
	c.checkText("messages", *b.Text)
	c.ask.WriteString(*b.Text + "\n")
	c.count(*b.Text)
}

func (c *checker) unanswered(ids []string) {
	c.refuse("`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(ids, ", "))
}

func (c *checker) checkText(where, text string) {
	switch {
	case text == "":
		c.refuse("%s: text content blocks must be non-empty", where)
	case strings.TrimSpace(text) == "":
		c.refuse("%s: text content blocks must contain non-whitespace text", where)
	}
}

// count adds a text to what faults match on, to the tokens, and to what a cache mark behind it covers.
func (c *checker) count(text string) {
	c.text.WriteString(text + "\n")
	c.tokens += tokensOf(text, c.spec)
	c.prefix.WriteString(text + "\x00")
}

// blocks reads content, which is a string or a list of blocks.
func (c *checker) blocks(raw json.RawMessage, where string) (list []contentBlock, isText bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			c.refuse("%s: Input should be a valid string", where)
		}
		return []contentBlock{{Type: "text", Text: &text}}, true
	}
	if json.Unmarshal(raw, &list) != nil {
		c.refuse("%s: Input should be a valid list", where)
	}
	return list, false
}
