package intake

import (
	"bytes"
	"errors"
	"io"
)

// lineReader reads JSON Lines: a record is what stands between line feeds, whatever it holds.
type lineReader struct {
	src *source
	rec gatherer
}

// next gives the next line that is not blank, or io.EOF.
func (r *lineReader) next() (piece, error) {
	for {
		if err := r.src.fill(); err != nil {
			return piece{}, err
		}
		if p, err := r.line(); err != nil || !p.blank {
			return p, err
		}
	}
}

// line gathers up to the next line feed or the end of the file. A carriage return at the end is dropped.
func (r *lineReader) line() (piece, error) {
	line, offset := r.src.line, r.src.offset
	r.rec.reset()
	for ended := false; !ended; {
		if err := r.src.fill(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return piece{}, err
		}
		w := r.src.window
		used := len(w)
		if i := bytes.IndexByte(w, '\n'); i >= 0 {
			ended, w, used = true, w[:i], i+1
		}
		r.rec.writeLine(w)
		r.src.advance(used)
	}
	r.rec.dropReturn()
	return r.rec.take(line, offset), nil
}
