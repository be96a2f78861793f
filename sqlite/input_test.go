package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, s *sqlite.Store, key string, n int, id func(int) string) siding.InputID {
	t.Helper()
	in, err := s.BeginInput(t.Context(), "q", key)
	require.NoError(t, err)
	for from := 0; from < n; from += 500 {
		var batch []siding.NewMessage
		for i := from; i < min(n, from+500); i++ {
			batch = append(batch, siding.NewMessage{ID: id(i), Body: []byte("same"), Source: &siding.Source{Ordinal: int64(i), File: "f", Line: int64(i + 1)}})
		}
		out, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{Input: in, Supersede: true}, batch...)
		require.NoError(t, err)
		for _, e := range out {
			require.NoError(t, e.Err)
		}
	}
	require.NoError(t, s.SealInput(t.Context(), in))
	return in
}

// TestTwoRunsOverTheSameRecordsShareThem: the second has enqueued everything anew, and the first still finds its members,
// looking through more of them than one request looks at.
func TestTwoRunsOverTheSameRecordsShareThem(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{})
	const n = 700
	name := func(i int) string { return fmt.Sprintf("%04d", i) }
	first := read(t, s, "key", n, name)
	second := read(t, s, "key", n, name)
	seen := map[string]bool{}
	for _, in := range []siding.InputID{second, first} {
		for polls := 0; ; polls++ {
			require.Less(t, polls, n)
			r := request(100)
			r.Input = in
			l, err := s.Lease(t.Context(), r)
			require.NoError(t, err)
			var ends []siding.Settlement
			for _, d := range l.Deliveries {
				require.False(t, seen[d.ID], "leased twice")
				seen[d.ID] = true
				require.Equal(t, d.ID, name(int(d.Source.Ordinal)))
				ends = append(ends, siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy()})
			}
			_, err = s.Settle(t.Context(), ends...)
			require.NoError(t, err)
			if in == second && len(seen) >= n/2 || l.NextAt.IsZero() {
				break
			}
			require.False(t, l.NextAt.After(l.Now), "there are more")
		}
	}
	require.Len(t, seen, n)
	for _, in := range []siding.InputID{first, second} {
		st, err := s.InputStats(t.Context(), in, "")
		require.NoError(t, err)
		require.EqualValues(t, n, st.Done)
	}
	clean(t, s)
}

// TestAMessageOutlivesTheInputThatBroughtIt: when a record is gone from its file, its message still says where it was.
func TestAMessageOutlivesTheInputThatBroughtIt(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{})
	other, err := sqlite.Open(t.Context(), pathOf(t, s), sqlite.Options{MinFree: -1})
	require.NoError(t, err)
	read(t, other, "key", 3, func(i int) string { return fmt.Sprint("old", i) })
	require.NoError(t, other.Close())
	in := read(t, s, "key", 3, func(i int) string { return fmt.Sprint("new", i) })
	r, err := s.Get(t.Context(), "q", "old1")
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Source.Line)
	require.Equal(t, "f", r.Source.File)
	found, err := s.FindInput(t.Context(), "q", "key")
	require.NoError(t, err)
	require.Equal(t, in, found)
	clean(t, s)
}

// TestManyEqualRecordsCostNoMoreEach: the place of a record among its equals is found in an index, however many there are.
func TestManyEqualRecordsCostNoMoreEach(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{})
	const n = 400
	in := read(t, s, "key", n, func(int) string { return "" })
	ids := map[string]bool{}
	for m, err := range s.InputMembers(t.Context(), in, siding.MemberOptions{}) {
		require.NoError(t, err)
		ids[m.Message.ID] = true
	}
	require.Len(t, ids, n)
	again := read(t, s, "key", n, func(int) string { return "" })
	st, err := s.InputStats(t.Context(), again, "")
	require.NoError(t, err)
	require.EqualValues(t, n, st.Pending)
	qs, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, n, qs[0].Ready, "the same IDs in every run")
}

// TestWhatWaitsForALaterTimeKeepsNobodyBack: thousands of messages of a high priority that are not due do not stand in the
// way of one that is.
func TestWhatWaitsForALaterTimeKeepsNobodyBack(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{})
	var batch []siding.NewMessage
	for i := range 500 {
		batch = append(batch, siding.NewMessage{ID: fmt.Sprint("later", i), Priority: 5, NotBefore: time.Now().Add(time.Hour)})
	}
	batch = append(batch, siding.NewMessage{ID: "now"})
	_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, batch...)
	require.NoError(t, err)
	l, err := s.Lease(t.Context(), request(5))
	require.NoError(t, err)
	require.Len(t, l.Deliveries, 1)
	require.Equal(t, "now", l.Deliveries[0].ID)
	require.WithinDuration(t, time.Now().Add(time.Hour), l.NextAt, time.Minute)
	st, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, 500, st[0].Delayed)
}

func pathOf(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	return info.URL
}
