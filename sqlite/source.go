package sqlite

import "github.com/siding-dev/siding"

const (
	sourceQuery = `SELECT s.ordinal, f.name, s.line, s.offset, coalesce(s.source_hash, s.hash) FROM members s
		LEFT JOIN files f ON f.id = s.file WHERE s.input = ? AND s.ordinal = ?`
	originQuery = `SELECT s.ordinal, f.name, s.line, s.offset, s.source_hash FROM origins s
		LEFT JOIN files f ON f.id = s.file WHERE s.message = ?`
)

func (r *row) source(i int) siding.Source {
	return siding.Source{Ordinal: r.int(i), File: r.str(i + 1), Line: r.int(i + 2), Offset: r.int(i + 3), SourceHash: r.hash(i + 4)}
}

// sourceOf tells where a message came from: its place in the input that enqueued it last, or what is left of that. nil
// when no input ever did.
func sourceOf(c *conn, m *stored) (*siding.Source, error) {
	if !m.hasInput {
		return nil, nil
	}
	var src siding.Source
	read := func(r *row) { src = r.source(0) }
	found, err := c.one(read, sourceQuery, m.input, m.ordinal)
	if err == nil && !found {
		found, err = c.one(read, originQuery, m.id)
	}
	if err != nil || !found {
		return nil, err
	}
	return &src, nil
}
