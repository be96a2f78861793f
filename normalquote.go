package siding

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closers gives what ends a quotation that begins with r; empty: r begins none.
func closers(r rune) string {
	switch r {
	case '"', '\'', '＂', '”':
		return string(r)
	case '`':
		return "`'"
	case '«':
		return "»"
	case '»':
		return "«"
	case '‹':
		return "›"
	case '›':
		return "‹"
	case '“':
		return "”“"
	case '„':
		return "“”" // or a straight one, where there is none of these
	case '‘':
		return "’"
	case '‚':
		return "‘’"
	case '「':
		return "」"
	case '『':
		return "』"
	case '《':
		return "》"
	case '〈':
		return "〉"
	}
	return ""
}

// quoted takes in the quotation at i, and gives its end; i: there is none.
func (n *normalizer) quoted(q *quotations, i, depth int) int {
	s := q.text
	open, size := utf8.DecodeRuneInString(s[i:])
	if open == '\'' && i > 0 {
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		// An apostrophe, unless it is Python's b'…'.
		if isWordRune(before) && !unideographic(before) && !(strings.ContainsRune("brufBRUF", before) && n.last() == strings.ToLower(string(before))) {
			return i
		}
	}
	from := i + size
	length, ends := q.find(from, open)
	if ends == 0 {
		if !n.cut {
			return i
		}
		n.mark()
		if line := strings.IndexByte(s[i:], '\n'); line > 0 {
			return i + line
		}
		return len(s)
	}
	content, end := s[from:from+length], from+length+ends
	switch {
	case n.sign == '=' && telling(n.last()) && depth < 3:
		n.sign = ':'
		n.text(unescaped.Replace(content), depth+1)
	case n.names(content, rest{text: s, at: end}):
		n.parts(content, rest{}, true)
		n.named, n.number, n.sign = true, false, 0
	default:
		n.mark()
	}
	return end
}

var unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`, `\n`, "\n", `\t`, " ", `\r`, " ", `\/`, "/")

// quotations finds the ends of quotations in a text, each in time linear in its length: where one has no end, those of
// the same kind behind it have none either.
type quotations struct {
	text    string
	endless map[rune]int // up to where
}

func (q *quotations) find(from int, open rune) (length, end int) {
	if from <= q.endless[open] {
		return 0, 0
	}
	for _, escapes := range []bool{true, false} { // a path may end with a backslash
		if length, end = quoteLen(q.text[from:], open, escapes); end > 0 {
			return length, end
		}
	}
	if open == '„' {
		if length, end = quoteLen(q.text[from:], '"', true); end > 0 {
			return length, end
		}
	}
	if q.endless == nil {
		q.endless = map[rune]int{}
	}
	q.endless[open] = len(q.text)
	if line := strings.IndexByte(q.text[from:], '\n'); line >= 0 && open < utf8.RuneSelf {
		q.endless[open] = from + line
	}
	return 0, 0
}

// quoteLen gives the length of a quotation's content and of its end; 0, 0: it has no end.
func quoteLen(s string, open rune, escapes bool) (length, end int) {
	ends := closers(open)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\\' && escapes:
			i++
			if i < len(s) {
				_, size = utf8.DecodeRuneInString(s[i:])
			}
		case r == '\n' && open < utf8.RuneSelf:
			return 0, 0
		case strings.ContainsRune(ends, r):
			after, _ := utf8.DecodeRuneInString(s[i+size:])
			if r != '\'' && r != '’' || i+size == len(s) || !isWordRune(after) || unideographic(after) {
				return i, size
			}
		}
		i += size
	}
	return 0, 0
}

// names tells whether a quotation is the name of something that is part of the fault, as a field is: by the word before it
// or behind it, and by its form.
func (n *normalizer) names(content string, r rest) bool {
	if content == "" || len(content) > 96 || strings.ContainsFunc(content, func(c rune) bool {
		return !isWordRune(c) && !strings.ContainsRune("-./[]$#*", c)
	}) {
		return false
	}
	pointer := content[0] == '/' || content[0] == '$' || content[0] == '#'
	before := n.last()
	switch {
	case pointer && (before == "at" || isNaming(before)), n.named:
		return !isPath(content)
	case content[0] == '/' || !unicode.IsLetter(first(content)) && content[0] != '_' && content[0] != '$' && content[0] != '[':
		return false
	case isNaming(before), strong[before], before == "named" && isNaming(n.lastBut(1)), jsAccess[before] && (n.lastBut(1) == "undefined" || n.lastBut(1) == "null"):
		return true
	}
	next, _ := r.next()
	next = strings.ToLower(next)
	if isNaming(next) || strings.HasPrefix(next, "フィールド") || strings.HasPrefix(next, "字段") {
		return next != "key" && next != "type" && next != "table"
	}
	return strings.HasPrefix(r.text[r.at:], " is a required property")
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// group takes in the JSON, the list of values or the value in brackets at i, and gives its end; i: it is text.
func (n *normalizer) group(s string, i, depth int) int {
	switch {
	case n.sign == 0 && (strings.HasPrefix(s[i:], "{}") || strings.HasPrefix(s[i:], "[]")) && (i+2 == len(s) || !isWordRune(first(s[i+2:]))):
		n.mark()
		return i + 2
	case s[i] == '{':
		inner := strings.TrimLeft(s[i+1:], " \t\n")
		if inner == "" || strings.IndexByte(`"'}`, inner[0]) < 0 || inner[0] == '}' && n.sign != '=' {
			return i
		}
	case s[i] == '(' && depth < 3:
		if code, said, size := codedError(s[i:]); size > 0 {
			n.word(code)
			n.between()
			n.text(unescaped.Replace(said), depth+1)
			return i + size
		}
		if n.sign != '=' && !isValues(s[i:]) {
			return i
		}
	case n.sign == '=' && !telling(n.last()):
	case isValues(s[i:]):
	default:
		return i
	}
	end := i + balanced(s[i:])
	if end == i {
		if !n.cut && s[i] != '{' {
			return i
		}
		end = len(s)
	}
	if s[i] == '{' && depth < 4 && (n.sign != '=' || telling(n.last())) && speaks(s[i:end]) {
		n.object(s[i+1:end], depth)
	} else {
		n.mark()
	}
	n.between()
	return end
}

// balanced gives the length of what is in brackets, with them; 0: they are not closed.
func balanced(s string) int {
	q := quotations{text: s}
	open := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			if length, end := q.find(i+1, rune(s[i])); end > 0 {
				i += length + end
			}
		case '{', '[', '(':
			open++
		case '}', ']', ')':
			if open--; open == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// codedError reads an error as drivers of databases show it in Python: (2006, 'MySQL server has gone away').
func codedError(s string) (code, said string, size int) {
	code, rest, _ := strings.Cut(s[1:], ", ")
	if len(code) < 3 || len(code) > 5 || strings.Trim(code, "0123456789") != "" || rest == "" || rest[0] != '\'' && rest[0] != '"' {
		return "", "", 0
	}
	length, end := quoteLen(rest[1:], rune(rest[0]), true)
	if end == 0 || !strings.HasPrefix(rest[1+length+end:], ")") {
		return "", "", 0
	}
	return code, rest[1 : 1+length], len(s) - len(rest) + length + end + 2
}

// isValues tells whether brackets hold a list with a number or a literal in it, as databases show a row: then everything
// in it is a value.
func isValues(s string) bool {
	end := strings.IndexAny(s[1:], ")]}([{=:\n") + 1
	if end < 2 || s[end] != ')' && s[end] != ']' || strings.IndexByte(s[:end], ',') < 0 {
		return false
	}
	literal := false
	for each := range strings.SplitSeq(s[1:end], ",") {
		each = strings.TrimSpace(each)
		quoted := len(each) > 1 && (each[0] == '\'' || each[0] == '"') && each[len(each)-1] == each[0]
		if each == "" || !quoted && strings.IndexByte(each, ' ') >= 0 {
			return false
		}
		literal = literal || literals[strings.ToLower(each)] || !quoted && strings.Trim(each, "0123456789.-") == ""
	}
	return literal
}

var literals = set("null", "none", "nil", "true", "false")
