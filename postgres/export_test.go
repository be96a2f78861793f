package postgres

import "context"

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
