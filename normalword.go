package siding

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunk takes in what stands together between spaces.
func (n *normalizer) chunk(c string, r rest) {
	trimmed := strings.TrimRight(c, ".:!?;,-&")
	if strings.TrimLeft(trimmed, ".") == "" {
		n.punctuation(first(c))
		return
	}
	left, right, pair := strings.Cut(trimmed, "=")
	switch {
	case (n.sign == ':' || n.sign == '=' || n.sign == '#') && identifies(n.last()):
		n.mark()
	case strings.HasPrefix(trimmed, "charset="): // belongs to a media type
		n.mark()
	case pair && isName(left) && !isBase64(c):
		n.pair(left, right, r)
	case isBase64(c), strings.Contains(trimmed, "://"), strings.HasPrefix(trimmed, "www."), isMail(trimmed), isWindowsPath(trimmed), isAddress(trimmed):
		n.mark()
	case strings.ContainsRune(trimmed, '/'):
		n.slashes(trimmed, r)
	case isHost(trimmed), isFile(trimmed):
		n.mark()
	default:
		n.parts(trimmed, r, false)
	}
	if len(trimmed) < len(c) {
		n.punctuation(rune(c[len(c)-1]))
	}
}

// pair takes in a name with its value.
func (n *normalizer) pair(left, right string, r rest) {
	n.parts(left, rest{text: "="}, false)
	n.sign = '='
	switch {
	case right == "":
	case telling(strings.ToLower(left)):
		n.chunk(right, r)
	default:
		n.mark()
	}
}

// slashes takes in a path, a pointer, a media type, or words with a slash between them.
func (n *normalizer) slashes(c string, r rest) {
	head, tail, _ := strings.Cut(c, "/")
	switch {
	case strings.EqualFold(head, "http") && tail != "" && digit(tail[0]):
		n.word(head)
	case mediaTypes[strings.ToLower(head)] && !strings.Contains(tail, "/"):
		n.mark()
	case c[0] == '/' && n.isPointer(c, r):
		n.parts(c, r, true)
	case c[0] == '/' || c[0] == '~' || c[0] == '.' || strings.Count(c, "/") > 1 || isFile(c),
		n.last() == value && n.sign == 0: // the rest of a path with a space in it
		n.mark()
	default:
		n.parts(c, r, false)
	}
}

// isPointer tells a JSON Pointer from a path.
func (n *normalizer) isPointer(c string, r rest) bool {
	before := n.last()
	switch {
	case isPath(c), pathWords[before]:
		return false
	case n.sign == '#', before == "at", before == "missing", before == "required", isNaming(before), strings.Count(c, "/") == 1:
		return true
	case looseRoots[strings.Split(c, "/")[1]]:
		return false
	}
	for segment := range strings.SplitSeq(c[1:], "/") { // a place in a list
		if segment != "" && strings.Trim(segment, "0123456789") == "" {
			return true
		}
	}
	next, _ := r.next()
	return (n.sign != 0 || len(n.words) == 0) && (pointerVerbs[next] || isNaming(next))
}

// isPath tells what is a path for sure: by the folders that systems have, or by the name of a file.
func isPath(c string) bool {
	if c[0] != '/' {
		return false
	}
	top, _, deep := strings.Cut(c[1:], "/")
	return deep && roots[top] || isFile(c) || len(c) > 128 || strings.ContainsAny(c, "%?=&")
}

// parts takes in letters and digits one after the other, and leaves out the signs between them.
func (n *normalizer) parts(c string, r rest, named bool) {
	for i := 0; i < len(c); {
		end := i
		for end < len(c) {
			ch, size := utf8.DecodeRuneInString(c[end:])
			inside := end > i && end+size < len(c) && (ch == '-' || ch == '\'' || ch == '’')
			if !isWordRune(ch) && !inside {
				break
			}
			end += size
		}
		if end == i {
			ch, size := utf8.DecodeRuneInString(c[i:])
			n.punctuation(ch)
			i += size
			continue
		}
		at := r
		if end < len(c) {
			at = rest{text: c[end:]}
		}
		n.part(strings.TrimRight(c[i:end], "-'’"), named, at)
		i = end
	}
}

// part takes in letters and digits without a sign between them.
func (n *normalizer) part(p string, named bool, r rest) {
	p = strings.ReplaceAll(strings.Trim(p, "_"), "’", "'")
	switch {
	case p == "":
	case !strings.ContainsFunc(p, unicode.IsDigit):
		switch {
		case n.cut && r.at > 0 && strings.HasPrefix(r.text[r.at:], "…"): // half a word
		case isHexWord(p) || isRandom(p):
			n.mark()
		default:
			n.letters(p)
		}
	case techWords[strings.ToLower(p)], n.isCode(p, r), named && hasOneDigit(p):
		n.word(p)
	case strings.ContainsFunc(p, unideographic):
		n.scripts(p)
	default:
		n.mark()
		n.number = true
	}
}

// letters takes in a word without digits. Scripts without spaces are told from those with them.
func (n *normalizer) letters(p string) {
	for p != "" {
		ideographic := unideographic(first(p))
		end := strings.IndexFunc(p, func(r rune) bool { return unicode.IsLetter(r) && unideographic(r) != ideographic })
		if end <= 0 {
			end = len(p)
		}
		word := p[:end]
		p = p[end:]
		if ideographic && n.number && n.sign == 0 {
			word = withoutUnit(word)
		}
		if word = strings.Trim(word, "-'_"); word != "" {
			n.word(word)
		} else {
			n.number = false
		}
	}
}

// scripts takes in a part in which digits stand among the letters of a script without spaces.
func (n *normalizer) scripts(p string) {
	for p != "" {
		ideographic := unideographic(first(p))
		end := strings.IndexFunc(p, func(r rune) bool { return unideographic(r) != ideographic })
		if end < 0 {
			end = len(p)
		}
		if ideographic {
			n.letters(p[:end])
		} else {
			n.part(strings.Trim(p[:end], "-"), false, rest{text: p[end:]})
		}
		p = p[end:]
	}
}

// withoutUnit takes the unit off that a word of a script without spaces begins with.
func withoutUnit(w string) string {
	for _, unit := range unitPrefixes {
		if after, ok := strings.CutPrefix(w, unit); ok {
			return after
		}
	}
	return w
}

func hasOneDigit(p string) bool {
	before := p[:len(p)-1]
	return digit(p[len(p)-1]) && before != "" && !strings.ContainsFunc(before, unicode.IsDigit)
}

// isHexWord tells eight and more hexadecimal digits that happen to be letters.
func isHexWord(p string) bool {
	return len(p) >= 8 && strings.Trim(p, "abcdef") == "" || len(p) >= 8 && strings.Trim(p, "ABCDEF") == ""
}

// isRandom tells letters that no name has in this order: most of its humps (NoSuchKey has three) have no vowel.
func isRandom(p string) bool {
	if len(p) < 10 || strings.ContainsAny(p, "_-'") {
		return false
	}
	humps, mute, vowel := 0, 0, true
	for i := range len(p) {
		switch c := p[i]; {
		case c >= utf8.RuneSelf:
			return false
		case i == 0 || c <= 'Z' && p[i-1] >= 'a':
			humps++
			if !vowel {
				mute++
			}
			vowel = false
		}
		vowel = vowel || strings.IndexByte("aeiouyAEIOUY", p[i]) >= 0
	}
	if !vowel {
		mute++
	}
	return mute >= 3 && mute*2 >= humps
}

// identifies tells whether a word says that a value follows, whatever it looks like.
func identifies(w string) bool {
	return w == "id" || strings.HasSuffix(w, "_id") || strings.HasSuffix(w, "-id") || identifiers[w]
}
