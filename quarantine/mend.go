package quarantine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// fixJSON mends JSON that is broken in one of the ways that have one reading only; docs/quarantine.md says which. JSON
// that is well-formed stays as it is, byte for byte. Anything else is refused, with what is ambiguous about it.
func fixJSON(d Draft) ([]byte, error) {
	if syntax(d.Body) == nil {
		return d.Body, nil
	}
	m := mender{scanner: scanner{b: d.Body}, rewriter: rewriter{b: d.Body}, closer: -1, doubtful: -1}
	if bytes.HasPrefix(d.Body, bom) {
		m.replace(0, len(bom), "")
		m.scanner.at = len(bom)
	}
	if err := m.read(); err != nil {
		return nil, err
	}
	body := m.result()
	if fault := syntax(body); fault != nil {
		return nil, fmt.Errorf("it cannot be mended: %s", fault.text)
	}
	return body, nil
}

// mender reads a broken JSON text as the scanner does, and writes it as it should be.
type mender struct {
	scanner
	rewriter

	// marks are, for each container that is open, how much of the result had been written when its latest comma came, or
	// else when it was opened: what is left when the member after that is cut away.
	marks []int
	// quotes counts the quotation marks that were taken for a part of their text.
	quotes int
	// mended tells whether anything was changed between the beginning and the end of the text.
	mended bool
	// closer is where the quotation mark stands that ended the latest string; -1: none yet.
	closer int
	// doubtful is a quotation mark that ends a string, as everything is read here, and could as well stand inside of a
	// text together with the next one; -1: none.
	doubtful int
}

// ambiguous says why a text is not mended.
func (m *mender) ambiguous(at int, format string, args ...any) error {
	return fmt.Errorf("it is left alone: %s, at offset %d", fmt.Sprintf(format, args...), at)
}

// read reads the whole text.
func (m *mender) read() error {
	s := &m.scanner
	for {
		s.space()
		if s.at == len(s.b) {
			return m.ended()
		}
		c := s.b[s.at]
		var err error
		switch {
		case s.expect == expectNothing:
			return m.ambiguous(s.at, "something follows after the value, and either could be the one that is meant")
		case s.expect == expectComma && c == ',':
			m.comma()
		case s.expect == expectComma && s.closes(c), s.expect == expectKeyOrClose && c == '}', s.expect == expectValueOrClose && c == ']':
			s.close()
		case s.expect == expectComma:
			return m.ambiguous(s.at, "%s", s.afterValue().text)
		case s.expect == expectKey || s.expect == expectKeyOrClose:
			err = m.key(c)
		case c == '"':
			err = m.text()
		default:
			err = m.other(c)
		}
		if err != nil {
			return err
		}
	}
}

// comma takes a comma, and leaves it out where it stands before what closes the object or array.
func (m *mender) comma() {
	s := &m.scanner
	at := s.at
	s.comma()
	m.marks[len(s.open)-1] = m.written(at)
	if s.space(); s.at < len(s.b) && s.closes(s.b[s.at]) {
		m.replace(at, at+1, "")
		m.mended = true
		s.close()
	}
}

// other takes a value that is no string.
func (m *mender) other(c byte) error {
	s := &m.scanner
	from := s.at
	t, fault := s.value(c)
	switch {
	case fault == nil && t.kind == kindNumber && t.to == len(s.b) && len(s.open) > 0:
		m.cutMember() // digits may be missing
	case fault == nil:
		if t.kind == kindObject || t.kind == kindArray {
			m.marks = append(m.marks[:len(s.open)-1], m.written(t.to))
		}
		return nil
	case fault.code == codeEnd && c != '-' && (c < '0' || c > '9'): // only one word begins so
		w := word(s.b[from:])
		m.replace(len(s.b), len(s.b), halfWord(w)[len(w):])
		s.at = len(s.b)
		s.valueEnded()
		return m.closeAll()
	case fault.code == codeEnd && len(s.open) > 0:
		m.cutMember()
	default:
		return m.ambiguous(fault.at, "%s", fault.text)
	}
	s.at = len(s.b)
	return m.closeAll()
}

// ended is for the end of the text outside of a string.
func (m *mender) ended() error {
	s := &m.scanner
	switch {
	case s.expect == expectNothing:
		return m.certain()
	case len(s.open) == 0:
		return errors.New("there is nothing in it")
	case s.expect == expectKey, s.expect == expectValue:
		m.cutMember()
	}
	return m.closeAll()
}

// cutMember takes away the member or element that is not whole, with the comma in front of it.
func (m *mender) cutMember() {
	if end := len(m.rewriter.b); m.changed { // something in it may have been mended already
		m.replace(end, end, "")
		m.out = m.out[:m.marks[len(m.marks)-1]]
	} else {
		m.replace(m.marks[len(m.marks)-1], end, "")
	}
}

// closeAll closes what is open at the end of the text.
func (m *mender) closeAll() error {
	if m.quotes > 0 {
		return m.ambiguous(len(m.scanner.b), "the end is missing, and quotation marks are not escaped: together that can be read in several ways")
	}
	if m.doubtful >= 0 && looksWhole(m.scanner.b) {
		return m.ambiguous(m.doubtful, "what closes an object or array is missing; it could stand in a text that ends too early here")
	}
	end := make([]byte, 0, len(m.open))
	for _, open := range slices.Backward(m.open) {
		if open.array {
			end = append(end, ']')
		} else {
			end = append(end, '}')
		}
	}
	m.replace(len(m.rewriter.b), len(m.rewriter.b), string(end))
	m.open = m.open[:0]
	m.scanner.at, m.expect = len(m.scanner.b), expectNothing
	return nil
}

// looksWhole tells whether a text ends in what closes an object or array.
func looksWhole(b []byte) bool {
	b = bytes.TrimRight(b, " \t\r\n")
	return len(b) > 0 && (b[len(b)-1] == '}' || b[len(b)-1] == ']')
}

// certain says whether it is certain which quotation marks end a text.
func (m *mender) certain() error {
	if m.mended && m.doubtful >= 0 {
		return m.ambiguous(m.doubtful, "something is not escaped or is too many, and this quotation mark could end its text or stand in it")
	}
	return nil
}

// isWordRune tells the characters of words and names.
func isWordRune(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// wordBefore tells whether a word ends right before a quotation mark.
func (m *mender) wordBefore(at int) bool {
	r, _ := utf8.DecodeLastRune(m.scanner.b[:at])
	return isWordRune(r)
}

// wordAfter tells whether a word begins right after a quotation mark.
func (m *mender) wordAfter(at int) bool {
	r, _ := utf8.DecodeRune(m.scanner.b[at+1:])
	return isWordRune(r)
}

// opens takes in the quotation mark that begins a string. Together with the one that ended the string before it, it could
// be a quotation inside of one text, if it looks like one: something in quotation marks that does not touch a word from
// outside.
func (m *mender) opens(at int) {
	if m.closer >= 0 && m.doubtful < 0 && !m.wordBefore(m.closer) && !m.wordAfter(at) {
		m.doubtful = m.closer
	}
}
