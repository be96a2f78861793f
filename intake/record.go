package intake

import (
	"bytes"
	"crypto/sha256"
	"hash"
)

// headBytes is how much is kept of a record that is too large.
const headBytes = 64 << 10

// gatherer gathers the bytes of one record after another: all of them up to a limit, and beyond it only their number and
// their hash, so that a record of any length takes bounded memory.
type gatherer struct {
	limit int64
	buf   []byte    // the first bytes, at most limit
	n     int64     // how many there are in all
	sum   hash.Hash // of all of them, once they are more than limit
	solid bool      // one of them is not white space

	markedAt  int64
	markedSum hash.Hash
}

// piece is a gathered record. Its bytes are its own.
type piece struct {
	line, offset int64 // where it begins
	bytes        []byte
	size         int64
	sum          [sha256.Size]byte
	whole        bool // false: bytes are only the first of size
	blank        bool // nothing but white space
}

func (g *gatherer) reset() {
	g.buf, g.n, g.sum, g.solid, g.markedAt, g.markedSum = g.buf[:0], 0, nil, false, -1, nil
}

func (g *gatherer) write(p []byte) {
	if g.sum == nil && g.n+int64(len(p)) > g.limit {
		g.sum = sha256.New()
		g.sum.Write(g.buf)
	}
	if g.sum != nil {
		g.sum.Write(p)
	}
	g.solid = g.solid || !blank(p)
	g.n += int64(len(p))
	g.buf = append(g.buf, p[:min(int64(len(p)), g.limit-int64(len(g.buf)))]...)
}

// writeLine writes a part of a line, the line feed not included. A carriage return at its end may turn out to belong to
// the line's end; see dropReturn.
func (g *gatherer) writeLine(p []byte) {
	n := len(p)
	if n == 0 || p[n-1] != '\r' {
		g.write(p)
		return
	}
	g.write(p[:n-1])
	g.mark()
	g.write(p[n-1:])
}

// dropReturn takes back the carriage return with which the line ends, if it does.
func (g *gatherer) dropReturn() {
	if g.n > 0 && g.markedAt == g.n-1 {
		g.cutToMark()
	}
}

// mark says that the record may end here, if what is written from now on turns out not to belong to it.
func (g *gatherer) mark() {
	g.markedAt, g.markedSum = g.n, nil
	if g.sum != nil {
		// Cannot fail: Go's SHA-256 can always be copied.
		if c, ok := g.sum.(hash.Cloner); ok {
			if copied, err := c.Clone(); err == nil {
				g.markedSum = copied
			}
		}
	}
}

// cutToMark takes back what was written after the mark.
func (g *gatherer) cutToMark() {
	g.n, g.sum = g.markedAt, g.markedSum
	g.buf = g.buf[:min(int64(len(g.buf)), g.n)]
}

// take gives the record and makes ready for the next. One of at most limit bytes is whole.
func (g *gatherer) take(line, offset int64) piece {
	p := piece{line: line, offset: offset, size: g.n, whole: g.sum == nil, blank: !g.solid}
	switch {
	case !p.whole:
		p.bytes = bytes.Clone(g.buf[:min(len(g.buf), headBytes)])
		g.sum.Sum(p.sum[:0])
	case len(g.buf) > windowSize: // copying it would need its memory twice
		p.bytes, g.buf = g.buf, nil
		p.sum = sha256.Sum256(p.bytes)
	default:
		p.bytes = append([]byte{}, g.buf...)
		p.sum = sha256.Sum256(p.bytes)
	}
	if cap(g.buf) > 4*windowSize {
		g.buf = nil // do not keep the memory of one giant for all that follow
	}
	g.reset()
	return p
}

// blank tells whether there is nothing but white space.
func blank(b []byte) bool {
	for _, c := range b {
		if !isSpace(c) {
			return false
		}
	}
	return true
}
