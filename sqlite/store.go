// Package sqlite is the embedded store: one file, no server, any number of processes on one machine.
//
// Every write of every caller goes through one committer for the open store, which commits whatever is pending in one
// transaction (synced to the disk before anybody is answered), so that durability costs little when there is much to
// do. Decisions are read inside the write transaction, so that several processes on one file are safe; readers see
// snapshots and keep no writer waiting. docs/store.md explains the tables.
package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/siding-dev/siding"
)

// Store is a [siding.Store] in one SQLite file.
type Store struct {
	path  string
	opts  Options
	info  siding.StoreInfo
	clock *clock
	lock  *lockFile // nil when read-only

	writer *conn
	ops    chan *op
	stop   chan struct{} // closed when the store is to close
	ended  chan struct{} // closed when the committer has ended
	closer sync.Once
	closed error

	readers   chan *conn // idle connections
	readSlots chan struct{}
	readDSN   string

	process     int64 // processes.id of this store
	processByte int64

	// queues and files remember the numbers of names that have been committed; those never change.
	names names
	// scans remembers where looking through an input's members stopped; only a hint.
	scans map[siding.InputID]int64
	// solos has the leases of this process beside which there may be no other. It may also have some that are over; the
	// committer looks.
	solos map[siding.LeaseToken]bool
	// dropped remembers, by queue, where looking for bodies of done messages that retention drops has stopped; only a hint.
	dropMu  sync.Mutex
	dropped map[string]int64
}

// Open opens the store at a path (or a URL sqlite:PATH), and creates it when there is none. What dead processes left
// behind is freed at once; see [Store.Reap].
//
// Errors, besides those of the disk: [os.ErrNotExist] (wrapped) when the directory, or with o.MustExist the file, is
// missing; [ErrPlace]; [siding.ErrNewerStore]; [siding.ErrStoreMode]; [siding.ErrReadOnly]; [siding.ErrDiskFull].
func Open(ctx context.Context, path string, options ...Options) (*Store, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	o = o.withDefaults()
	path, err := storePath(path)
	if err != nil {
		return nil, err
	}
	exists, err := checkPath(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, opts: o, clock: &clock{wall: o.Clock}, readers: make(chan *conn, maxReaders),
		readSlots: make(chan struct{}, maxReaders), ops: make(chan *op, maxGroup), stop: make(chan struct{}),
		ended: make(chan struct{}), names: newNames(), scans: map[siding.InputID]int64{}, solos: map[siding.LeaseToken]bool{},
		dropped: map[string]int64{},
	}
	if o.ReadOnly {
		err = s.openReadOnly()
	} else {
		err = s.openWriter(ctx, exists)
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	if o.ReadOnly {
		close(s.ended)
		return s, nil
	}
	go s.commit()
	if err := s.enlist(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) openWriter(ctx context.Context, exists bool) (err error) {
	if exists {
		if err := writable(s.path); err != nil {
			return err
		}
	}
	if s.lock, err = openLockFile(s.path + "-lock"); err != nil {
		return explainOS(s.path, err)
	}
	unlock, err := s.lock.setup()
	if err != nil {
		return explainOS(s.path, err)
	}
	defer unlock()
	if err := create(s.path); err != nil {
		return err
	}
	timeout := fmt.Sprintf("_busy_timeout=%d", busyTimeout.Milliseconds())
	// The WAL is copied back in large pieces, and cut after it has grown: both cost little that way.
	name := dsn(s.path, timeout, "_journal_mode=WAL", "_synchronous=FULL", "_txlock=immediate", "_dqs=0",
		"_pragma=wal_autocheckpoint(4000)", "_pragma=journal_size_limit(67108864)", "_pragma=cache_size(-24576)")
	s.readDSN = dsn(s.path, timeout, "_query_only=1", "_dqs=0", "_pragma=cache_size(-4096)")
	if s.writer, err = dial(name); err != nil {
		return explain(s.path, err)
	}
	format, err := layout(s.writer, s.path)
	if err != nil {
		return err
	}
	if format < Format {
		if err := migrate(ctx, s.path, name); err != nil {
			return err
		}
	}
	// Where a process died between the migration and this row, the next one makes it.
	now := s.clock.tick()
	_, err = s.writer.exec(`INSERT INTO meta (one, store_id, format, simulated, created_at, clock_last, clock_offset)
		VALUES (1, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`, rand.Text(), Format, s.opts.Mode == Simulated, now, now)
	if err != nil {
		return explain(s.path, err)
	}
	return s.readInfo(s.writer)
}

// readInfo reads what the store is, and refuses one that is not meant.
func (s *Store) readInfo(c *conn) error {
	found, err := c.one(func(r *row) {
		s.info = siding.StoreInfo{ID: r.str(0), Format: int(r.int(1)), Simulated: r.bool(2), URL: "sqlite:" + s.path}
		s.clock.learn(r.int(3), r.int(4))
	}, "SELECT store_id, format, simulated, clock_last, clock_offset FROM meta")
	if err != nil {
		return explain(s.path, err)
	}
	if !found {
		return fmt.Errorf("%s is damaged: it does not say what store it is", s.path)
	}
	if s.info.Format > Format {
		return newerStore(s.path, int64(s.info.Format))
	}
	kind := map[bool]string{true: "simulated", false: "real"}
	if m := s.opts.Mode; m != Any && s.info.Simulated != (m == Simulated) {
		return fmt.Errorf("%s holds %s work, and this is %s: %w; give another path with --store",
			s.path, kind[s.info.Simulated], kind[m == Simulated], siding.ErrStoreMode)
	}
	return nil
}

// writable finds out early that a file cannot be written: SQLite would open it for reading instead. It does not open
// the file, for the reason given at createMutex.
func writable(path string) error {
	if err := access(path); err != nil {
		return explainOS(path, &os.PathError{Op: "write", Path: path, Err: err})
	}
	return nil
}

// Info tells what the store is.
func (s *Store) Info(context.Context) (siding.StoreInfo, error) { return s.info, nil }

// Now gives the store's time. The time given out is kept, so that no other process gives out an earlier one, whatever
// becomes of this one and of the machine's clock; a store that is open for reading gives it without keeping it.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now int64
	if s.opts.ReadOnly {
		err := s.read(ctx, func(*conn) error { now = s.clock.tick(); return nil })
		return fromMicros(now), err
	}
	err := s.write(ctx, "now", 0, func(t *tx) error {
		now, t.wrote = t.now, true
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	return fromMicros(now), nil
}

// Close ends the process's registration and frees the store. What it has leased, and the calls it has started, are
// freed by the next [Store.Reap] of any process, as those of a process that died.
func (s *Store) Close() error {
	s.closer.Do(func() {
		if s.process != 0 {
			s.closed = s.delist()
		}
		close(s.stop)
		<-s.ended
		s.closed = errors.Join(s.closed, s.release())
	})
	return s.closed
}

// release closes what is open.
func (s *Store) release() error {
	var errs []error
	for range maxReaders {
		select { // waits for readers at work
		case s.readSlots <- struct{}{}:
		case <-time.After(closeWait):
			errs = append(errs, fmt.Errorf("close %s: a reader is still at work", s.path))
		}
	}
	for {
		select {
		case c := <-s.readers:
			errs = append(errs, c.close())
			continue
		default:
		}
		break
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.close())
	}
	return errors.Join(errs...)
}
