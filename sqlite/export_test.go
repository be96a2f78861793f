package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
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

// Outdate gives the dead letters of a group another fingerprint, and what is known of it to that one's group.
func (s *Store) Outdate(t testing.TB, k siding.GroupKey, fingerprint string) {
	t.Helper()
	require.NoError(t, s.write(t.Context(), "outdate", 0, func(tx *tx) error {
		q, err := tx.queue(k.Queue, false)
		if err == nil {
			_, err = tx.regroup(groupKey{q, k.Fingerprint}, 1<<30, func(siding.Cause, string) string { return fingerprint })
		}
		return err
	}))
}
