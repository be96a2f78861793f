package postgres_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// ownServer starts a server that the test may ill-treat.
func ownServer(t *testing.T) *pgtest.Server {
	t.Helper()
	pgtest.Shared(t) // skips where there is none
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	s, err := pgtest.New(port)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Remove()) })
	return s
}

func TestARestartOfTheDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s, err := postgres.Open(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const writers, each = 8, 60
	stop := make(chan struct{})
	var crashes sync.WaitGroup
	crashes.Go(func() {
		for range 3 {
			time.Sleep(300 * time.Millisecond)
			if err := server.Crash(); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
			if err := server.Start(); err != nil {
				t.Error(err)
			}
		}
		close(stop)
	})
	var wg sync.WaitGroup
	var uncertain atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					if i >= each {
						return
					}
				default:
				}
				id := fmt.Sprintf("%d-%d", w, i)
				again(t, &uncertain, func() error {
					_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: []byte(id)})
					return err
				})
				var l siding.Leased
				again(t, &uncertain, func() (err error) {
					l, err = s.Lease(t.Context(), request(2))
					return err
				})
				for _, d := range l.Deliveries {
					again(t, &uncertain, func() error {
						out, err := s.Settle(t.Context(), siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy(), Result: []byte(d.ID)})
						if err == nil && out[0].Err != nil && uncertain.Load() == 0 {
							return out[0].Err // a stale one is the answer to a second asking only
						}
						return err
					})
				}
			}
		})
	}
	wg.Wait()
	crashes.Wait()
	stats, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	q := stats[0]
	t.Logf("%d messages, %d uncertain commits, %d left leased", q.Ready+q.Leased+q.Done, uncertain.Load(), q.Leased)
	require.Zero(t, q.Dead+q.Discarded)
	require.GreaterOrEqual(t, q.Ready+q.Leased+q.Done, int64(writers*each))
	for l, err := range s.List(t.Context(), siding.Selection{Queue: "q"}) {
		require.NoError(t, err)
		require.Zero(t, l.Attempt)
	}
	clean(t, s)
}

// again repeats a write until the store knows what became of it.
func again(t *testing.T, uncertain *atomic.Int64, write func() error) {
	t.Helper()
	for range 100 {
		err := write()
		if err == nil {
			return
		}
		require.ErrorIs(t, err, postgres.ErrUnavailable)
		uncertain.Add(1)
	}
	t.Error("the database does not come back")
}

func TestWhatTheDatabaseRefusesIsSaidAndChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	address := pgtest.Database(t)
	admin := connect(t, address)
	s, err := postgres.Open(ctx, address)
	require.NoError(t, err)
	enqueue := func(id string) error {
		_, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: []byte("1")})
		return err
	}
	require.NoError(t, enqueue("first"))
	refuse := func(code string) {
		_, err := admin.Exec(ctx, fmt.Sprintf(`CREATE OR REPLACE FUNCTION siding.refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF NEW.event_id = 'bad' THEN RAISE EXCEPTION USING ERRCODE = '%s', MESSAGE = 'refused by the test'; END IF; RETURN NEW; END $$;
			CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON siding.messages FOR EACH ROW EXECUTE FUNCTION siding.refuse()`, code))
		require.NoError(t, err)
	}
	refuse("53100")
	require.ErrorIs(t, enqueue("bad"), siding.ErrDiskFull)
	refuse("25006")
	require.ErrorIs(t, enqueue("bad"), siding.ErrReadOnly)

	// One that is refused leaves those alone that were written with it.
	var wg sync.WaitGroup
	errs := make([]error, 40)
	for i := range errs {
		wg.Go(func() {
			id := fmt.Sprint("good", i)
			if i == 7 {
				id = "bad"
			}
			errs[i] = enqueue(id)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if i == 7 {
			require.ErrorIs(t, err, siding.ErrReadOnly)
		} else {
			require.NoError(t, err)
		}
	}
	_, err = s.Get(ctx, "q", "bad")
	require.ErrorIs(t, err, siding.ErrNotFound)

	// What passes is tried again: the trigger gives way after a while.
	for _, code := range []string{"40001", "40P01"} {
		refuse(code)
		done := make(chan error, 1)
		go func() { done <- enqueue("bad") }()
		select {
		case err := <-done:
			require.Fail(t, "it was not tried again", "%v", err)
		case <-time.After(50 * time.Millisecond):
		}
		_, err = admin.Exec(ctx, "DROP TRIGGER refuse ON siding.messages")
		require.NoError(t, err)
		require.NoError(t, <-done)
	}
	clean(t, s)
	require.NoError(t, s.Close())
}

func TestConnectionsThatAreCutAreMadeAnew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	address := pgtest.Database(t)
	admin := connect(t, address)
	s, err := postgres.Open(ctx, address)
	require.NoError(t, err)
	for i := range 30 {
		if i%3 == 0 {
			_, err := admin.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'siding' AND datname = current_database()")
			require.NoError(t, err)
		}
		_, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	l, err := s.Lease(ctx, request(100))
	require.NoError(t, err)
	require.Len(t, l.Deliveries, 30)
	clean(t, s)
	require.NoError(t, s.Close())
}

func TestACallerWhoGivesUpIsNotKept(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), address)
	require.NoError(t, err)
	admin := connect(t, address)
	tx, err := admin.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE siding.messages IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(t.Context()))
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "b"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
