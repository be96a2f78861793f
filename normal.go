package siding

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// value stands for one value, or several in a row, in a normalised text.
const value = "#"

// A normalizer takes the values out of a text, in one walk from its beginning to its end.
type normalizer struct {
	words []string
	cut   bool // the text goes on somewhere else: what is open at its end is a value

	// What stands before the present place.
	number bool // a number, with nothing but space behind it: a unit or a counted noun may follow
	named  bool // a name in quotes was kept: others in the same list are too
	sign   byte // the latest sign since the last word or value; 0: nothing but space
	full   bool // as many words as count are there
}

// between forgets what stood before: a new sentence begins.
func (n *normalizer) between() { n.number, n.named, n.sign = false, false, '.' }

// last gives the last word, which is [value] for a value.
func (n *normalizer) last() string { return n.lastBut(0) }

func (n *normalizer) lastBut(i int) string {
	if len(n.words) <= i {
		return ""
	}
	return n.words[len(n.words)-1-i]
}

// text walks over a text. depth counts the texts that this one was found in.
func (n *normalizer) text(s string, depth int) {
	q := quotations{text: s}
	for i := 0; i < len(s) && !n.full; {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			i += size
		case r == '\\' && escapeLen(s[i:]) > 0:
			i += escapeLen(s[i:])
			n.number = false
		case closers(r) != "":
			if end := n.quoted(&q, i, depth); end > i {
				i = end
				continue
			}
			n.punctuation(r)
			i += size
		case r == '{' || r == '(' || r == '[':
			if end := n.group(s, i, depth); end > i {
				i = end
				continue
			}
			n.punctuation(r)
			i += size
		case isWordRune(r) || strings.ContainsRune(`/\~.@`, r):
			end := i + chunkLen(s[i:])
			n.chunk(s[i:end], rest{s, end, depth})
			i = end
		default:
			n.punctuation(r)
			i += size
		}
	}
}

func (n *normalizer) punctuation(r rune) {
	if r != ',' && r != '、' && r != '،' {
		n.named = false
	}
	n.number = false
	if n.sign = '.'; r < utf8.RuneSelf {
		n.sign = byte(r)
	}
}

// A rest is what follows in the text.
type rest struct {
	text  string
	at    int
	depth int
}

// next gives the next word after spaces, as it is written, and the byte that stands before it or in its place.
func (r rest) next() (word string, sign byte) {
	after := r.text[r.at:]
	trimmed := strings.TrimLeft(after, " ")
	if trimmed == "" {
		return "", 0
	}
	if len(trimmed) < len(after) {
		sign = ' '
	}
	end := strings.IndexFunc(trimmed, func(c rune) bool { return !isWordRune(c) })
	if end < 0 {
		end = len(trimmed)
	}
	if end == 0 {
		sign = trimmed[0]
	}
	return trimmed[:end], sign
}

// isWordRune tells what words are made of, in any script.
func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// chunkLen gives the length of what stands together up to a space, a quote, a bracket or the end of a sentence.
func chunkLen(s string) int {
	url := false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r), i > 0 && r == '\\' && escapeLen(s[i:]) > 0 && !strings.Contains(s[:min(i, 3)], `:\`):
			return max(i, size)
		case url && !strings.ContainsRune("\"'`<>»”", r):
		case r == '\'' || r == '’':
			before, _ := utf8.DecodeLastRuneInString(s[:i])
			after, _ := utf8.DecodeRuneInString(s[i+size:])
			if i == 0 || !unicode.IsLetter(before) || !unicode.IsLetter(after) || i == 1 && strings.ContainsRune("brufBRUF", before) {
				return max(i, size)
			}
		case closers(r) != "" || strings.ContainsRune("()[]{}<>|", r) || r > 0x2000 && unicode.IsPunct(r):
			return max(i, size)
		case r == ',' || r == ';':
			if i+1 >= len(s) || i == 0 || !digit(s[i-1]) || !digit(s[i+1]) {
				return max(i, size)
			}
		case r == '=' && i+1 < len(s) && strings.IndexByte("\"'`({[", s[i+1]) >= 0:
			return i + 1
		case r == ':' && strings.HasPrefix(s[i:], "://"):
			url = true
		}
		i += size
	}
	return len(s)
}

// escapeLen gives the length of what [Scrub] and string literals write in the place of a character that is not shown, and
// of the colour codes of terminals; 0: the backslash is another one.
func escapeLen(s string) int {
	if len(s) < 2 || s[0] != '\\' {
		return 0
	}
	switch s[1] {
	case 'n', 'r', 't', '"', '\'', '\\':
		if len(s) == 2 || !isWordRune(rune(s[2])) || s[1] != '\\' && s[1] != 'n' && s[1] != 'r' && s[1] != 't' {
			return 2
		}
	case 'x', 'u':
		digits := 2
		if s[1] == 'u' {
			digits = 4
		}
		if len(s) < 2+digits || strings.Trim(s[2:2+digits], "0123456789abcdefABCDEF") != "" {
			return 0
		}
		n := 2 + digits
		if s[:n] == `\x1b` || s[:n] == `\u001b` {
			n += colourLen(s[n:])
		}
		return n
	}
	return 0
}

// colourLen gives the length of the rest of a terminal's control sequence (ECMA-48, 5.4).
func colourLen(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	for i := 1; i < len(s) && i < 32; i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return 0
}

// word adds a word in lower case.
func (n *normalizer) word(w string) {
	w = strings.ToLower(w)
	if same, ok := sameWord[w]; ok {
		w = same
	}
	counted := n.number && n.sign == 0
	n.number, n.named, n.sign = false, n.named && joiners[w], 0
	switch {
	case counted && units[w]:
		return
	case counted && (w == "more" || w == "other"): // "and 3 more" says how many there are, and not what
		if joiners[n.lastBut(1)] {
			n.words = n.words[:len(n.words)-2]
		}
		return
	case dateWords[w]:
		if n.last() == value {
			return
		}
	case counted:
		w = stem(w)
	}
	n.add(w)
}

// mark adds a value.
func (n *normalizer) mark() {
	n.number, n.named, n.sign = false, false, 0
	for dateWords[n.last()] {
		n.words = n.words[:len(n.words)-1]
	}
	if joiners[n.last()] && n.lastBut(1) == value { // one list
		n.words = n.words[:len(n.words)-1]
	}
	if n.last() != value {
		n.add(value)
	}
}

func (n *normalizer) add(w string) {
	if w == "" || n.full {
		return
	}
	n.words = append(n.words, w)
	n.full = len(n.words) >= normalWords
}

// stem gives a counted noun without what tells one from many: byte and bytes, Zeile and Zeilen, байт and байтов.
func stem(w string) string {
	if w[0] >= utf8.RuneSelf {
		if r := []rune(w); len(r) > 4 && !unideographic(r[0]) {
			return string(r[:4])
		}
		return w
	}
	if len(w) < 3 {
		return w
	}
	if s, ok := strings.CutSuffix(w, "y"); ok {
		w = s + "i"
	}
	if s := strings.TrimRight(w, "ens"); len(s) > 1 {
		return s
	}
	return w
}

// unideographic tells the scripts that put no space between words.
func unideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}
