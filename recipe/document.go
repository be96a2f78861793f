package recipe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxRecipe is the longest recipe, in bytes.
const maxRecipe = 256 << 10

// document is a recipe as it stands in its file: which keys it has, and where. It gathers what is wrong.
type document struct {
	file  string
	lines []string
	nodes map[string]ast.Node // values, by the paths of their keys
	keys  map[string]ast.Node // the keys themselves
	meant map[string]bool     // keys that wrong ones were probably meant to be: nobody need hear that they are missing too
	errs  Errors
}

// readDocument takes YAML apart and checks that it has only keys that exist, each with a value of a possible shape.
func readDocument(file string, src []byte) *document {
	d := &document{file: file, nodes: map[string]ast.Node{}, keys: map[string]ast.Node{}, meant: map[string]bool{}}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	d.lines = strings.Split(string(src), "\n")
	if !d.isText(src) || d.tooMuch(string(src)) {
		return d
	}
	parsed, err := parser.ParseBytes(src, 0)
	if err != nil {
		d.syntax(err)
		return d
	}
	var body ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			d.fail(doc.Body, "a second document begins here, and a recipe is one; take the --- out")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		d.failAt(0, 0, "the recipe is empty")
		return d
	}
	d.group("", body)
	return d
}

// isText refuses what YAML cannot hold, and what a parser would change unseen.
func (d *document) isText(src []byte) bool {
	if len(src) > maxRecipe {
		d.failAt(0, 0, "the file has %d bytes, and a recipe at most %d; is it a recipe?", len(src), maxRecipe)
		return false
	}
	for i, line := range d.lines {
		column := 0
		for at, r := range line {
			_, size := utf8.DecodeRuneInString(line[at:])
			column++
			switch {
			case r == utf8.RuneError && size == 1:
				d.failAt(i+1, column, "byte 0x%02x is not UTF-8; save the file as UTF-8", line[at])
				return false
			case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
				d.failAt(i+1, column, `here stands the control character U+%04X; in a text in double quotes write "\u%04x"`, r, r)
				return false
			}
		}
	}
	return true
}

// group checks a group of keys.
func (d *document) group(path string, n ast.Node) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		what := "a recipe"
		if path != "" {
			what = path
		}
		d.fail(n, "%s must be a group of keys, and is %s", what, nodeKind(n))
		return
	}
	for _, pair := range m.Values {
		name, ok := pair.Key.(*ast.StringNode)
		if !ok {
			d.fail(pair.Key, "a key must be a plain word, and this is %s; there are %s", nodeKind(pair.Key), strings.Join(within(path), ", "))
			continue
		}
		key := find(join(path, name.Value))
		if key == nil || strings.Contains(name.Value, ".") {
			d.fail(name, "there is no key %s%s; %s", show(name.Value), in(path), d.whereTo(path, name.Value))
			continue
		}
		d.value(key, name, pair.Value)
	}
}

func (d *document) value(key *Key, name, n ast.Node) {
	d.keys[key.Path] = name
	if key.Refused != "" {
		d.fail(name, "%s is %s: %s", key.Path, notYet, key.Refused)
	}
	switch n := n.(type) {
	case *ast.NullNode:
		d.fail(name, "%s has no value; give it one, or take the key out", key.Path)
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.fail(n, "anchors, aliases and tags are not read in a recipe; write the value out")
		return
	}
	d.nodes[key.Path] = n
	_, group := n.(*ast.MappingNode)
	if key.Kind == KindMap || key.Kind == KindEither && group {
		d.group(key.Path, n)
	}
}

// whereTo says what to write in place of a wrong key.
func (d *document) whereTo(path, name string) string {
	for _, k := range keys { // the right word in the wrong place
		dir, last := cutLast(k.Path)
		if last != name || dir == path {
			continue
		}
		d.meant[k.Path] = true
		if dir == "" {
			return fmt.Sprintf("%s belongs at the left margin, not into a group", name)
		}
		return fmt.Sprintf("%s belongs into the group %s", name, dir)
	}
	known := within(path)
	if best := nearest(name, known); best != "" {
		d.meant[join(path, best)] = true
	}
	return suggest(name, known)
}

// missing tells whether the recipe lacks a key, and no other fault says so already.
func (d *document) missing(path string) bool {
	return d.keys[path] == nil && !d.meant[path]
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// has tells whether the recipe has a key with a value.
func (d *document) has(path string) bool { return d.nodes[path] != nil }

// syntax turns the parser's error into one of ours.
func (d *document) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		d.failAt(0, 0, "it is not valid YAML: %v", err)
		return
	}
	hint := ""
	if strings.HasPrefix(e.GetToken().Value, "\t") || strings.Contains(e.GetMessage(), "'\t'") {
		hint = "; indent with spaces"
	}
	p := e.GetToken().Position
	d.failAt(p.Line, p.Column, "it is not valid YAML: %s%s", e.GetMessage(), hint)
}

// fail adds a fault at a node.
func (d *document) fail(n ast.Node, format string, args ...any) {
	line, column := place(n)
	d.failAt(line, column, format, args...)
}

// failKey adds a fault at the value of a key, or at the key where it has none, or at the group that should have it.
func (d *document) failKey(path string, format string, args ...any) {
	for at := path; ; {
		if n := d.nodes[at]; n != nil && at == path {
			d.fail(n, format, args...)
			return
		}
		if n := d.keys[at]; n != nil {
			d.fail(n, format, args...)
			return
		}
		if at, _ = cutLast(at); at == "" {
			d.failAt(0, 0, format, args...)
			return
		}
	}
}

func (d *document) failAt(line, column int, format string, args ...any) {
	d.errs = append(d.errs, &Error{File: d.file, Line: line, Column: column, Err: fmt.Errorf(format, args...)})
}

// place gives where a value begins. A group's own token is the colon behind its first key.
func place(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && m.GetToken().Type == token.MappingValueType {
		return place(m.Values[0].Key)
	}
	p := n.GetToken().Position
	return p.Line, p.Column
}

func nodeKind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode:
		return "a group of keys"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "empty"
	}
	return "something else (an anchor, a tag or a merge)"
}
