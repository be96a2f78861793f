package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// storm has workers of two processes work a queue with chance outcomes, while others redrive, extend, look and send
// messages, and meddle as they are told.
func storm(f *fixture, keys siding.GateKeys, meddle func(f *fixture, s siding.Store, rnd *rand.Rand) error) {
	const messages = 60
	for i := range messages / 2 {
		f.enqueue(msg(fmt.Sprint(i)))
	}
	var mu sync.Mutex
	done := map[string]int{}
	contest(f, func(s siding.Store, i int) (struct{}, error) {
		rnd := rand.New(rand.NewPCG(uint64(i), 1))
		if i == 0 {
			for n := messages / 2; n < messages; n++ {
				if _, err := s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg(fmt.Sprint(n))); err != nil {
					return struct{}{}, err
				}
			}
		}
		for range 40 {
			f.clock.Advance(3 * time.Second)
			r := f.request(3)
			r.Duration, r.Gates, r.Rand = 20*time.Second, keys, rnd.Float64()
			l, err := s.Lease(f.ctx, r)
			if err != nil {
				return struct{}{}, err
			}
			for _, d := range l.Deliveries {
				one := siding.Settlement{Token: d.Token, Policy: f.policy, Gates: keys}
				switch rnd.IntN(6) {
				case 0:
					one.Failure = transient("no")
				case 1:
					one.Failure = permanent("no")
				case 2:
					one.Failure = gray("no")
				case 3:
					if _, err := s.Extend(f.ctx, 20*time.Second, d.Token); err != nil {
						return struct{}{}, err
					}
				case 4:
					continue // lost
				}
				out, err := s.Settle(f.ctx, one)
				if err != nil {
					return struct{}{}, err
				}
				if out[0].Err == nil && out[0].Decision.State == siding.StateDone {
					mu.Lock()
					done[d.ID]++
					mu.Unlock()
				}
			}
			if _, err := s.Redrive(f.ctx, f.queue, fmt.Sprint(rnd.IntN(messages))); err != nil {
				return struct{}{}, err
			}
			if err := meddle(f, s, rnd); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	st := f.stats()
	require.EqualValues(f, messages, st.Ready+st.Leased+st.Done+st.Dead+st.Discarded)
	require.Len(f, done, int(st.Done))
	for id, n := range done {
		require.Equal(f, 1, n, id)
	}
}

// meddleNot lets a storm be.
func meddleNot(*fixture, siding.Store, *rand.Rand) error { return nil }

// meddleWithGates does to a gate what operators and starting runs do.
func meddleWithGates(f *fixture, s siding.Store, rnd *rand.Rand) error {
	keys := f.keys()
	all := keys.All()
	k := all[rnd.IntN(len(all))]
	switch rnd.IntN(12) {
	case 0:
		return s.Nudge(f.ctx, keys)
	case 1:
		return s.HoldGate(f.ctx, k, "why", "me")
	case 2, 3:
		if err := s.Resume(f.ctx, k, rnd.IntN(2) == 0); !errors.Is(err, siding.ErrNotFound) {
			return err
		}
	}
	return nil
}
