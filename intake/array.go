package intake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// arrayReader reads the elements of a JSON array, each with its exact bytes. It follows strings, escapes and brackets by
// their bytes alone, so that what is broken within an element stays with that element as long as its quotes and brackets
// are in pairs.
type arrayReader struct {
	src    *source
	rec    gatherer
	nest   nesting
	opened bool
	failed error // what next gives from now on

	// Of the element under way:
	inString, escaped bool
	trailing          bool  // white space has been seen that ends the element, unless more follows
	last              byte  // its last byte that is not white space
	strByte           int64 // where the latest string begins
}

// next gives the next element, or io.EOF after the end of the array.
func (r *arrayReader) next() (piece, error) {
	if r.failed != nil {
		return piece{}, r.failed
	}
	p, err := r.element()
	if err != nil {
		r.failed = err
	}
	return p, err
}

func (r *arrayReader) element() (piece, error) {
	if !r.opened {
		if err := r.open(); err != nil {
			return piece{}, err
		}
	}
	for {
		if err := r.src.skipSpace(); errors.Is(err, io.EOF) {
			return piece{}, r.fault("the closing ] of the array is missing; is the file cut off?")
		} else if err != nil {
			return piece{}, err
		}
		switch r.src.window[0] {
		case ',': // an element of no bytes holds nothing that could be lost
			r.src.advance(1)
		case ']':
			r.src.advance(1)
			return piece{}, r.closed()
		default:
			return r.gather()
		}
	}
}

// open uses what stands before the first element.
func (r *arrayReader) open() error {
	if err := r.src.skipSpace(); err != nil {
		return err // an empty file has no records
	}
	if c := r.src.window[0]; c != '[' {
		return r.fault("a JSON array begins with [, and here stands %s; for one record a line, use --format jsonl", showByte(c))
	}
	r.src.advance(1)
	r.opened = true
	return nil
}

// closed looks at what stands after the array.
func (r *arrayReader) closed() error {
	if err := r.src.skipSpace(); err != nil {
		return err
	}
	return r.fault("the array has ended, and more follows (%s); every element before it has been read, what follows has not",
		showByte(r.src.window[0]))
}

// gather reads one element up to the comma or the bracket that ends it.
func (r *arrayReader) gather() (piece, error) {
	line, offset := r.src.line, r.src.offset
	r.rec.reset()
	r.nest.reset()
	r.inString, r.escaped, r.trailing = false, false, false
	for {
		if err := r.src.fill(); errors.Is(err, io.EOF) {
			return r.cutOff(line, offset)
		} else if err != nil {
			return piece{}, err
		}
		n, ended, mismatch := r.scan(r.src.window)
		r.src.advance(n)
		switch {
		case mismatch:
			return piece{}, r.fault("%s closes nothing that is open in the element that begins at line %d, byte %d, so that nobody "+
				"can tell where that element ends; mend it, or write the file as one record a line (--format jsonl)",
				showByte(r.src.window[0]), line, offset)
		case ended:
			return r.take(line, offset), nil
		}
	}
}

func (r *arrayReader) take(line, offset int64) piece {
	if r.trailing {
		r.rec.cutToMark()
	}
	return r.rec.take(line, offset)
}

// cutOff answers for an element that the end of the file ends: one that is visibly complete is given before the error.
func (r *arrayReader) cutOff(line, offset int64) (piece, error) {
	if r.inString {
		return piece{}, r.fault("the file ends within the string that begins at byte %d, in the element that begins at line %d, "+
			"byte %d; that element has not been read. Is the file cut off, or a quote within a string not escaped?",
			r.strByte, line, offset)
	}
	if r.nest.depth == 0 && (r.last == '}' || r.last == ']' || r.last == '"') {
		return r.take(line, offset), nil // the next call finds the missing bracket
	}
	return piece{}, r.fault("the file ends within the element that begins at line %d, byte %d; that element has not been read. "+
		"Is the file cut off?", line, offset)
}

// scan follows the element through w, gathers what belongs to it, and gives how many bytes it used.
func (r *arrayReader) scan(w []byte) (n int, ended, mismatch bool) {
	i, from := 0, 0
	for i < len(w) && !ended && !mismatch {
		if r.inString {
			i += r.inside(w[i:])
			continue
		}
		c := w[i]
		if r.nest.depth == 0 {
			if isSpace(c) {
				if !r.trailing {
					r.rec.write(w[from:i])
					r.rec.mark()
					from, r.trailing = i, true
				}
				i++
				continue
			}
			if c == ',' || c == ']' {
				ended = true
				continue
			}
			r.trailing = false
		}
		switch c {
		case '"':
			r.inString, r.strByte = true, r.src.offset+int64(i)
		case '{', '[':
			r.nest.push(c == '{')
		case '}', ']':
			mismatch = !r.nest.pop(c == '}')
		}
		if !isSpace(c) {
			r.last = c
		}
		if !mismatch {
			i++
		}
	}
	r.rec.write(w[from:i])
	return i, ended, mismatch
}

// inside gives how many bytes of w belong to the string that is open.
func (r *arrayReader) inside(w []byte) int {
	if !r.escaped {
		end := bytes.IndexByte(w, '"')
		if end >= 0 && bytes.IndexByte(w[:end], '\\') < 0 {
			r.inString, r.last = false, '"'
			return end + 1
		}
	}
	for i, c := range w {
		switch {
		case r.escaped:
			r.escaped = false
		case c == '\\':
			r.escaped = true
		case c == '"':
			r.inString, r.last = false, c
			return i + 1
		}
	}
	return len(w)
}

func (r *arrayReader) fault(format string, args ...any) error {
	return &Error{Line: r.src.line, Offset: r.src.offset, Err: fmt.Errorf(format, args...)}
}
