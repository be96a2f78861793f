package postgres

import "github.com/siding-dev/siding"

const (
	sourceQuery = `SELECT s.ordinal, f.name, s.line, s.at_byte, coalesce(s.source_hash, s.hash) FROM members s
		LEFT JOIN files f ON f.id = s.file WHERE s.input = ? AND s.ordinal = ?`
	originQuery = `SELECT s.ordinal, f.name, s.line, s.at_byte, s.source_hash FROM origins s
		LEFT JOIN files f ON f.id = s.file WHERE s.message = ?`
)

func (r *row) source(i int) siding.Source {
	return siding.Source{Ordinal: r.int(i), File: r.str(i + 1), Line: r.int(i + 2), Offset: r.int(i + 3), SourceHash: r.hash(i + 4)}
}

// sourceOf tells where a message came from: its place in the input that enqueued it last, or what was kept apart from any
// input. nil when nobody said.
func sourceOf(c *conn, m *stored) (*siding.Source, error) {
	if !m.hasSource {
		return nil, nil //nolint:nilnil // nobody said
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

// setOrigin keeps where a message came from that no input has enqueued.
func (t *tx) setOrigin(message int64, in incoming) error {
	file, err := t.file(in.source.File)
	if err != nil {
		return err
	}
	err = t.send("INSERT INTO origins (message, ordinal, file, line, at_byte, source_hash) VALUES (?, ?, ?, ?, ?, ?)"+replaceOrigin,
		message, in.source.Ordinal, file, in.source.Line, in.source.Offset, in.source.SourceHash[:])
	return err
}

// replaceOrigin follows an INSERT INTO origins: the newest counts.
const replaceOrigin = ` ON CONFLICT (message) DO UPDATE SET ordinal = excluded.ordinal, file = excluded.file, line = excluded.line,
	at_byte = excluded.at_byte, source_hash = excluded.source_hash`
