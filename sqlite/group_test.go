package sqlite_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/stretchr/testify/require"
)

// TestOneFailureInAGroupIsOnlyItsCallers holds the committer until ten operations wait for it, of which one fails inside
// the transaction they share.
func TestOneFailureInAGroupIsOnlyItsCallers(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var gate atomic.Pointer[chan struct{}]
	var afters, commits atomic.Int64
	s := open(t, sqlite.Options{Hook: func(point, op string) error {
		switch {
		case point == sqlite.PointBefore && op == "now":
			if g := gate.Load(); g != nil {
				<-*g
			}
		case point == sqlite.PointAfter && op == "enqueue":
			if afters.Add(1) == 5 {
				return boom
			}
		case point == sqlite.PointBeforeCommit:
			commits.Add(1)
		}
		return nil
	}})
	g := make(chan struct{})
	gate.Store(&g)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Now(t.Context()) })
	var failed, done atomic.Int64
	began := make(chan struct{}, 10)
	for i := range 10 {
		wg.Go(func() {
			began <- struct{}{}
			_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(i)})
			switch {
			case errors.Is(err, boom):
				failed.Add(1)
			case err == nil:
				done.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	for range 10 {
		<-began
	}
	close(g)
	wg.Wait()
	require.EqualValues(t, 1, failed.Load())
	require.EqualValues(t, 9, done.Load())
	st, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, 9, st[0].Ready)
	clean(t, s)
}

// TestAnOperationThatSQLiteRefusesIsOnlyItsCallers has no hook, so that the group runs without savepoints first.
func TestAnOperationThatSQLiteRefusesIsOnlyItsCallers(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{})
	sqlite.RefuseEventID(t, s, "bad")
	var wg sync.WaitGroup
	var failed, done atomic.Int64
	for i := range 40 {
		wg.Go(func() {
			id := fmt.Sprint(i)
			if i%10 == 0 {
				id = "bad"
			}
			_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: id})
			if err != nil {
				failed.Add(1)
				require.ErrorContains(t, err, "refused by the test")
			} else {
				done.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 4, failed.Load())
	require.EqualValues(t, 36, done.Load())
	st, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, 36, st[0].Ready)
	clean(t, s)
}

func TestTheStoreWorksInVirtualTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), dir+"/s.db", sqlite.Options{MinFree: -1})
		require.NoError(t, err)
		_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
		require.NoError(t, err)
		r := siding.LeaseRequest{Queue: "q", Max: 1, Duration: time.Minute, Policy: siding.DefaultPolicy()}
		l, err := s.Lease(t.Context(), r)
		require.NoError(t, err)
		_, err = s.Settle(t.Context(), siding.Settlement{Token: l.Deliveries[0].Token, Failure: siding.FailureOf(errors.New("no")), Policy: siding.DefaultPolicy()})
		require.NoError(t, err)
		time.Sleep(2*time.Second - 10*time.Millisecond)
		l, err = s.Lease(t.Context(), r)
		require.NoError(t, err)
		require.Empty(t, l.Deliveries)
		time.Sleep(10 * time.Millisecond)
		l, err = s.Lease(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, l.Deliveries, 1)
		require.NoError(t, s.Close())
	})
}
