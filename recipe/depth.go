package recipe

import (
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep a recipe may nest. The deepest sound one has four levels; the parser's time grows with the square
// of the depth, and a megabyte of brackets would keep it busy for hours.
const maxDepth = 100

// maxKeys is how many keys a recipe may have, for the same reason; docs/recipe.md lists fewer than 50.
const maxKeys = 1_000

// tooMuch refuses what nests deeper than maxDepth or has more than maxKeys keys. It looks at the tokens alone, so that brackets in texts do not count,
// and its time grows with the file's length.
func (d *document) tooMuch(src string) bool {
	var columns []int // where the open blocks begin
	flow, line, keys := 0, 0, 0
	for _, t := range lexer.Tokenize(src) {
		at := t.Position
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.MappingValueType:
			if keys++; keys > maxKeys {
				d.failAt(at.Line, at.Column, "the recipe has more than %d keys, and here is one more; is it a recipe?", maxKeys)
				return true
			}
		}
		// A block begins at the first word of a line, and behind each dash or question mark.
		if opens := t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType; flow == 0 && (opens || at.Line != line) {
			for len(columns) > 0 && columns[len(columns)-1] > at.Column {
				columns = columns[:len(columns)-1]
			}
			if len(columns) == 0 || columns[len(columns)-1] < at.Column {
				columns = append(columns, at.Column)
			}
		}
		line = at.Line
		if len(columns)+flow > maxDepth {
			d.failAt(at.Line, at.Column, "here the recipe is nested more than %d levels deep; is it a recipe?", maxDepth)
			return true
		}
	}
	return false
}
