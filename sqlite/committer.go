package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// maxGroup bounds how many operations, and maxGroupBytes how many bytes of bodies, are committed together: enough that a
// sync of the disk costs each of them little, and little enough that the first does not wait long for the last.
const (
	maxGroup      = 512
	maxGroupBytes = 8 << 20
)

// op is one caller's operation. run may be called more than once, after what it did has been undone: it sets its results
// anew each time, and reads nothing from them before it has returned nil and the group is durable.
type op struct {
	ctx   context.Context //nolint:containedctx // the caller's, which waits for another goroutine to carry this out
	name  string
	bytes int
	run   func(*tx) error
	err   error
	done  chan struct{}
}

// write has an operation carried out and waits until it is durable. bytes is about how much it writes. When write gives
// an error, the results of run must not be looked at: the context may have ended while run is still at work.
func (s *Store) write(ctx context.Context, name string, bytes int, run func(*tx) error) error {
	if s.opts.ReadOnly {
		return fmt.Errorf("%s: %w: it was opened for reading", s.path, siding.ErrReadOnly)
	}
	o := &op{ctx: ctx, name: name, bytes: bytes, run: run, done: make(chan struct{})}
	select {
	case <-s.stop:
		return siding.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.ops <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return siding.ErrClosed
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		select { // it may have been the last
		case <-o.done:
		default:
			return siding.ErrClosed
		}
	}
	return explain(s.path, o.err)
}

// commit is the committer: it takes whatever is pending, carries it out in one transaction, and replies. It never waits
// to gather a larger group: while one group is synced, the next gathers by itself.
func (s *Store) commit() {
	defer close(s.ended)
	group := make([]*op, 0, maxGroup)
	for {
		group = group[:0]
		select {
		case o := <-s.ops:
			group = append(group, o)
		case <-s.stop:
			for { // those who came before the end still get their turn
				select {
				case o := <-s.ops:
					s.runGroup([]*op{o})
					continue
				default:
				}
				return
			}
		}
		bytes := group[0].bytes
	gather:
		for len(group) < maxGroup && bytes < maxGroupBytes {
			select {
			case o := <-s.ops:
				group = append(group, o)
				bytes += o.bytes
			default:
				break gather
			}
		}
		s.runGroup(group)
	}
}

// runGroup carries out a group and answers each of its operations.
func (s *Store) runGroup(group []*op) {
	answer := func(o *op, err error) {
		o.err = err
		close(o.done)
	}
	rest := group[:0]
	for _, o := range group {
		if err := o.ctx.Err(); err != nil {
			answer(o, err)
			continue
		}
		rest = append(rest, o)
	}
	group = rest
	// Mostly every operation of a group succeeds (a guard that fails is an answer, not an error), and then a savepoint for
	// each would only cost time. When one fails, everything is undone, it is answered, and the others are carried out
	// again, each in its own savepoint.
	savepoints := s.opts.Hook != nil
	for len(group) > 0 {
		failed, err := s.transact(group, savepoints)
		if failed < 0 || savepoints {
			for _, o := range group {
				if o.err == nil {
					o.err = err
				}
				close(o.done)
			}
			return
		}
		answer(group[failed], err)
		group = append(group[:failed:failed], group[failed+1:]...)
		savepoints = true
	}
}

// transact carries out the operations in one transaction. Without savepoints it stops at the first that fails, undoes
// everything and gives its place. With them each failure is undone alone and kept in the operation. A failure of the
// transaction as a whole gives -1 and the error for all; nothing has changed then.
func (s *Store) transact(group []*op, savepoints bool) (failed int, err error) {
	endTurn, err := s.lock.turn()
	if err != nil {
		return -1, fmt.Errorf("wait for the turn to write: %w", err)
	}
	defer endTurn()
	t, err := s.begin()
	if err != nil {
		return -1, err
	}
	for i, o := range group {
		o.err = nil
		if err := t.step(o, savepoints); err != nil {
			if !savepoints {
				return i, errors.Join(err, t.rollback())
			}
			if o.err = err; t.broken {
				return -1, errors.Join(err, t.rollback())
			}
		}
	}
	if err := s.hook(PointBeforeCommit, "group"); err != nil {
		return -1, errors.Join(err, t.rollback())
	}
	if err := t.end(); err != nil {
		return -1, err
	}
	if err := s.hook(PointAfterCommit, "group"); err != nil {
		return -1, err
	}
	return -1, nil
}

func (s *Store) hook(point, name string) error {
	if s.opts.Hook == nil {
		return nil
	}
	return s.opts.Hook(point, name)
}
