// Package memory is a [siding.Store] in memory, for simulations and tests. It is the plainest store that keeps all that
// the interface promises, but for durability: one mutex, maps, no goroutine of its own. Other stores are compared with
// it, and it runs in virtual time.
//
// Several processes on one database are several stores on the same data; see [Store.Another], [Store.Kill] and
// [Store.Restart].
package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/siding-dev/siding"
)

// Options of a store. The zero value is ready for use.
type Options struct {
	// Clock is the wall clock, [time.Now] by default. It may jump: the store's time never runs backwards for it.
	Clock func() time.Time
	// Simulated marks the store as one of simulated work.
	Simulated bool
	// Hook, for tests, is called in every write, with a point of it and the method's name (Enqueue, Lease, Settle …).
	// An error fails the write there, and the method returns it. The points:
	//
	//   - before: nothing has been looked at yet.
	//   - after: the changes are made, but not kept.
	//   - before-commit: they are about to be kept.
	//   - after-commit: they are kept; only the answer gets lost.
	//
	// At after and before-commit it must neither block nor call the store.
	Hook func(point, op string) error
}

// Store is one process's handle on the data. Its methods may be called by many goroutines.
type Store struct {
	o    Options
	db   *database
	proc *process
}

var _ siding.Store = (*Store)(nil)

// Open makes a new, empty store.
func Open(o Options) *Store {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Hook == nil {
		o.Hook = func(string, string) error { return nil }
	}
	db := &database{info: siding.StoreInfo{ID: rand.Text(), Format: 1, Simulated: o.Simulated, URL: "memory:"}}
	db.empty()
	return &Store{o: o, db: db, proc: &process{}}
}

// Another gives a store on the same data for another process, with the same options. Like every opening of a store it
// frees what dead processes have left. It may be called on a closed or killed store too.
func (s *Store) Another() *Store {
	t := &Store{o: s.o, db: s.db}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	t.proc = &process{boot: s.db.boot}
	x := &tx{database: s.db, proc: t.proc, now: s.db.tick(s.o.Clock())}
	x.reap()
	return t
}

// Kill makes the process a dead one, as kill -9 does: nothing is cleaned up, and the store answers [siding.ErrClosed]
// from now on. What it held is freed by the next [siding.Queue.Reap] of another process.
func (s *Store) Kill() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.proc.gone = cmp.Or(s.proc.gone, siding.CauseWorkerCrash)
}

// Restart kills every process on the data at once, as a restart of their machine does. [Store.Another] opens it again.
func (s *Store) Restart() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.db.boot++
}

// Close ends the process's registration. What it still has leased is freed like that of a stopped process.
func (s *Store) Close() error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.proc.gone = cmp.Or(s.proc.gone, siding.CauseShutdown)
	return nil
}

// Info tells what the store is.
func (s *Store) Info(ctx context.Context) (siding.StoreInfo, error) {
	var info siding.StoreInfo
	err := s.read(ctx, func(x *tx) error {
		info = x.info
		return nil
	})
	return info, err
}

// Now gives the store's time.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.read(ctx, func(x *tx) error {
		now = x.now
		return nil
	})
	return now, err
}

// process is one process that has opened the data.
type process struct {
	boot int          // of the machine, when the process began
	gone siding.Cause // why it is dead; empty while it lives
}

// database is what all processes share.
type database struct {
	mu   sync.Mutex
	info siding.StoreInfo
	boot int // counts the machine's restarts

	wall   time.Time     // the latest reading of the wall clock
	offset time.Duration // what is added to it since it jumped back
	last   time.Time     // the latest time given out

	tables
}

// tick gives the store's time for a reading of the wall clock. Where that has jumped back, the store's goes on at the
// wall clock's pace; where that stands still, by a microsecond at a time.
func (d *database) tick(wall time.Time) time.Time {
	wall = wall.UTC().Truncate(time.Microsecond)
	if wall.Before(d.wall) {
		d.offset += d.wall.Sub(wall)
	}
	d.wall = wall
	now := wall.Add(d.offset)
	if !now.After(d.last) {
		now = d.last.Add(time.Microsecond)
	}
	d.last = now
	return now
}

// fate tells why a process is dead, or nothing while it lives.
func (d *database) fate(p *process) siding.Cause {
	if p.gone == "" && p.boot != d.boot {
		return siding.CauseHostRestart
	}
	return p.gone
}
