package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// bulk is one statement for many rows: its parameters are arrays, one for each column. For the server that is a
// fraction of the work of a statement a row.
type bulk struct {
	query   string
	columns [][]any
}

// row adds a row to the statement, which is carried out with what waits, after it. It must change exactly one row
// for each.
func (c *conn) row(query string, values ...any) {
	c.wrote = true
	var b *bulk
	for _, one := range c.bulks {
		if one.query == query {
			b = one
		}
	}
	if b == nil {
		b = &bulk{query: query, columns: make([][]any, len(values))}
		c.bulks = append(c.bulks, b)
	}
	for i, v := range values {
		b.columns[i] = append(b.columns[i], v)
	}
}

// gather queues the statements for many rows.
func (c *conn) gather() {
	for _, b := range c.bulks {
		args := make([]any, len(b.columns))
		for i := range b.columns {
			args[i] = b.columns[i]
		}
		n := int64(len(b.columns[0]))
		c.waiting.Queue(c.sql.of(b.query), args...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != n {
				return fmt.Errorf("a guarded write changed %d rows instead of %d: %.80q", tag.RowsAffected(), n, b.query)
			}
			return nil
		})
	}
	c.bulks = c.bulks[:0]
}
