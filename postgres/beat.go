package postgres

import (
	"context"
	"errors"
	"time"
)

// beatEvery is how often a process says that it lives, and looks whether others do. One whose beat has stood still for
// deadAfter looks is gone. Looks are counted, and not time: while nobody can reach the database nobody dies, and neither
// a clock that jumps nor a server that stood still for an hour kills anybody.
const (
	beatEvery = 3 * time.Second
	deadAfter = 10
)

// beat keeps saying that this process lives, until the store closes.
func (s *Store) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	w := watch{}
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
		all, err := s.look(ctx)
		cancel()
		if err != nil {
			continue // who works on the store is told; the next look may succeed
		}
		for _, p := range w.see(all, s.process.Load()) {
			s.opts.Logger.Warn("a process is gone: its beat stands still", "process", p.id, "host", p.host, "pid", p.pid)
			s.bury(p)
		}
	}
}

// look raises this process's beat and gives every process.
func (s *Store) look(ctx context.Context) (all []registered, err error) {
	err = s.read(ctx, func(c *conn) error {
		err := errors.Join(
			c.send("SELECT tick(1, ?, ?)", s.wall(), s.at.class),
			c.send("UPDATE processes SET beat = beat + 1 WHERE id = ? AND NOT gone", s.process.Load()))
		if err != nil {
			return err
		}
		return c.query(func(r *row) error {
			all = append(all, r.process())
			return r.err
		}, "SELECT "+processColumns+" FROM processes")
	})
	return all, err
}

// watch remembers how long the beats of others have stood still.
type watch map[int64]struct{ beat, still int64 }

// see takes in a look at all processes, and gives those that are gone.
func (w watch) see(all []registered, own int64) (gone []registered) {
	seen := map[int64]bool{}
	for _, p := range all {
		if p.id == own || p.gone {
			continue
		}
		seen[p.id] = true
		last, known := w[p.id]
		if known && last.beat == p.beat {
			last.still++
		} else {
			last.beat, last.still = p.beat, 0
		}
		if w[p.id] = last; last.still >= deadAfter {
			gone = append(gone, p)
		}
	}
	for id := range w {
		if !seen[id] {
			delete(w, id)
		}
	}
	return gone
}

// bury marks a process as gone, unless it has moved since; what it had is freed by who reaps.
func (s *Store) bury(p registered) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	_ = s.write(ctx, "reap", 0, func(t *tx) error {
		_, err := t.exec("UPDATE processes SET gone = true WHERE id = ? AND beat = ?", p.id, p.beat)
		return err
	})
}
