package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/siding-dev/siding/claude"
)

// maxSchema is the longest schema file, in bytes.
const maxSchema = 1 << 20

// claude reads the group of that name and what belongs to it, and lets the handler's own package check it: it knows what
// it can do. Nothing is sent, and no key is needed.
func (d *document) claude(r *Recipe, dir string) {
	if !d.has("claude") {
		if d.missing("claude") && d.missing("webhook") && d.missing("command") {
			d.failAt(0, 0, "the group claude is missing, and nothing says what to do with a record")
		}
		return
	}
	r.claude = claude.Config{
		Model:     d.required("claude.model", "give the name of a model, for instance claude-haiku-4-5"),
		MaxTokens: d.integer("claude.max_tokens", 1, math.MaxInt64, 1),
		System:    d.text("claude.system", ""),
		Prompt:    d.required("claude.prompt", "say what to ask, for instance prompt: \"Tag this: {{.title}}\""),
		Images:    claude.Images{Fields: d.list("claude.images.fields"), Root: d.path("claude.images.root", dir)},
		Output: claude.Output{
			Schema: d.schema("claude.output.schema", dir),
			Via:    d.choice("claude.output.via", claude.ViaSchema, claude.ViaTool),
		},
		StopSequences:  d.list("claude.stop_sequences"),
		MaxInputTokens: d.integer("preflight.max_input_tokens", 1, math.MaxInt64, 0),
		InputSchema:    d.schema("input.schema", dir),
		Timeout:        d.duration("claude.timeout", 10*time.Minute),
		OnUnknown:      r.policy.OnUnknown,
	}
	if d.missing("claude.max_tokens") {
		d.failKey("claude.max_tokens", "claude.max_tokens is missing; say how long an answer may be, in tokens, for instance 1024")
	}
	check := r.claude
	check.APIKey, check.BaseURL = "none", "https://localhost" // the environment's are looked at when a handler is made
	h, err := claude.New(check)
	for _, each := range parts(err) {
		d.fault(each)
	}
	if err == nil {
		r.digest = h.Digest()
	}
}

// required is a text that must be there. In place of a missing one it gives a text that nothing is wrong with.
func (d *document) required(path, do string) string {
	if d.missing(path) {
		d.failKey(path, "%s is missing; %s", path, do)
	}
	return d.text(path, "missing")
}

// path is a file's name, from the recipe's folder.
func (d *document) path(path, dir string) string {
	name := d.text(path, "")
	switch {
	case name == "" && d.has(path):
		d.failKey(path, "%s is empty; give the name of a file, or take the key out", path)
		return ""
	case name == "" || filepath.IsAbs(name):
		return name
	}
	return filepath.Join(dir, name)
}

// schema reads a schema's file. What is no JSON is a fault of that file, at its place there.
func (d *document) schema(path, dir string) []byte {
	name := d.path(path, dir)
	if name == "" {
		return nil
	}
	text, err := readFile(name, maxSchema+1)
	switch {
	case err != nil:
		d.failKey(path, "%s: %s: %w", path, show(name), err)
		return nil
	case len(text) > maxSchema:
		d.failKey(path, "%s: %s has more than %d bytes", path, show(name), maxSchema)
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var broken *json.SyntaxError
	var value any
	if err := json.Unmarshal(text, &value); errors.As(err, &broken) {
		before := text[:min(max(broken.Offset-1, 0), int64(len(text)))]
		d.errs = append(d.errs, &Error{
			File: name, Err: fmt.Errorf("it is not valid JSON: %w", broken), Line: bytes.Count(before, []byte("\n")) + 1,
			Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
		})
		return nil
	}
	return text
}

// claudeKeys are the fields that the handler's errors begin with and that stand elsewhere than in its own group.
var claudeKeys = map[string]string{
	"max_input_tokens": "preflight.max_input_tokens",
	"input.schema":     "input.schema",
	"on_unknown":       "on_unknown",
}

var templateLine = regexp.MustCompile(`^prompt:(\d+)(?::\d+)?: (.*)`)

// fault puts an error of the handler's package where it belongs in the recipe.
func (d *document) fault(err error) {
	field, text, found := strings.Cut(err.Error(), ": ")
	path := claudeKeys[field]
	if path == "" {
		path = "claude." + field
	}
	if !found || find(path) == nil {
		d.failKey("claude", "claude: %w", err)
		return
	}
	if m := templateLine.FindStringSubmatch(text); m != nil && field == "prompt" {
		n, _ := strconv.Atoi(m[1])
		line, column := d.lineIn(d.nodes[path], n)
		d.failAt(line, column, "%s: %s", path, m[2])
		return
	}
	if find(path).Kind == KindFile && d.has(path) {
		text = show(d.text(path, "")) + ": " + text
	}
	d.failKey(path, "%s: %s", path, text)
}

// lineIn gives where the n-th line of a text stands in the recipe, as far as that can be told: only a text behind | has
// the lines that it has in the file.
func (d *document) lineIn(n ast.Node, of int) (line, column int) {
	line, column = place(n)
	if _, ok := n.(*ast.LiteralNode); !ok || !strings.HasPrefix(n.GetToken().Value, "|") || line+of > len(d.lines) {
		return line, column
	}
	line += of
	text := d.lines[line-1]
	return line, len(text) - len(strings.TrimLeft(text, " ")) + 1
}
