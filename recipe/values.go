package recipe

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/siding-dev/siding"
)

// Each of these gives the value of a key, or a default where the recipe does not have it. A value that cannot be one is
// a fault of the document, and gives the default too.

func (d *document) text(path, otherwise string) string {
	n, ok := d.nodes[path]
	if !ok {
		return otherwise
	}
	text, ok := d.textOf(path, n)
	if !ok {
		return otherwise
	}
	return text
}

func (d *document) textOf(path string, n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.MappingNode, *ast.SequenceNode:
		d.fail(n, "%s must be a text, and is %s", path, nodeKind(n))
	default:
		d.fail(n, "%s must be a text, and is %s; put it in quotes", path, nodeKind(n))
	}
	return "", false
}

func (d *document) list(path string) []string {
	n, ok := d.nodes[path]
	if !ok {
		return nil
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, "%s must be a list, and is %s; write [a, b]", path, nodeKind(n))
		return nil
	}
	var list []string
	for _, each := range seq.Values {
		if text, ok := d.textOf("each entry of "+path, each); ok {
			list = append(list, text)
		}
	}
	return list
}

// numbers is a list of whole numbers.
func (d *document) numbers(path string) []int {
	n, ok := d.nodes[path]
	if !ok {
		return nil
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, "%s must be a list, and is %s; write [400, 410]", path, nodeKind(n))
		return nil
	}
	var list []int
	for _, each := range seq.Values {
		i, ok := each.(*ast.IntegerNode)
		if !ok {
			d.fail(each, "each entry of %s must be a whole number, and is %s", path, nodeKind(each))
			continue
		}
		value, ok := i.Value.(uint64)
		if !ok || value > math.MaxInt32 { // a negative one is an int64
			d.fail(each, "%s lists %s, which is out of range", path, show(each.GetToken().Value))
			continue
		}
		list = append(list, int(value))
	}
	return list
}

// texts is a group of texts whose keys are free.
func (d *document) texts(path string) map[string]string {
	n, ok := d.nodes[path]
	if !ok {
		return nil
	}
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.fail(n, "%s must be a group of texts, and is %s; write {Name: text}", path, nodeKind(n))
		return nil
	}
	all := map[string]string{}
	for _, pair := range m.Values {
		name, ok := pair.Key.(*ast.StringNode)
		if !ok {
			d.fail(pair.Key, "a key in %s must be a plain word, and this is %s; put it in quotes", path, nodeKind(pair.Key))
			continue
		}
		if text, ok := d.textOf("each value in "+path, pair.Value); ok {
			all[name.Value] = text
		}
	}
	return all
}

// choice is a text that is one of a few words, the first by default.
func (d *document) choice(path string, words ...string) string {
	text := d.text(path, words[0])
	if slices.Contains(words, text) {
		return text
	}
	d.failKey(path, "%s is %q; it must be %s", path, show(text), strings.Join(words, " or "))
	return words[0]
}

func (d *document) integer(path string, least, most, otherwise int64) int64 {
	n, ok := d.nodes[path]
	if !ok {
		return otherwise
	}
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		d.fail(n, "%s must be a whole number, and is %s", path, nodeKind(n))
		return otherwise
	}
	value, fits := int64(0), false
	switch v := i.Value.(type) {
	case int64:
		value, fits = v, true
	case uint64:
		value, fits = int64(v), v <= math.MaxInt64
	}
	switch {
	case fits && value >= least && value <= most:
		return value
	case most == math.MaxInt64:
		d.fail(n, "%s is %s; it must be at least %d", path, show(n.GetToken().Value), least)
	default:
		d.fail(n, "%s is %s; it must be %d to %d", path, show(n.GetToken().Value), least, most)
	}
	return otherwise
}

func (d *document) number(path string, otherwise float64) float64 {
	switch n := d.nodes[path].(type) {
	case nil:
	case *ast.FloatNode:
		return n.Value
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			return float64(v)
		case uint64:
			return float64(v)
		}
	default:
		d.fail(n, "%s must be a finite decimal number, and is %s", path, nodeKind(n))
	}
	return otherwise
}

func (d *document) boolean(path string) bool {
	switch n := d.nodes[path].(type) {
	case nil:
	case *ast.BoolNode:
		return n.Value
	default:
		d.fail(n, "%s must be true or false, and is %s", path, nodeKind(n))
	}
	return false
}

func (d *document) duration(path string, otherwise time.Duration) time.Duration {
	n, ok := d.nodes[path]
	if !ok {
		return otherwise
	}
	switch n := n.(type) {
	case *ast.StringNode:
		v, err := time.ParseDuration(n.Value)
		switch {
		case err == nil && v > 0:
			return v
		case err == nil:
			d.fail(n, "%s is %s; it must be more than 0", path, show(n.Value))
			return otherwise
		}
		d.fail(n, "%s is %q, which is no duration; write a number with a unit, for instance 250ms, 1s or 2m", path, show(n.Value))
	case *ast.IntegerNode, *ast.FloatNode:
		d.fail(n, "%s is %s, without a unit; write for instance %ss", path, show(n.GetToken().Value), show(n.GetToken().Value))
	default:
		d.fail(n, "%s must be a duration, for instance 1s, and is %s", path, nodeKind(n))
	}
	return otherwise
}

func (d *document) money(path string) siding.Money {
	n, ok := d.nodes[path]
	if !ok {
		return 0
	}
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
	default:
		d.fail(n, "%s must be an amount of dollars, for instance 5.00, and is %s", path, nodeKind(n))
		return 0
	}
	m, err := ParseMoney(n.GetToken().Value)
	if err != nil {
		d.fail(n, "%s: %w", path, err)
	}
	return m
}

// pointer is a JSON Pointer to something within a record.
func (d *document) pointer(path string) string {
	text := d.text(path, "/")
	_, err := siding.ParsePointer(text)
	switch {
	case !d.has(path):
		return ""
	case err != nil:
		d.failKey(path, "%s: %w", path, err)
	case text == "":
		d.failKey(path, "%s is empty, which stands for the whole record; name a field, for instance /id, or take the key out", path)
	}
	return text
}
