// Package postgres is the shared store: a schema of a PostgreSQL database, for any number of processes on any number of
// machines.
//
// Every write of every caller in a process goes through one committer, which commits whatever is pending in one
// transaction, so that durability costs little when there is much to do. The transactions of several processes run beside
// each other; what they decide on they have locked. The server's clock is the only one that counts. No setting of a
// session is relied on, so that a pooler that hands sessions round by transaction may stand between.
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/siding-dev/siding"
)

// Store is a [siding.Store] in a schema of a PostgreSQL database.
type Store struct {
	at    address
	opts  Options
	info  siding.StoreInfo
	pool  *pgxpool.Pool
	texts texts

	ops    chan *op
	stop   chan struct{} // closed when the store is to close
	ended  chan struct{} // closed when the committer has ended
	beats  sync.WaitGroup
	closer sync.Once
	closed error

	seen    atomic.Int64 // the latest of [Options.Clock]
	process atomic.Int64 // processes.id of this store; 0 before it is registered

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

// Open opens the store at an address (postgres://USER@HOST/DATABASE?schema=NAME, or what libpq takes), and creates it when
// there is none. What dead processes left behind is freed at once; see [Store.Reap].
//
// Errors, besides those of the network: [os.ErrNotExist] (wrapped) when with o.MustExist there is no store; [ErrPlace];
// [ErrUnavailable]; [siding.ErrNewerStore]; [siding.ErrStoreMode]; [siding.ErrReadOnly]; [siding.ErrDiskFull].
func Open(ctx context.Context, address string, options ...Options) (*Store, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	o = o.withDefaults()
	at, err := parse(address, o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), at.config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.shown, err)
	}
	s := &Store{
		at: at, opts: o, pool: pool, texts: texts{schema: at.schema}, ops: make(chan *op, maxGroup), stop: make(chan struct{}),
		ended: make(chan struct{}), names: newNames(), scans: map[siding.InputID]int64{}, solos: map[siding.LeaseToken]bool{},
		dropped: map[string]int64{},
	}
	if err := s.open(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	if o.ReadOnly {
		close(s.ended)
		return s, nil
	}
	go s.commit()
	if err := s.enlist(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.beats.Go(s.beat)
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if !s.opts.MustExist {
		// Where a process died between the migration and this row, the next one makes it.
		err := s.read(ctx, func(c *conn) error {
			_, err := c.exec(`INSERT INTO meta (one, store_id, format, simulated, created_at)
				SELECT 1, ?::text, ?::bigint, ?::boolean, tick(1, ?, ?) WHERE NOT EXISTS (SELECT 1 FROM meta) ON CONFLICT DO NOTHING`,
				rand.Text(), Format, s.opts.Mode == Simulated, s.wall(), s.at.class)
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.readInfo(ctx)
}

// readInfo reads what the store is, and refuses one that is not meant.
func (s *Store) readInfo(ctx context.Context) error {
	found := false
	err := s.read(ctx, func(c *conn) (err error) {
		found, err = c.one(func(r *row) {
			s.info = siding.StoreInfo{ID: r.str(0), Format: int(r.int(1)), Simulated: r.bool(2), URL: s.at.shown}
		}, "SELECT store_id, format, simulated FROM meta")
		return err
	})
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s is damaged: it does not say what store it is", s.at.shown)
	}
	if s.info.Format > Format {
		return s.newerStore(int64(s.info.Format))
	}
	kind := map[bool]string{true: "simulated", false: "real"}
	if m := s.opts.Mode; m != Any && s.info.Simulated != (m == Simulated) {
		return fmt.Errorf("%s holds %s work, and this is %s: %w; give another schema with ?schema=NAME",
			s.at.shown, kind[s.info.Simulated], kind[m == Simulated], siding.ErrStoreMode)
	}
	return nil
}

// Info tells what the store is.
func (s *Store) Info(context.Context) (siding.StoreInfo, error) { return s.info, nil }

// Now gives the store's time. The time given out is kept, so that no other process gives out an earlier one, whatever
// becomes of the server's clock; a store that is open for reading gives it without keeping it.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	query, args := "SELECT tick(1, ?, ?)", []any{s.wall(), s.at.class}
	if s.opts.ReadOnly {
		query, args = "SELECT peek(?)", args[:1]
	}
	var now int64
	err := s.readWith(ctx, func(c *conn) (err error) {
		now, err = c.number(query, args...)
		return err
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
		if s.process.Load() != 0 {
			s.closed = s.delist()
		}
		s.end()
	})
	return s.closed
}

// end stops what works for the store.
func (s *Store) end() {
	close(s.stop)
	<-s.ended
	s.beats.Wait()
	s.pool.Close()
}
