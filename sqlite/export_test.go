package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Kill drops the process's lock without any cleanup, as the end of a process does.
func (s *Store) Kill() {
	_ = s.lock.free(s.processByte)
	s.closer.Do(func() {
		close(s.stop)
		<-s.ended
		s.closed = s.release()
	})
}

// RefuseEventID makes SQLite refuse a message, in the middle of the operation that brings it.
func RefuseEventID(t testing.TB, s *Store, id string) {
	t.Helper()
	c, err := dial(dsn(s.path, "_busy_timeout=10000"))
	require.NoError(t, err)
	require.NoError(t, c.run("CREATE TRIGGER refuse BEFORE INSERT ON messages WHEN NEW.event_id = '"+id+"' BEGIN SELECT RAISE(ABORT, 'refused by the test'); END"))
	require.NoError(t, c.close())
}
