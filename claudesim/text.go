package claudesim

import (
	"fmt"
	"math"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// text makes a string: by format, by pattern, or from the words of the prompt, within its lengths.
func (g *generator) text(name string, schema *ordered, hints limits) string {
	least := int(hints.number["minLength"])
	most := math.MaxInt32
	if v, ok := hints.number["maxLength"]; ok {
		most = int(math.Min(v, math.MaxInt32))
	}
	if hints.pattern != "" {
		if s, ok := g.matching(hints.pattern, least, most); ok {
			return s
		}
	}
	if format, ok := schema.get("format").(string); ok {
		if s := g.formatted(format); s != "" {
			return s
		}
	}
	s := g.named(strings.ToLower(name))
	for utf8.RuneCountInString(s) < least {
		s += " " + g.word()
	}
	if utf8.RuneCountInString(s) > most {
		s = g.fitting(s, least, most)
	}
	return s
}

// named is a string that suits a property's name.
func (g *generator) named(name string) string {
	for _, long := range []string{"summary", "description", "caption", "reason", "explanation", "comment", "note", "text", "answer"} {
		if strings.Contains(name, long) {
			return g.sentence()
		}
	}
	for _, single := range []string{"tag", "keyword", "label", "category", "word", "topic", "code", "color", "colour", "name", "type"} {
		if strings.Contains(name, single) {
			return g.word()
		}
	}
	return g.phrase()
}

// fitting shortens: a shorter word if there is one, else a cut between characters.
func (g *generator) fitting(s string, least, most int) string {
	for _, w := range g.words {
		if n := utf8.RuneCountInString(w); n >= least && n <= most {
			return w
		}
	}
	cut := strings.TrimSpace(string([]rune(s)[:most]))
	for utf8.RuneCountInString(cut) < least {
		cut += "a"
	}
	return cut
}

func (g *generator) formatted(format string) string {
	day := fmt.Sprintf("20%02d-%02d-%02d", g.IntN(30), 1+g.IntN(12), 1+g.IntN(28))
	clock := fmt.Sprintf("%02d:%02d:%02dZ", g.IntN(24), g.IntN(60), g.IntN(60))
	plain := fmt.Sprintf("%s%d", []string{"anna", "bo", "chen", "dina"}[g.IntN(4)], g.IntN(100))
	switch format {
	case "date":
		return day
	case "time":
		return clock
	case "date-time":
		return day + "T" + clock
	case "duration":
		return fmt.Sprintf("PT%dM", 1+g.IntN(59))
	case "email", "idn-email":
		return plain + "@example.com"
	case "hostname", "idn-hostname":
		return plain + ".example.com"
	case "uri", "iri", "uri-reference", "iri-reference":
		return "https://example.com/" + plain
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", g.IntN(256))
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", 1+g.IntN(0xfffe))
	case "uuid":
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", g.Uint32(), g.IntN(1<<16), g.IntN(1<<12), g.IntN(1<<12), g.Int64N(1<<48))
	}
	return ""
}

// matching makes a string for a pattern, trying a few times to meet the lengths as well. Patterns that Go does not
// know, such as those with lookahead, are left to chance.
func (g *generator) matching(pattern string, least, most int) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	re = re.Simplify()
	last := ""
	for range tries {
		var b strings.Builder
		g.expand(&b, re, 0)
		last = b.String()
		if n := utf8.RuneCountInString(last); n >= least && n <= most {
			return last, true
		}
		// An unanchored pattern allows more around it.
		if n := utf8.RuneCountInString(last); n < least && !strings.HasSuffix(pattern, "$") {
			return last + strings.Repeat("a", least-n), true
		}
	}
	return last, true
}

const maxPatternDepth = 100

func (g *generator) expand(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > maxPatternDepth || b.Len() > 1<<16 {
		return
	}
	times := func(least, most int) {
		for range least + g.IntN(most-least+1) {
			g.expand(b, re.Sub[0], depth+1)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.oneOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("abcdefghijklmnopqrstuvwxyz"[g.IntN(26)])
	case syntax.OpStar:
		times(0, 8)
	case syntax.OpPlus:
		times(1, 8)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + 8
		}
		times(re.Min, most)
	case syntax.OpAlternate:
		g.expand(b, re.Sub[g.IntN(len(re.Sub))], depth+1)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.expand(b, sub, depth+1)
		}
	}
}

// oneOf picks from a class given as pairs of bounds, by preference something that can be read.
func (g *generator) oneOf(ranges []rune) rune {
	for range 8 {
		i := 2 * g.IntN(len(ranges)/2)
		low, high := ranges[i], ranges[i+1]
		if low < 0x80 {
			high = min(high, '~')
		}
		r := low + rune(g.IntN(int(high-low)+1))
		if r > ' ' && r < 0x7f || low >= 0x80 && (r < 0xD800 || r > 0xDFFF) {
			return r
		}
	}
	return ranges[0]
}
