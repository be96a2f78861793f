package postgres

import "context"

// The clock of a store is the server's. Where [Options.Clock] takes its place, it does so in every process.

// wall gives the wall clock as a parameter: NULL for the server's.
func (s *Store) wall() any {
	if s.opts.Clock == nil {
		return nil
	}
	now := s.opts.Clock().UnixMicro()
	s.seen.Store(now)
	return now
}

// jumpLeast is how far the wall clock must lie behind to count as set back; the function tick has it too.
const jumpLeast = 10_000

// notice has a jump of the wall clock noticed: the sooner it is, the less time is lost to it. The server's clock is looked at
// by every write, and by every beat.
func (s *Store) notice(ctx context.Context) error {
	if s.opts.Clock == nil || s.opts.ReadOnly || s.opts.Clock().UnixMicro() >= s.seen.Load()-jumpLeast {
		return nil
	}
	_, err := s.Now(ctx)
	return err
}
