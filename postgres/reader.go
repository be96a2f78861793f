package postgres

import (
	"context"

	"github.com/siding-dev/siding"
)

// read calls fn with a connection for reading. Each statement sees the latest committed state; snapshot makes several
// see the same.
func (s *Store) read(ctx context.Context, fn func(*conn) error) error {
	if err := s.notice(ctx); err != nil {
		return err
	}
	return s.readWith(ctx, fn)
}

// readWith is read without a look at the clock.
func (s *Store) readWith(ctx context.Context, fn func(*conn) error) error {
	select {
	case <-s.stop:
		return siding.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer c.Release()
	return s.failed(ctx, fn(&conn{c: c.Conn(), ctx: ctx, sql: &s.texts}))
}

// failed explains what a reader met: first that the caller has given up, or that the store was closed.
func (s *Store) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if e := ctx.Err(); e != nil {
		return e
	}
	select {
	case <-s.stop:
		if isDatabase(err) {
			return siding.ErrClosed
		}
	default:
	}
	return s.explain(err)
}

// snapshot is read within one transaction. It must be short: what is deleted meanwhile cannot be cleared away.
func (s *Store) snapshot(ctx context.Context, fn func(*conn) error) error {
	return s.read(ctx, func(c *conn) error {
		if _, err := c.c.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"); err != nil {
			return err
		}
		err := fn(c)
		if _, e := c.c.Exec(ctx, "COMMIT"); err == nil {
			err = e
		}
		return err
	})
}
