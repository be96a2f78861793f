package postgres

import (
	"context"

	"github.com/siding-dev/siding"
)

// Kill ends the store without any cleanup, as the end of a process does, and has it proven dead: what its machine, or
// time, would tell.
func (s *Store) Kill(ctx context.Context) error {
	id := s.process.Load()
	err := s.read(ctx, func(c *conn) error {
		_, err := c.exec("UPDATE processes SET gone = true WHERE id = ?", id)
		return err
	})
	s.closer.Do(s.end)
	return err
}

// Exec carries out a statement on the store's tables, behind its back.
func (s *Store) Exec(ctx context.Context, query string, args ...any) error {
	return s.read(ctx, func(c *conn) error {
		_, err := c.exec(query, args...)
		return err
	})
}

// Outdate gives the dead letters of a group another fingerprint, and what is known of it to that one's group.
func (s *Store) Outdate(ctx context.Context, k siding.GroupKey, fingerprint string) error {
	return s.write(ctx, "outdate", 0, func(tx *tx) error {
		q, err := tx.queue(k.Queue, false)
		if err == nil {
			_, err = tx.regroup(groupKey{q, k.Fingerprint}, 1<<30, func(siding.Cause, string) string { return fingerprint })
		}
		return err
	})
}

// Look has the store see all processes once, as each beat does; the watch remembers.
func (s *Store) Look(ctx context.Context, w Watch) error {
	all, err := s.look(ctx)
	if err != nil {
		return err
	}
	for _, p := range watch(w).see(all, s.process.Load()) {
		s.bury(p)
	}
	return nil
}

// Watch is what a store remembers of the beats of others.
type Watch watch

// DeadAfter is how many looks at a beat that stands still prove that a process is gone.
const DeadAfter = deadAfter

// Beat raises the store's beat.
func (s *Store) Beat(ctx context.Context) error {
	_, err := s.look(ctx)
	return err
}

// Process is the number under which the store is registered.
func (s *Store) Process() int64 { return s.process.Load() }
