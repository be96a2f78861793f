package sqlite

import (
	"context"
	"time"

	"github.com/siding-dev/siding"
)

// maxReaders bounds the connections for reading; closeWait how long closing waits for those at work.
const (
	maxReaders = 4
	closeWait  = 10 * time.Second
)

// read calls fn with a connection for reading. Each statement sees the latest committed state; snapshot makes several
// see the same.
func (s *Store) read(ctx context.Context, fn func(*conn) error) error {
	select {
	case <-s.stop:
		return siding.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.opts.ReadOnly && s.clock.jumped() {
		// The sooner it is noticed, and kept, the less time is lost to it.
		if _, err := s.Now(ctx); err != nil {
			return err
		}
	}
	select {
	case s.readSlots <- struct{}{}:
	case <-s.stop:
		return siding.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.readSlots }()
	var c *conn
	select {
	case c = <-s.readers:
	default:
		var err error
		if c, err = dial(s.readDSN); err != nil {
			return explain(s.path, err)
		}
	}
	defer func() { s.readers <- c }()
	return explain(s.path, fn(c))
}

// snapshot is read within one transaction. It must be short: the log cannot be emptied while it lasts.
func (s *Store) snapshot(ctx context.Context, fn func(*conn) error) error {
	return s.read(ctx, func(c *conn) error {
		if err := c.run("BEGIN"); err != nil {
			return err
		}
		err := fn(c)
		if e := c.run("COMMIT"); err == nil {
			err = e
		}
		return err
	})
}
