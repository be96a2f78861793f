package intake

import (
	"bytes"
	"errors"
	"io"

	"github.com/siding-dev/siding"
)

// csvMedia is the media type of a row that could not become a JSON object.
const csvMedia = "text/csv"

// rows reads CSV (RFC 4180): a header row, then one record a row. A row that cannot be taken apart is set aside with its
// exact bytes, and reading goes on with the row after it.
type rows struct {
	src       *source
	rec       gatherer
	separator byte
	maxSize   int64 // the longest row that is taken whole
	header    header
	row       csvRow
}

// newRows reads the header. An empty file has no header and no rows.
func newRows(src *source, separator byte, id Pointer, maxBody int64) (*rows, error) {
	if separator == 0 {
		separator = sniff(src.peekLine(sniffBytes))
	}
	r := &rows{src: src, separator: separator}
	r.setMaxSize(maxHeader)
	p, err := r.next()
	if errors.Is(err, io.EOF) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	r.row.split(p.bytes, r.separator)
	if r.header, err = newHeader(&r.row, p, id); err != nil {
		return nil, &Error{Line: p.line, Offset: p.offset, Err: err}
	}
	r.setMaxSize(maxBody)
	return r, nil
}

// setMaxSize sets the longest row that is taken whole. A window more is held, so that a quote which turns out never to be
// closed can be gone back to.
func (r *rows) setMaxSize(n int64) { r.maxSize, r.rec.limit = n, n+windowSize }

// next gives the exact bytes of the next row that is not blank, or io.EOF.
func (r *rows) next() (piece, error) {
	for {
		if err := r.src.fill(); err != nil {
			return piece{}, err
		}
		p, err := r.gather()
		if err != nil || !r.isBlank(p) {
			return p, err
		}
	}
}

// isBlank tells a row that is passed over. One of nothing but tabs has fields, where tabs separate them.
func (r *rows) isBlank(p piece) bool {
	return p.blank && (r.separator != '\t' || bytes.IndexByte(p.bytes, '\t') < 0)
}

// gather reads one row. It ends at a line feed outside quotes. A quoted field that spans lines and turns out to be none
// (text follows the quote that closes it, it is not closed at the end of the file, or it makes the row too large) began
// with a stray quote: its row ends on the line on which that field began, and the lines after it are read anew. Each byte
// is read at most three times so, because lines within such a field have no quotes but doubled ones.
func (r *rows) gather() (piece, error) {
	line, offset := r.src.line, r.src.offset
	r.rec.reset()
	state, lineEnd := csvStart, int64(-1) // lineEnd: of the first line of the quoted field we are in, in the row
	for {
		if err := r.src.fill(); errors.Is(err, io.EOF) {
			if state == csvQuoted && lineEnd >= 0 && r.rec.sum == nil {
				return r.endAt(lineEnd, line, offset), nil
			}
			break
		} else if err != nil {
			return piece{}, err
		}
		w := r.src.window
		for i, c := range w {
			if csvOrdinary(state, c, r.separator) {
				continue
			}
			before := state
			var fault error
			state, fault = csvStep(state, c, r.separator)
			switch {
			case c == '\n' && (before != csvQuoted || r.rec.n > r.maxSize):
				r.rec.writeLine(w[:i])
				r.src.advance(i + 1)
				return r.take(line, offset), nil
			case c == '\n' && lineEnd < 0:
				lineEnd = r.rec.n + int64(i)
			case before == csvStart && state == csvQuoted:
				lineEnd = -1
			case fault != nil && lineEnd >= 0 && before != csvPlain && r.rec.sum == nil:
				r.rec.writeLine(w[:i])
				r.src.advance(i)
				return r.endAt(lineEnd, line, offset), nil
			}
		}
		r.rec.writeLine(w)
		r.src.advance(len(w))
		if r.rec.n > r.maxSize && lineEnd >= 0 && state == csvQuoted && r.rec.sum == nil {
			return r.endAt(lineEnd, line, offset), nil
		}
	}
	return r.take(line, offset), nil
}

// endAt ends the row at a line feed in it, and puts back what has been read behind that.
func (r *rows) endAt(lineEnd, line, offset int64) piece {
	again := bytes.Clone(r.rec.buf[lineEnd+1:])
	r.src.unread(again)
	row := bytes.TrimSuffix(r.rec.buf[:lineEnd], []byte{'\r'})
	r.rec.buf, r.rec.n, r.rec.markedAt = row, int64(len(row)), -1
	return r.take(line, offset)
}

// take gives the row without the carriage return of its line end.
func (r *rows) take(line, offset int64) piece {
	r.rec.dropReturn()
	p := r.rec.take(line, offset)
	if p.size > r.maxSize {
		p.whole = false
		p.bytes = bytes.Clone(p.bytes[:min(int64(len(p.bytes)), headBytes, r.maxSize)])
	}
	return p
}

// fill makes a message of the row that it holds: a JSON object of strings in the order of the header, or, where the row
// is no such record, the row itself, set aside.
func (r *rows) fill(m *siding.NewMessage) {
	raw := m.Body
	r.row.split(raw, r.separator)
	if m.Dead != nil { // too large: the last field is cut
		r.row.intact = min(r.row.intact, len(r.row.fields)-1)
	} else {
		m.Body, m.Dead = r.header.object(&r.row, raw, r.maxSize)
	}
	if m.Dead != nil {
		m.Body, m.ContentType = raw, csvMedia
		if m.Dead.Cause == siding.CauseBodyTooLarge {
			m.Body = bytes.Clone(raw[:min(len(raw), headBytes)])
		}
	}
	r.header.identify(m, &r.row)
}
