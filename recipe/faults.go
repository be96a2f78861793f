package recipe

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// elsewhere are the fields that a handler's errors begin with and that do not stand in the handler's own group.
var elsewhere = map[string]string{
	"max_input_tokens": "preflight.max_input_tokens",
	"input.schema":     "input.schema",
	"on_unknown":       "on_unknown",
	"budget":           "budget.usd",
}

var templateLine = regexp.MustCompile(`^prompt:(\d+)(?::\d+)?: (.*)`)

// faults puts the errors of a handler's package where they belong in the recipe.
func (d *document) faults(group string, err error) {
	for _, each := range parts(err) {
		d.fault(group, each)
	}
}

func (d *document) fault(group string, err error) {
	field, text, found := strings.Cut(err.Error(), ": ")
	path := elsewhere[field]
	if path == "" {
		path = group + "." + field
	}
	if !found || find(path) == nil {
		d.failKey(group, "%s: %w", group, err)
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
