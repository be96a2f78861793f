package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	sqlitedriver "modernc.org/sqlite"
)

// conn is one connection with the statements prepared on it so far. It speaks to the driver without database/sql,
// whose locks and conversions cost as much as a small statement. It is used by one goroutine at a time.
type conn struct {
	c     driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	vals  []driver.Value
	// wrote tells that a statement has changed a row since it was last set to false.
	wrote bool
}

// dial opens a connection to a data source name of the driver.
func dial(dsn string) (*conn, error) {
	connector, err := sqlitedriver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	errs := make([]error, 0, 1)
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.60q: %w", query, err)
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case bool:
			a = int64(0)
			if v {
				a = int64(1)
			}
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// run executes a statement that is not about rows: BEGIN, COMMIT, PRAGMA.
func (c *conn) run(query string) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil) //nolint:forcetypeassert // the driver's always is
	return err
}

// exec executes an INSERT, UPDATE or DELETE and gives the number of rows changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	n, _, err := c.insert(query, args...)
	return n, err
}

// insert is exec that also gives the number of the row inserted last.
func (c *conn) insert(query string, args ...any) (n, id int64, err error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, 0, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args)) //nolint:forcetypeassert // the driver's always is
	if err != nil {
		return 0, 0, err
	}
	n, _ = r.RowsAffected()
	id, _ = r.LastInsertId()
	c.wrote = c.wrote || n > 0
	return n, id, nil
}

// query calls fn for each row. The row is only valid during the call, and no other statement may run on the connection
// with the same text meanwhile.
func (c *conn) query(fn func(*row) error, query string, args ...any) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args)) //nolint:forcetypeassert // the driver's always is
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	n := len(rows.Columns())
	vals := c.vals
	if cap(vals) < n {
		vals = make([]driver.Value, n)
	}
	vals, c.vals = vals[:n], nil // a query inside fn makes its own
	defer func() { c.vals = vals }()
	r := row{v: vals}
	for {
		switch err := rows.Next(vals); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		r.err = nil
		if err := fn(&r); err != nil {
			return err
		}
	}
}

// one calls fn for the first row and tells whether there was one.
func (c *conn) one(fn func(*row), query string, args ...any) (bool, error) {
	found := false
	err := c.query(func(r *row) error {
		if found {
			return nil
		}
		found = true
		fn(r)
		return r.err
	}, query, args...)
	return found, err
}

// number gives the first column of the first row as a whole number; 0 where there is no row or NULL.
func (c *conn) number(query string, args ...any) (n int64, err error) {
	_, err = c.one(func(r *row) { n = r.int(0) }, query, args...)
	return n, err
}

// row reads the columns of one row. The first that has another type than expected sets err, and reads as zero.
type row struct {
	v   []driver.Value
	err error
}

func (r *row) wrong(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d holds a %T where a %s is expected", i+1, r.v[i], want)
	}
}

func (r *row) null(i int) bool { return r.v[i] == nil }

// int gives a whole number; NULL is 0.
func (r *row) int(i int) int64 {
	switch v := r.v[i].(type) {
	case int64:
		return v
	case nil:
		return 0
	}
	r.wrong(i, "whole number")
	return 0
}

func (r *row) bool(i int) bool { return r.int(i) != 0 }

// str gives a text; NULL is empty.
func (r *row) str(i int) string {
	switch v := r.v[i].(type) {
	case string:
		return v
	case nil:
		return ""
	}
	r.wrong(i, "text")
	return ""
}

// blob gives bytes of the caller's own. The driver reads an empty blob as NULL, and so both are nil.
func (r *row) blob(i int) []byte {
	switch v := r.v[i].(type) {
	case []byte:
		return v
	case nil:
		return nil
	}
	r.wrong(i, "blob")
	return nil
}

// hash gives 32 bytes; NULL is the zero hash.
func (r *row) hash(i int) (h [32]byte) {
	b := r.blob(i)
	if b != nil && len(b) != len(h) {
		r.wrong(i, "hash of 32 bytes")
		return h
	}
	copy(h[:], b)
	return h
}

// time gives a moment; NULL is the zero time.
func (r *row) time(i int) time.Time {
	if r.v[i] == nil {
		return time.Time{}
	}
	return fromMicros(r.int(i))
}

// fromMicros gives the moment of a stored time.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// roundUp gives a moment in whole microseconds, not earlier; the zero time stays zero.
func roundUp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond).UTC()
}

// micros gives a moment as it is stored: in whole microseconds, not earlier; nil for the zero time.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return roundUp(t).UnixMicro()
}

// text gives a text as it is stored where empty means none: NULL.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
