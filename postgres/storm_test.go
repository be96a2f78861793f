package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// TestProcessesThatWorkBesideEachOther has four processes enqueue the same and other messages, lease, call, fail and settle
// them with gates in the way, all at once. Their transactions run beside each other, and none may get into another's way so
// that the database has to give one up.
func TestProcessesThatWorkBesideEachOther(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	stormOf(t, address, 4, 6, 400)
	var deadlocks int
	require.NoError(t, connect(t, address).QueryRow(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks))
	require.Zero(t, deadlocks)
}

func stormOf(t *testing.T, address string, processes, workers, messages int) {
	t.Helper()
	stores := make([]*postgres.Store, processes)
	for i := range stores {
		var err error
		stores[i], err = postgres.Open(t.Context(), address)
		require.NoError(t, err)
	}
	keys := func(n int) siding.GateKeys {
		return siding.GateKeys{
			Account: siding.GateKey{Scope: siding.ScopeAccount, Name: "one"},
			Lane:    siding.GateKey{Scope: siding.ScopeLane, Name: fmt.Sprint("lane", n%2)},
			Recipe:  siding.GateKey{Scope: siding.ScopeRecipe, Name: fmt.Sprint("recipe", n%3)},
		}
	}
	var mu sync.Mutex
	done := map[string]int{}
	var wg sync.WaitGroup
	for p, s := range stores {
		for w := range workers {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(p), uint64(w)))
				if err := storm(t, s, rnd, keys(w), messages, func(id string) {
					mu.Lock()
					defer mu.Unlock()
					done[id]++
				}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for id, n := range done {
		require.Equal(t, 1, n, "%s was settled as done once", id)
	}
	stats, err := stores[0].Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, len(done), stats[0].Done)
	require.EqualValues(t, messages, stats[0].Ready+stats[0].Leased+stats[0].Done+stats[0].Dead)
	t.Logf("%+v", stats[0])
	clean(t, stores[0])
	for _, s := range stores {
		require.NoError(t, s.Close())
	}
}

// storm is one worker of a process.
func storm(t *testing.T, s *postgres.Store, rnd *rand.Rand, keys siding.GateKeys, messages int, done func(string)) error {
	t.Helper()
	ctx := t.Context()
	for range 30 {
		var batch []siding.NewMessage
		for range 8 {
			id := fmt.Sprint(rnd.IntN(messages))
			batch = append(batch, siding.NewMessage{ID: id, Body: []byte(strings.Repeat(id, 20))})
		}
		if _, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, batch...); err != nil {
			return err
		}
		r := request(4)
		r.Duration, r.Gates, r.Rand = time.Minute, keys, rnd.Float64()
		l, err := s.Lease(ctx, r)
		if err != nil {
			return err
		}
		for _, d := range l.Deliveries {
			if err := storm1(t, s, rnd, keys, d, done); err != nil {
				return err
			}
		}
	}
	for n := range messages { // whatever chance has left out
		if _, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(n), Body: []byte(strings.Repeat(fmt.Sprint(n), 20))}); err != nil {
			return err
		}
	}
	return nil
}

// storm1 is one delivery.
func storm1(t *testing.T, s *postgres.Store, rnd *rand.Rand, keys siding.GateKeys, d *siding.Delivery, done func(string)) error {
	t.Helper()
	ctx := t.Context()
	policy := siding.DefaultPolicy()
	policy.Backoff.Base, policy.Backoff.Jitter = time.Millisecond, 0
	one := siding.Settlement{Token: d.Token, Policy: policy, Gates: keys, Result: []byte(d.ID)}
	c, err := s.StartCall(ctx, siding.CallRequest{
		Token: d.Token, RequestHash: siding.Hash{byte(d.Number), 1}, Deadline: time.Minute, Priced: true, WorstCost: 5,
	})
	if err != nil {
		return err
	}
	if c.Call != 0 {
		if err := s.EndCall(ctx, siding.CallEnd{Call: c.Call, Fate: siding.FateAnswered, Answer: []byte("x"), Cost: 3, Priced: true}); err != nil {
			return err
		}
		one.Judged = []siding.Judgement{{Call: c.Call, Accepted: true}}
	}
	switch rnd.IntN(8) {
	case 0:
		one.Failure = siding.FailureOf(siding.Transient(errors.New("no")))
	case 1:
		one.Failure = siding.FailureOf(siding.Permanent(fmt.Errorf("of kind %c", 'a'+rnd.IntN(4))))
	case 2:
		if _, err := s.Extend(ctx, time.Minute, d.Token); err != nil {
			return err
		}
	}
	if one.Failure != nil && len(one.Judged) > 0 {
		one.Judged[0].Accepted = false
	}
	out, err := s.Settle(ctx, one)
	if err != nil {
		return err
	}
	if out[0].Err != nil {
		return out[0].Err
	}
	if out[0].Decision.State == siding.StateDone {
		done(d.ID)
	}
	return nil
}
