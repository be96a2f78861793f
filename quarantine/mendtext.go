package quarantine

import "unicode/utf8"

// key reads a key and its colon.
func (m *mender) key(c byte) error {
	s := &m.scanner
	if c != '"' {
		return m.ambiguous(s.at, "%s", s.noKey().text)
	}
	m.opens(s.at)
	from := s.at
	end, err := m.plainText(from)
	if err != nil {
		return err
	}
	if end < 0 {
		if looksWhole(s.b) {
			return m.noEnd(from)
		}
		end = len(s.b)
	}
	top := s.top()
	top.index++
	top.key = [2]int{from, end}
	m.closer, s.at = end-1, end
	s.space()
	switch {
	case s.at == len(s.b): // cut off in the key, or after it
		m.cutMember()
		return m.closeAll()
	case s.b[s.at] != ':':
		return m.ambiguous(s.at, "after a key there should be a colon: a quotation mark in it is not escaped, or the colon is missing")
	}
	s.at++
	s.expect = expectValue
	return nil
}

// plainText reads a string in which every quotation mark is escaped, and gives where it ends, or -1 where the text ends
// before it.
func (m *mender) plainText(from int) (end int, err error) {
	b := m.scanner.b
	for i := from + 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n := escapeLength(b[i:])
			if n == 0 && !escapeIsCut(b[i:]) {
				return 0, m.badEscape(i)
			}
			i += max(n-1, 0)
		case c < ' ':
			m.escape(i)
		}
	}
	return -1, nil
}

// escape writes a control character as an escape.
func (m *mender) escape(i int) {
	m.replace(i, i+1, string(appendTextByte(nil, m.scanner.b[i])))
	m.mended = true
}

func (m *mender) badEscape(i int) error {
	return m.ambiguous(i, "%s is no escape that JSON knows, and what it was meant to be is not known", shorten(string(clip(m.scanner.b[i:], 2))))
}

// text reads a string that is a value, and escapes the quotation marks that cannot be its end.
func (m *mender) text() error {
	s := &m.scanner
	if n := len(s.open); n > 0 && s.open[n-1].array {
		s.open[n-1].index++
	}
	from := s.at
	m.opens(from)
	inside := 0
	for i := from + 1; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '\\':
			n := escapeLength(s.b[i:])
			if n == 0 && !escapeIsCut(s.b[i:]) {
				return m.badEscape(i)
			}
			if n == 0 {
				return m.openEnd(from, i)
			}
			i += n - 1
		case c < ' ':
			m.escape(i)
		case c == '"' && m.endsText(i):
			if inside%2 != 0 {
				return m.ambiguous(from, "in the text that begins here an odd number of quotation marks is not escaped")
			}
			m.closer, s.at = i, i+1
			s.valueEnded()
			return nil
		case c == '"':
			// They come in pairs around words: the first of a pair follows no word, and no word follows the second.
			if inside%2 == 0 && m.wordBefore(i) || inside%2 == 1 && m.wordAfter(i) {
				return m.ambiguous(i, "a quotation mark is not escaped, and does not stand as one of a pair around words")
			}
			m.replace(i, i, `\`)
			inside++
			m.quotes++
			m.mended = true
		}
	}
	return m.openEnd(from, len(s.b))
}

// endsText tells whether the quotation mark at i can end the value that is being read: whether something follows that
// may follow there. Where it is false, it cannot.
func (m *mender) endsText(i int) bool {
	b := m.scanner.b
	next := skipSpace(b, i+1)
	if next == len(b) || len(m.open) == 0 {
		return next == len(b)
	}
	if m.closes(b[next]) {
		return true
	}
	if b[next] != ',' {
		return false
	}
	next = skipSpace(b, next+1)
	if next == len(b) || m.closes(b[next]) { // a comma too many
		return true
	}
	if m.top().array {
		return beginsValue(b[next:])
	}
	if b[next] != '"' {
		return false
	}
	for j := next + 1; j < len(b); j++ { // a key, and its colon
		switch b[j] {
		case '\\':
			j++
		case '"':
			j = skipSpace(b, j+1)
			return j == len(b) || b[j] == ':'
		}
	}
	return true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// beginsValue tells whether b can begin with a value.
func beginsValue(b []byte) bool {
	switch c := b[0]; {
	case c == '"' || c == '{' || c == '[' || c == '-' || c >= '0' && c <= '9':
		return true
	case c != 't' && c != 'f' && c != 'n':
		return false
	}
	w := word(b)
	return w == "true" || w == "false" || w == "null" || len(w) == len(b) && halfWord(w) != ""
}

func (m *mender) noEnd(from int) error {
	return m.ambiguous(from, "the text that begins here has no end: a quotation mark is missing or not escaped, or the end was cut off")
}

// openEnd is for a text that ends inside a string: at is where what was understood of it ends.
func (m *mender) openEnd(from, at int) error {
	s := &m.scanner
	switch {
	case m.quotes > 0:
		return m.ambiguous(from, "the text that begins here has no end, and quotation marks are not escaped: together that can be read in several ways")
	case looksWhole(s.b):
		return m.noEnd(from)
	}
	// Half a character goes too: of an escape, of a surrogate pair, of the bytes of one.
	if at >= from+7 && escapeLength(s.b[at-6:]) == 6 && !m.escapedAt(from, at-6) {
		if r := hex4(s.b[at-4:]); r >= 0xd800 && r <= 0xdbff && !m.pairEndsAt(from, at) {
			at -= 6
		}
	}
	if at == len(s.b) {
		at -= halfRune(s.b[from+1:])
	}
	m.replace(at, len(s.b), `"`)
	s.valueEnded()
	return m.closeAll()
}

// escapedAt tells whether the byte at i is escaped by a backslash in front of it, in a string that begins at from.
func (m *mender) escapedAt(from, i int) bool {
	n := 0
	for i-1-n > from && m.scanner.b[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// pairEndsAt tells whether a whole surrogate pair ends at i.
func (m *mender) pairEndsAt(from, i int) bool {
	return i-12 > from && pairedEscape(m.scanner.b[i-12:]) && !m.escapedAt(from, i-12)
}

// halfRune gives how many bytes at the end of b are only the beginning of a character.
func halfRune(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
