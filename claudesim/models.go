package claudesim

import (
	"cmp"
	"slices"
	"time"
)

// A Model is what the simulator knows of one model. Profiles may add models or change known ones by ID.
type Model struct {
	// ID is the name that requests use.
	ID string `yaml:"id" json:"id"`
	// Dated is the full name that answers and some error messages use. Default: ID.
	Dated string `yaml:"dated" json:"-"`
	// Line is the model's family (haiku, sonnet, opus, fable, mythos), which also decides its display name.
	Line string `yaml:"line" json:"line"`
	// MaxInputTokens is the context window in tokens, at least 1.
	MaxInputTokens int64 `yaml:"max_input_tokens" json:"max_input_tokens"`
	// MaxTokens is the largest max_tokens that a request may ask for, at least 1.
	MaxTokens int64 `yaml:"max_tokens" json:"max_tokens"`
	// Newer says that the model counts about 30 % more tokens for the same text, and refuses manual thinking budgets
	// and a prefilled answer.
	Newer bool `yaml:"newer" json:"-"`
}

// released stands for every model's release: clients read the field, and nobody decides anything by it.
var released = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)

func model(line, version, date string, context, output int64, newer bool) Model {
	id := "claude-" + line + "-" + version
	m := Model{ID: id, Dated: id, Line: line, MaxInputTokens: context, MaxTokens: output, Newer: newer}
	if date != "" {
		m.Dated += "-" + date
	}
	return m
}

// builtinModels are the models of the current SDK. Where a limit is not published, the neighbour's is assumed.
var builtinModels = []Model{
	model("haiku", "4-5", "20251001", 200_000, 64_000, false),
	model("sonnet", "4-5", "20250929", 200_000, 64_000, false),
	model("opus", "4-5", "20251101", 200_000, 64_000, false),
	model("opus", "4-6", "", 1_000_000, 128_000, false),
	model("sonnet", "4-6", "", 1_000_000, 128_000, false),
	model("opus", "4-7", "", 1_000_000, 128_000, true),
	model("opus", "4-8", "", 1_000_000, 128_000, true),
	model("opus", "5", "", 1_000_000, 128_000, true),
	model("opus", "5-5", "", 1_000_000, 128_000, true),
	model("sonnet", "5", "", 1_000_000, 128_000, true),
	model("sonnet", "5-5", "", 1_000_000, 128_000, true),
	model("haiku", "5-5", "", 400_000, 64_000, true),
	model("fable", "5", "", 1_000_000, 128_000, true),
	model("fable", "5-1", "", 1_000_000, 128_000, true),
	model("fable", "5-2", "", 1_000_000, 128_000, true),
	model("mythos", "5", "", 1_000_000, 128_000, true),
	model("mythos", "5-1", "", 1_000_000, 128_000, true),
	model("mythos", "5-2", "", 1_000_000, 128_000, true),
}

// catalogue finds models by either of their names.
type catalogue struct {
	list   []Model
	byName map[string]Model
}

func newCatalogue(extra []Model) catalogue {
	list := slices.Clone(builtinModels)
	for _, m := range extra {
		m.Dated = cmp.Or(m.Dated, m.ID)
		at := slices.IndexFunc(list, func(k Model) bool { return k.ID == m.ID })
		if at < 0 {
			list = append(list, m)
			continue
		}
		if m.Dated == m.ID {
			m.Dated = list[at].Dated
		}
		list[at] = m
	}
	c := catalogue{list: list, byName: make(map[string]Model, 2*len(list))}
	for _, m := range list {
		c.byName[m.ID], c.byName[m.Dated] = m, m
	}
	return c
}

func (c catalogue) find(name string) (Model, bool) {
	m, ok := c.byName[name]
	return m, ok
}

// info is the wire form of a model. Capabilities are the few that change how a client builds a request.
func (m Model) info() map[string]any {
	yes, manual := map[string]any{"supported": true}, map[string]any{"supported": !m.Newer}
	return map[string]any{
		"type": "model", "id": m.ID, "display_name": m.ID, "line": m.Line, "lifecycle": "active",
		"created_at": released.Format(time.RFC3339), "deprecated_at": nil, "retires_at": nil,
		"max_input_tokens": m.MaxInputTokens, "max_tokens": m.MaxTokens,
		"capabilities": map[string]any{
			"batch": map[string]any{"supported": false}, "image_input": yes, "pdf_input": yes, "structured_outputs": yes,
			"thinking": map[string]any{"supported": true, "types": map[string]any{"adaptive": yes, "disabled": yes, "enabled": manual}},
		},
	}
}
