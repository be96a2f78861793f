package quarantine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// piece is a token of a JSON document that was drawn.
type piece struct {
	text   string // as it is written
	string bool   // a value that is a text, or an element
	key    bool
	says   string // what it says, when it is a string or a key
}

// document is a JSON document as pieces, so that it can be damaged where it hurts.
type document []piece

func (d document) String() string {
	var b strings.Builder
	for _, p := range d {
		b.WriteString(p.text)
	}
	return b.String()
}

// drawDocument draws an object or an array.
func drawDocument(t *rapid.T, texts *rapid.Generator[string]) document {
	g := drawer{t: t, texts: texts}
	g.container(0)
	return g.out
}

type drawer struct {
	t     *rapid.T
	texts *rapid.Generator[string]
	out   document
}

func (g *drawer) add(text string) { g.out = append(g.out, piece{text: text}) }

func (g *drawer) space() {
	g.add(rapid.SampledFrom([]string{"", "", "", " ", "\n ", "\t"}).Draw(g.t, "space"))
}

func (g *drawer) text(key bool) {
	says := g.texts.Draw(g.t, "text")
	if key {
		says = rapid.SampledFrom([]string{"id", "title", "a/b", "x~y", "description", "n_1", "öl", "k"}).Draw(g.t, "key") + says[:0]
	}
	g.out = append(g.out, piece{text: quoteText(says), string: !key, key: key, says: says})
}

func (g *drawer) value(depth int) {
	if depth < 4 && rapid.IntRange(0, 3).Draw(g.t, "deep") == 0 {
		g.container(depth)
		return
	}
	switch rapid.IntRange(0, 3).Draw(g.t, "kind") {
	case 0:
		g.add(rapid.SampledFrom([]string{"0", "-1.5e+3", "12345678901234567890", "1.10", "7"}).Draw(g.t, "number"))
	case 1:
		g.add(rapid.SampledFrom([]string{"true", "false", "null"}).Draw(g.t, "literal"))
	default:
		g.text(false)
	}
}

func (g *drawer) container(depth int) {
	n := rapid.IntRange(0, 4).Draw(g.t, "members")
	array := rapid.Bool().Draw(g.t, "array")
	g.add(map[bool]string{true: "[", false: "{"}[array])
	taken := map[string]bool{}
	for i := range n {
		if i > 0 {
			g.add(",")
		}
		g.space()
		if !array {
			at := len(g.out)
			g.text(true)
			if taken[g.out[at].says] { // names are told apart, so that nothing depends on which counts
				name := fmt.Sprintf("%s%d", g.out[at].says, i)
				g.out[at] = piece{text: quoteText(name), key: true, says: name}
			}
			taken[g.out[at].says] = true
			g.space()
			g.add(":")
			g.space()
		}
		g.value(depth + 1)
		g.space()
	}
	g.add(map[bool]string{true: "]", false: "}"}[array])
}

// decoded reads JSON with its numbers as they are written.
func decoded(text string) any {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// pointers lists the places of a decoded document but the whole.
func pointers(v any, at string) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, each := range v {
			p := string(appendName([]byte(at), k))
			list = append(append(list, p), pointers(each, p)...)
		}
	case []any:
		for i, each := range v {
			p := fmt.Sprintf("%s/%d", at, i)
			list = append(append(list, p), pointers(each, p)...)
		}
	}
	return list
}

// changed gives a document in which change was made at a place: it gets the container and the name in it.
func changed(v any, names []string, change func(container any, name string) any) any {
	if len(names) == 1 {
		return change(v, names[0])
	}
	switch v := v.(type) {
	case map[string]any:
		v[names[0]] = changed(v[names[0]], names[1:], change)
	case []any:
		i, _ := arrayIndex(names[0])
		v[i] = changed(v[i], names[1:], change)
	}
	return v
}
