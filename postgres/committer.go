package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// maxGroup bounds how many operations, and maxGroupBytes how many bytes of bodies, are committed together: enough that a
// sync of the disk costs each of them little, and little enough that the first does not wait long for the last.
const (
	maxGroup      = 512
	maxGroupBytes = 8 << 20
)

// groupTime bounds one transaction, waiting for others included; patience bounds how long a write is tried again that
// the database gave up or could not be reached for.
const (
	groupTime     = 60 * time.Second
	writePatience = 20 * time.Second
)

// op is one caller's operation. run may be called more than once, after what it did has been undone: it sets its results
// anew each time, and reads nothing from them before it has returned nil and the group is durable.
type op struct {
	ctx   context.Context //nolint:containedctx // the caller's, which waits for another goroutine to carry this out
	name  string
	bytes int
	run   func(*tx) error
	// shared tells that it may be done beside other processes' writes: all that it reads and changes are the gates and
	// the leased messages named here, what nobody else has locked, and what is new.
	shared bool
	tokens []siding.LeaseToken
	gates  []siding.GateKeys
	// fresh are messages that it enqueues in a queue.
	fresh   []incoming
	queue   string
	options siding.EnqueueOptions
	err     error
	done    chan struct{}
}

// write has an operation carried out while no other process writes; see [Store.do].
func (s *Store) write(ctx context.Context, name string, bytes int, run func(*tx) error) error {
	return s.do(&op{ctx: ctx, name: name, bytes: bytes, run: run})
}

// do has an operation carried out and waits until it is durable. When it gives an error, the results of run must not be
// looked at: the context may have ended while run is still at work.
func (s *Store) do(o *op) error {
	if s.opts.ReadOnly {
		return fmt.Errorf("%s: %w: it was opened for reading", s.at.shown, siding.ErrReadOnly)
	}
	o.done = make(chan struct{})
	select {
	case <-s.stop:
		return siding.ErrClosed
	default:
	}
	if err := o.ctx.Err(); err != nil {
		return err
	}
	select {
	case s.ops <- o:
	case <-o.ctx.Done():
		return o.ctx.Err()
	case <-s.ended:
		return siding.ErrClosed
	}
	select {
	case <-o.done:
	case <-o.ctx.Done():
		return o.ctx.Err()
	case <-s.ended:
		select { // it may have been the last
		case <-o.done:
		default:
			return siding.ErrClosed
		}
	}
	return s.explain(o.err)
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
//
// Mostly every operation of a group succeeds (a guard that fails is an answer, not an error), and then a savepoint for
// each would only cost time. When one fails, everything is undone; it is answered, and the others are carried out again.
// Where it is not known which of them the database refused, each is carried out by itself.
func (s *Store) runGroup(group []*op) {
	answer := func(o *op, err error) {
		o.err = err
		close(o.done)
	}
	for len(group) > 0 {
		rest := make([]*op, 0, len(group))
		for _, o := range group {
			if err := o.ctx.Err(); err != nil {
				answer(o, err)
				continue
			}
			rest = append(rest, o)
		}
		if group = rest; len(group) == 0 {
			return
		}
		failed, err := s.persist(group)
		switch {
		case failed != nil:
			answer(failed, err)
			rest = rest[:0]
			for _, o := range group {
				if o != failed {
					rest = append(rest, o)
				}
			}
			group = rest
		case isDatabase(err) && len(group) > 1 && !passing(err):
			for _, o := range group {
				s.runGroup([]*op{o})
			}
			return
		default:
			for _, o := range group {
				answer(o, err)
			}
			return
		}
	}
}

// persist carries out a group, again where that may succeed: the database gave up one of several that got into each
// other's way, or is being restarted. What may have been committed is not tried again.
func (s *Store) persist(group []*op) (failed *op, err error) {
	alone := false
	for _, o := range group {
		alone = alone || !o.shared
	}
	began := time.Now()
	for n := 0; ; n++ {
		failed, err = s.transact(group, alone)
		switch {
		case errors.Is(err, errAlone):
			alone = true
			continue
		case err == nil, failed != nil, !passing(err), errors.Is(err, ErrUncertain), time.Since(began) > writePatience:
			return failed, err
		}
		select {
		case <-time.After(pause(n)):
		case <-s.stop:
			return nil, err
		}
		waiting := false
		for _, o := range group {
			waiting = waiting || o.ctx.Err() == nil
		}
		if !waiting {
			return nil, err
		}
	}
}

// transact carries out the operations in one transaction. It stops at the first that fails, undoes everything and names
// it. Without a name the failure is of the transaction as a whole; nothing has changed then, unless it is uncertain.
func (s *Store) transact(group []*op, alone bool) (failed *op, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer pooled.Release()
	t, err := s.begin(&conn{c: pooled.Conn(), ctx: ctx, sql: &s.texts}, group, alone)
	if err != nil {
		t.rollback(ctx)
		return nil, err
	}
	if err := t.insertFresh(group); err != nil {
		t.rollback(ctx)
		return nil, err
	}
	for _, o := range group {
		if err := t.step(o); err != nil {
			t.rollback(ctx)
			if isDatabase(err) || errors.Is(err, errAlone) {
				return nil, err // it may have been another's, which waited
			}
			return o, err
		}
	}
	if err := s.hook(PointBeforeCommit, "group"); err != nil {
		t.rollback(ctx)
		return nil, err
	}
	uncertain, err := t.end()
	if err != nil {
		t.rollback(ctx)
		if uncertain && lost(err) {
			err = fmt.Errorf("%w; %w: %w", ErrUnavailable, ErrUncertain, err)
		}
		return nil, err
	}
	return nil, s.hook(PointAfterCommit, "group")
}

func (s *Store) hook(point, name string) error {
	if s.opts.Hook == nil {
		return nil
	}
	return s.opts.Hook(point, name)
}
