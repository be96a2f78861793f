package postgres_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// connect gives a plain connection to the database of an address.
func connect(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	before, _, _ := strings.Cut(address, "&schema=")
	c, err := pgx.Connect(t.Context(), before)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

func TestSeveralProcessesMakeTheStoreAtOnce(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	ids := make([]string, 6)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), address)
			if err != nil {
				t.Error(err)
				return
			}
			info, err := s.Info(t.Context())
			if err != nil {
				t.Error(err)
			}
			ids[i] = info.ID
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.NotEmpty(t, id)
		require.Equal(t, ids[0], id, "all have opened the same store")
	}
	var n int
	require.NoError(t, connect(t, address).QueryRow(t.Context(), "SELECT count(*) FROM siding.goose_db_version WHERE version_id = 1").Scan(&n))
	require.Equal(t, 1, n, "one has made it")
}

func TestOpeningRefusesWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	_, err := postgres.Open(t.Context(), address, postgres.Options{MustExist: true})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = postgres.Open(t.Context(), address, postgres.Options{ReadOnly: true})
	require.ErrorIs(t, err, os.ErrNotExist)

	c := connect(t, address)
	_, err = c.Exec(t.Context(), "CREATE SCHEMA siding; CREATE TABLE siding.other (x int)")
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), address)
	require.ErrorIs(t, err, postgres.ErrPlace, "the schema is another program's")

	_, err = postgres.Open(t.Context(), address, postgres.Options{Schema: `my "own"`})
	require.ErrorIs(t, err, postgres.ErrPlace)

	s, err := postgres.Open(t.Context(), address, postgres.Options{Schema: "another", Mode: postgres.Simulated})
	require.NoError(t, err)
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte("1")})
	require.NoError(t, err)
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	require.True(t, info.Simulated)
	require.NoError(t, s.Close())
	_, err = postgres.Open(t.Context(), address, postgres.Options{Schema: "another", Mode: postgres.Real})
	require.ErrorIs(t, err, siding.ErrStoreMode)

	_, err = c.Exec(t.Context(), "UPDATE another.meta SET format = 99")
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), address, postgres.Options{Schema: "another"})
	require.ErrorIs(t, err, siding.ErrNewerStore)
}

func TestANewerFormatIsRefusedByTheNextWrite(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), address)
	require.NoError(t, err)
	tamper(t, address, "UPDATE meta SET format = 99")
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
	require.ErrorIs(t, err, siding.ErrNewerStore)
	require.ErrorIs(t, s.Close(), siding.ErrNewerStore)
}

func TestOpenForReadingWritesNothing(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), address)
	require.NoError(t, err)
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte("1")})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	r, err := postgres.Open(t.Context(), address, postgres.Options{ReadOnly: true})
	require.NoError(t, err)
	got, err := r.Get(t.Context(), "q", "a")
	require.NoError(t, err)
	require.Equal(t, []byte("1"), got.Body)
	_, err = r.Lease(t.Context(), request(1))
	require.ErrorIs(t, err, siding.ErrReadOnly)
	now, err := r.Now(t.Context())
	require.NoError(t, err)
	require.True(t, now.After(got.ReceivedAt))
	require.NoError(t, r.Close())
}

func TestAddressesAreShownWithoutSecretsAndErrorsWithoutAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://u:s3cret@h:notaport/d", "host=h password=s3cret port=x", "postgres://u:s3cret@127.0.0.1:1/d?connect_timeout=1",
	} {
		_, err := postgres.Open(t.Context(), address)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := postgres.Open(t.Context(), "postgres://u:s3cret@127.0.0.1:1/d?connect_timeout=1")
	require.ErrorIs(t, err, postgres.ErrUnavailable)
	_, err = postgres.Open(t.Context(), pgtest.Shared(t).URL("nothere"))
	require.ErrorIs(t, err, postgres.ErrPlace)
	s := open(t, postgres.Options{})
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	require.Contains(t, info.URL, "postgres://postgres@")
}

func TestTextsThatPostgreSQLRefusesFindNothing(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Options{})
	for _, id := range []string{"a\x00b", "\xff", strings.Repeat("x", 600)} {
		_, err := s.Get(t.Context(), "q", id)
		require.ErrorIs(t, err, siding.ErrNotFound, "%q", id)
		_, err = s.Get(t.Context(), id, "q")
		require.ErrorIs(t, err, siding.ErrNotFound, "%q", id)
		for range s.List(t.Context(), siding.Selection{IDs: []string{id}, Queue: id, Fingerprints: []string{id}}) {
			require.Fail(t, "there is nothing to list")
		}
		e, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: id})
		require.NoError(t, err)
		require.ErrorIs(t, e[0].Err, siding.ErrInvalidID)
	}
	body := append([]byte{0, 0xff}, fmt.Append(nil, "\x00é\xed\xa0\x80")...)
	e, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{
		ID: "a", Body: body, ContentType: "t\x00\xff", Headers: map[string]string{"k\x00": "v\xff\u202e"}, FairnessKey: "\x00",
	})
	require.NoError(t, err)
	require.NoError(t, e[0].Err)
	l, err := s.Lease(t.Context(), request(1))
	require.NoError(t, err)
	require.Equal(t, body, l.Deliveries[0].Body)
	require.Equal(t, map[string]string{`k\x00`: `v\xff\u202e`}, l.Deliveries[0].Headers)
	out, err := s.Settle(t.Context(), siding.Settlement{
		Token: l.Deliveries[0].Token, Policy: siding.DefaultPolicy(), Digest: "\x00\xfe",
		Failure: siding.FailureOf(siding.Permanent(fmt.Errorf("nul \x00 and \xff and %s", strings.Repeat("\x00", 1<<20)))),
	})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	clean(t, s)
}
