package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// conn is one connection at work. It is used by one goroutine at a time.
//
// Statements that only write can wait for the next that reads: they go to the server together with it, so that what
// costs is not the way to the server and back. What is read is read after what was written before, always.
type conn struct {
	c       *pgx.Conn
	ctx     context.Context //nolint:containedctx // of the work for which the connection was taken
	sql     *texts
	waiting pgx.Batch
	bulks   []*bulk
	wrote   bool // a statement has changed a row, or one waits that may
}

// maxWaiting bounds how many statements wait.
const maxWaiting = 4096

// send queues a statement that only writes. Its own error may come with a later one's.
func (c *conn) send(query string, args ...any) error {
	c.wrote = true
	c.waiting.Queue(c.sql.of(query), bind(args)...)
	return c.bound()
}

func (c *conn) bound() error {
	if c.waiting.Len() < maxWaiting {
		return nil
	}
	return c.flush()
}

// guarded queues an UPDATE, DELETE or INSERT that must change exactly one row; otherwise the store contradicts itself.
func (c *conn) guarded(query string, args ...any) error { return c.counted(1, query, args...) }

// counted is guarded for n rows.
func (c *conn) counted(n int64, query string, args ...any) error {
	c.wrote = true
	c.waiting.Queue(c.sql.of(query), bind(args)...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != n {
			return fmt.Errorf("a guarded write changed %d rows instead of %d: %.80q", tag.RowsAffected(), n, query)
		}
		return nil
	})
	return c.bound()
}

// flush carries out what waits.
func (c *conn) flush() error {
	c.gather()
	if c.waiting.Len() == 0 {
		return nil
	}
	b := c.waiting
	c.waiting = pgx.Batch{}
	return c.c.SendBatch(c.ctx, &b).Close()
}

// exec carries out a statement and gives the number of rows changed.
func (c *conn) exec(query string, args ...any) (n int64, err error) {
	c.gather()
	c.waiting.Queue(c.sql.of(query), bind(args)...).Exec(func(tag pgconn.CommandTag) error {
		n = tag.RowsAffected()
		return nil
	})
	err = c.flush()
	c.wrote = c.wrote || n > 0
	return n, err
}

// insert is exec of an INSERT with RETURNING id: it gives that of the row; 0 where none was inserted.
func (c *conn) insert(query string, args ...any) (id int64, err error) {
	id, err = c.number(query, args...)
	c.wrote = c.wrote || id != 0
	return id, err
}

// query calls fn for each row. The row is only valid during the call, in which the connection can do nothing else.
func (c *conn) query(fn func(*row) error, query string, args ...any) error {
	if c.gather(); c.waiting.Len() == 0 {
		rows, err := c.c.Query(c.ctx, c.sql.of(query), bind(args)...)
		if err != nil {
			return err
		}
		return eachRow(rows, fn)
	}
	c.ask(fn, query, args...)
	return c.flush()
}

// ask queues a query, for which fn is called by the flush.
func (c *conn) ask(fn func(*row) error, query string, args ...any) {
	c.gather()
	c.waiting.Queue(c.sql.of(query), bind(args)...).Query(func(rows pgx.Rows) error { return eachRow(rows, fn) })
}

func eachRow(rows pgx.Rows, fn func(*row) error) error {
	defer rows.Close()
	var r row
	for rows.Next() {
		if r.fields == nil { // where the connection was lost there are none
			r.fields = rows.FieldDescriptions()
		}
		r.v, r.err = rows.RawValues(), nil
		if err := fn(&r); err != nil {
			return err
		}
	}
	return rows.Err()
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

// bind makes arguments fit to be sent. What is stored has been scrubbed or checked; a text that PostgreSQL would refuse
// is only ever one to look for, and there is nothing of that name.
func bind(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			if !storable(v) {
				args[i] = nowhere
			}
		case []string:
			for k := range v {
				if !storable(v[k]) {
					w := append([]string(nil), v...)
					for j := range w {
						if !storable(w[j]) {
							w[j] = nowhere
						}
					}
					args[i] = w
					break
				}
			}
		}
	}
	return args
}

// nowhere is a text that stands in no column: control characters are scrubbed from all.
const nowhere = "\x01"

func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// The types of columns that are read, by their numbers in PostgreSQL.
const (
	oidBool  = 16
	oidBytea = 17
	oidInt8  = 20
	oidInt2  = 21
	oidInt4  = 23
	oidText  = 25
)

// row reads the columns of one row. The first that has another type than expected sets err, and reads as zero.
type row struct {
	v      [][]byte
	fields []pgconn.FieldDescription
	err    error
}

func (r *row) wrong(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d holds type %d where a %s is expected", i+1, r.fields[i].DataTypeOID, want)
	}
}

func (r *row) null(i int) bool { return r.v[i] == nil }

// int gives a whole number; NULL is 0.
func (r *row) int(i int) int64 {
	if r.v[i] == nil {
		return 0
	}
	if r.fields[i].Format == pgx.BinaryFormatCode {
		switch r.fields[i].DataTypeOID {
		case oidInt8:
			return int64(binary.BigEndian.Uint64(r.v[i]))
		case oidInt4:
			return int64(int32(binary.BigEndian.Uint32(r.v[i])))
		case oidInt2:
			return int64(int16(binary.BigEndian.Uint16(r.v[i])))
		}
	}
	r.wrong(i, "whole number")
	return 0
}

// bool gives a truth value; NULL is false.
func (r *row) bool(i int) bool {
	if r.v[i] == nil {
		return false
	}
	if r.fields[i].DataTypeOID != oidBool || r.fields[i].Format != pgx.BinaryFormatCode {
		r.wrong(i, "truth value")
		return false
	}
	return r.v[i][0] != 0
}

// str gives a text; NULL is empty.
func (r *row) str(i int) string {
	if r.v[i] == nil {
		return ""
	}
	if r.fields[i].DataTypeOID != oidText {
		r.wrong(i, "text")
		return ""
	}
	return string(r.v[i])
}

// blob gives bytes of the caller's own. Nothing and no bytes are the same.
func (r *row) blob(i int) []byte {
	if len(r.v[i]) == 0 {
		return nil
	}
	if r.fields[i].DataTypeOID != oidBytea || r.fields[i].Format != pgx.BinaryFormatCode {
		r.wrong(i, "blob")
		return nil
	}
	return append([]byte(nil), r.v[i]...)
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
