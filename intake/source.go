package intake

import (
	"bytes"
	"io"
)

// windowSize is how much of a file is looked at in one piece, in bytes.
const windowSize = 256 << 10

// source reads a file in windows and knows its place. What has been read can be put back.
type source struct {
	r      io.Reader
	space  []byte   // where windows are read into
	window []byte   // what has been read and not been used
	later  [][]byte // windows that come after this one, the next one last; see unread
	offset int64    // of the window in the file
	line   int64    // on which the window begins, from 1
	err    error    // of the last read; io.EOF at the end
}

func newSource(r io.Reader) *source {
	return &source{r: r, space: make([]byte, windowSize), line: 1}
}

// fill makes the window non-empty. At the end of the file it gives io.EOF, and keeps giving it.
func (s *source) fill() error {
	for empty := 0; len(s.window) == 0; {
		if n := len(s.later); n > 0 {
			s.window, s.later = s.later[n-1], s.later[:n-1]
			continue
		}
		if s.err != nil {
			return s.err
		}
		var n int
		n, s.err = s.r.Read(s.space)
		s.window = s.space[:n]
		if n > 0 {
			empty = 0
		} else if empty++; empty > 100 && s.err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return nil
}

// peek gives the first n bytes, or fewer at the end of the file. n is at most windowSize/2, and at most a few bytes have
// been used before.
func (s *source) peek(n int) []byte {
	for len(s.window) < n && s.err == nil {
		s.more()
	}
	return s.window[:min(n, len(s.window))]
}

// peekLine gives the first bytes, at least up to a line feed, but at most n. See peek.
func (s *source) peekLine(n int) []byte {
	for len(s.window) < n && s.err == nil && bytes.IndexByte(s.window, '\n') < 0 {
		s.more()
	}
	return s.window[:min(n, len(s.window))]
}

// more reads something behind the window, which begins near the beginning of its space.
func (s *source) more() {
	used := copy(s.space, s.window)
	var n int
	n, s.err = io.ReadAtLeast(s.r, s.space[used:], 1)
	s.window = s.space[:used+n]
}

// advance uses n bytes of the window.
func (s *source) advance(n int) {
	s.line += int64(bytes.Count(s.window[:n], []byte{'\n'}))
	s.offset += int64(n)
	s.window = s.window[n:]
}

// unread puts back what was used last, so that it is read again. The source keeps p.
func (s *source) unread(p []byte) {
	s.line -= int64(bytes.Count(p, []byte{'\n'}))
	s.offset -= int64(len(p))
	if len(s.window) > 0 {
		s.later = append(s.later, s.window)
	}
	s.window = p
}

// skipSpace uses JSON's white space. It gives the error of fill.
func (s *source) skipSpace() error {
	for {
		if err := s.fill(); err != nil {
			return err
		}
		n := 0
		for n < len(s.window) && isSpace(s.window[n]) {
			n++
		}
		s.advance(n)
		if len(s.window) > 0 {
			return nil
		}
	}
}

// isSpace tells JSON's white space.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
