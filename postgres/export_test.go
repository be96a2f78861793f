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
