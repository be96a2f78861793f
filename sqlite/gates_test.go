package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/stretchr/testify/require"
)

var watched = siding.GateKeys{
	Account: siding.GateKey{Scope: siding.ScopeAccount, Name: "a"},
	Lane:    siding.GateKey{Scope: siding.ScopeLane, Name: "l"},
	Recipe:  siding.GateKey{Scope: siding.ScopeRecipe, Name: "q@d"},
}

func through(most int) siding.LeaseRequest {
	r := request(most)
	r.Gates = watched
	return r
}

func enqueued(t *testing.T, s *sqlite.Store, n int) {
	t.Helper()
	for i := range n {
		_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprintf("%03d", i)})
		require.NoError(t, err)
	}
}

func leased(t *testing.T, s *sqlite.Store, r siding.LeaseRequest) siding.Leased {
	t.Helper()
	l, err := s.Lease(t.Context(), r)
	require.NoError(t, err)
	return l
}

func settled(t *testing.T, s *sqlite.Store, d *siding.Delivery, f *siding.Failure) siding.Settled {
	t.Helper()
	out, err := s.Settle(t.Context(), siding.Settlement{Token: d.Token, Failure: f, Policy: siding.DefaultPolicy(), Gates: watched})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	return out[0]
}

func noModel() *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeHeld, Scope: siding.ScopeLane, Cause: siding.CauseModelNotFound, Err: errors.New("no such model")}
}

func alike() *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Err: errors.New("no such field")}
}

// TestAGateThatCannotBeReadLetsNothingThroughUntilItIsResumed: what is not known to be open is closed, but what has been
// worked is settled all the same.
func TestAGateThatCannotBeReadLetsNothingThroughUntilItIsResumed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	enqueued(t, s, 3)
	ds := leased(t, s, through(2)).Deliveries
	settled(t, s, ds[0], nil)
	for _, bad := range []string{"{", "null", `{"key":{"scope":"lane","name":"other"}}`} {
		tamper(t, path, "UPDATE gates SET gate = ? WHERE scope = 'lane'", bad)
		_, err = s.Lease(t.Context(), through(1))
		require.ErrorContains(t, err, "lane:l")
		_, err = s.Gates(t.Context())
		require.ErrorContains(t, err, "lane:l")
		require.ErrorContains(t, s.Nudge(t.Context(), watched), "lane:l")
		var found []string
		for v, err := range s.Check(t.Context()) {
			require.NoError(t, err)
			found = append(found, v.Rule)
		}
		require.Equal(t, []string{"gate-unreadable"}, found)
	}
	require.Equal(t, siding.StateDone, settled(t, s, ds[1], nil).Decision.State)
	require.NoError(t, s.Resume(t.Context(), watched.Lane, false))
	require.Len(t, leased(t, s, through(5)).Deliveries, 1)
	clean(t, s)
	tamper(t, path, "INSERT INTO gates (scope, name, gate) VALUES ('account', 'a', '')")
	require.NoError(t, s.HoldGate(t.Context(), watched.Account, "why", "me"))
	clean(t, s)
}

// TestTheGateOfAFailedOperationIsUndoneWithIt: the others of its group see the gate as it was before.
func TestTheGateOfAFailedOperationIsUndoneWithIt(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var gate atomic.Pointer[chan struct{}]
	s := open(t, sqlite.Options{Hook: func(point, op string) error {
		switch {
		case point == sqlite.PointBefore && op == "now":
			if g := gate.Load(); g != nil {
				<-*g
			}
		case point == sqlite.PointAfter && op == "hold-gate":
			return boom
		}
		return nil
	}})
	enqueued(t, s, 4)
	ds := leased(t, s, through(2)).Deliveries
	g := make(chan struct{})
	gate.Store(&g)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Now(t.Context()) })
	began := make(chan struct{}, 3)
	wg.Go(func() {
		began <- struct{}{}
		if err := s.HoldGate(t.Context(), watched.Lane, "why", "me"); !errors.Is(err, boom) {
			t.Error(err)
		}
	})
	for _, d := range ds {
		wg.Go(func() {
			began <- struct{}{}
			settled(t, s, d, nil)
		})
	}
	for range 3 {
		<-began
	}
	close(g)
	wg.Wait()
	all, err := s.Gates(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Nil(t, all[0].Hold)
	require.Equal(t, 2, all[0].Health.Counted)
	require.Len(t, leased(t, s, through(9)).Deliveries, 2)
	clean(t, s)
}

// TestALookAtGatesThatChangesNothingWritesNothing spares an idle worker the sync of the disk.
func TestALookAtGatesThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	enqueued(t, s, 2)
	settled(t, s, leased(t, s, through(1)).Deliveries[0], noModel())
	before, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	for range 5 {
		require.Empty(t, leased(t, s, through(5)).Deliveries)
	}
	after, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
}

// TestMembersInAnotherRunsHandsAreProbesAndSuspectsToo: the first of two runs over the same records finds them in the
// index of the second.
func TestMembersInAnotherRunsHandsAreProbesAndSuspectsToo(t *testing.T) {
	t.Parallel()
	wall := time.Now()
	s := open(t, sqlite.Options{Clock: func() time.Time { return wall }})
	name := func(i int) string { return fmt.Sprintf("%03d", i) }
	r := through(9)
	r.Input = read(t, s, "key", 8, name)
	read(t, s, "key", 8, name)
	ds := leased(t, s, r).Deliveries
	require.Len(t, ds, 8)
	for _, d := range ds[:5] {
		settled(t, s, d, alike())
	}
	// Held for a streak: members are no probes, and nobody else waits.
	l := leased(t, s, r)
	require.Empty(t, l.Deliveries)
	require.Equal(t, siding.HoldSystemic, l.Blocked[0].Hold.Kind)
	require.False(t, l.Blocked[0].Hold.Stuck, "three are in flight")
	settled(t, s, ds[5], &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseShutdown, Err: errors.New("stop")})
	l = leased(t, s, r)
	require.True(t, l.RetryAt.After(l.Now), "a message comes due that may be the probe")
	wall = wall.Add(time.Second)
	l = leased(t, s, r)
	require.Len(t, l.Deliveries, 1)
	require.Equal(t, "005", l.Deliveries[0].ID)
	settled(t, s, l.Deliveries[0], nil)
	for _, d := range ds[6:] {
		settled(t, s, d, &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseWorkerCrash, Err: errors.New("died")})
	}
	wall = wall.Add(time.Second)
	for _, id := range []string{"006", "007"} {
		ds := leased(t, s, r).Deliveries
		require.Len(t, ds, 1)
		require.Equal(t, id, ds[0].ID)
		require.True(t, ds[0].Solo)
		require.Empty(t, leased(t, s, r).Deliveries)
		settled(t, s, ds[0], nil)
	}
	clean(t, s)
}

// TestWhatAClosedStoreHadLeasedIsNoSuspect: it has been stopped, and has not died.
func TestWhatAClosedStoreHadLeasedIsNoSuspect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	for range 4 {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{MinFree: -1})
		require.NoError(t, err)
		enqueued(t, s, 1)
		require.Eventually(t, func() bool {
			l, err := s.Lease(context.WithoutCancel(t.Context()), request(1))
			return err == nil && len(l.Deliveries) == 1
		}, 5*time.Second, 10*time.Millisecond)
		require.NoError(t, s.Close())
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{MinFree: -1})
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Get(t.Context(), "q", "000")
	require.NoError(t, err)
	require.Equal(t, siding.StateReady, r.State)
	require.False(t, r.Suspect)
	require.Zero(t, r.Interruptions)
	require.Equal(t, siding.CauseShutdown, r.History[3].Error.Cause)
	clean(t, s)
}

// TestAProbeIsFoundAmongManyWithoutLookingAtAll: it is one of the first of a turn, and those that come due later, of
// whatever priority, are passed by.
func TestAProbeIsFoundAmongManyWithoutLookingAtAll(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{})
	var batch []siding.NewMessage
	for i := range 3000 {
		m := siding.NewMessage{ID: fmt.Sprintf("%04d", i), Priority: int16(i % 3)}
		if i%3 == 1 {
			m.NotBefore = time.Now().Add(time.Hour)
		}
		batch = append(batch, m)
	}
	_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, batch...)
	require.NoError(t, err)
	settled(t, s, leased(t, s, through(1)).Deliveries[0], noModel())
	seen := map[int16]int{}
	for i := range 12 {
		require.NoError(t, s.Nudge(t.Context(), watched))
		r := through(50)
		r.Rand = float64(i) / 12
		ds := leased(t, s, r).Deliveries
		require.Len(t, ds, 1)
		require.NotEqual(t, int16(1), ds[0].Priority, "not due")
		seen[ds[0].Priority]++
		settled(t, s, ds[0], noModel())
	}
	require.Equal(t, map[int16]int{2: 12}, seen, "the first five hundred are of the highest priority")
	clean(t, s)
}
