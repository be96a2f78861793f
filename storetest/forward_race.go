package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// forwardWrites are the writes that concern a message and its copy at once.
func forwardWrites() []faultyWrite {
	both := func(f *fixture) any {
		g := f.at("summaries")
		out := []any{}
		for _, r := range []*fixture{f, g} {
			m, err := r.store.Get(r.ctx, r.queue, "a")
			if err == nil {
				m.LeasedUntil = time.Time{}
				if !m.AvailableAt.Equal(siding.Never) {
					m.AvailableAt = time.Time{}
				}
			}
			out = append(out, m, outcome(err))
		}
		return out
	}
	settle := func(f *fixture, s siding.Settlement) func(bool) error {
		return func(repeated bool) error {
			s.Policy = f.policy
			out, err := f.store.Settle(f.ctx, s)
			if err != nil {
				return err
			}
			if repeated && outcome(out[0].Err) == lostStale {
				return nil
			}
			return out[0].Err
		}
	}
	operate := func(errs []error, err error, repeated bool) error {
		if err != nil {
			return err
		}
		if repeated && outcome(errs[0]) == lostState {
			return nil
		}
		return errs[0]
	}
	return []faultyWrite{
		{"Settle", func(f *fixture) func(bool) error { // that forwards
			f.at("summaries").enqueue(msg("other"))
			f.enqueue(large("a", "long"))
			return settle(f, siding.Settlement{Token: f.leaseOne().Token, Failure: tooLarge(f.at("summaries").queue)})
		}, both},
		{"Settle", func(f *fixture) func(bool) error { // that gives the result back
			g := f.at("summaries")
			f.forwarded(g, large("a", "long"))
			return settle(f, siding.Settlement{Token: g.leaseOne().Token, Result: []byte(`1`), Then: &siding.Then{Queue: f.queue, Field: "/text"}})
		}, both},
		{"Settle", func(f *fixture) func(bool) error { // that sets both aside
			g := f.at("summaries")
			f.forwarded(g, large("a", "long"))
			return settle(f, siding.Settlement{Token: g.leaseOne().Token, Failure: permanent("no good")})
		}, both},
		{"Discard", func(f *fixture) func(bool) error {
			g := f.at("summaries")
			f.forwarded(g, large("a", "long"))
			return func(repeated bool) error {
				errs, err := f.store.Discard(f.ctx, g.queue, "why", "a")
				return operate(errs, err, repeated)
			}
		}, both},
		{"Redrive", func(f *fixture) func(bool) error {
			g := f.at("summaries")
			f.forwarded(g, large("a", "long"))
			g.fail(g.leaseOne(), permanent("no good"))
			return func(repeated bool) error {
				errs, err := f.store.Redrive(f.ctx, g.queue, "a")
				return operate(errs, err, repeated)
			}
		}, both},
		{"Lease", func(f *fixture) func(bool) error { // that takes back the copy's last lease
			f.policy.MaxInterruptions = 1
			g := f.at("summaries")
			f.forwarded(g, large("a", "long"))
			g.leaseOne()
			f.clock.Advance(time.Hour)
			return func(bool) error {
				_, err := f.store.Lease(f.ctx, g.request(0))
				return err
			}
		}, both},
		{"Enqueue", func(f *fixture) func(bool) error { // that supersedes the copy
			g := f.at("summaries")
			f.forwarded(g, large("a", "long"))
			return func(bool) error {
				out, err := f.store.Enqueue(f.ctx, g.queue, siding.EnqueueOptions{Supersede: true}, large("a", "other"))
				if err != nil {
					return err
				}
				return out[0].Err
			}
		}, both},
	}
}

func forwardRaceCases() []testCase {
	out := []testCase{
		{"a result comes into a message that is superseded, discarded or redriven at the same time, or not at all", forwardRace},
		{"messages wander between three queues while everything happens to them", forwardStorm},
	}
	for i, w := range forwardWrites() {
		for _, point := range []string{PointBefore, PointAfter, PointBeforeCommit, PointAfterCommit} {
			out = append(out, testCase{fmt.Sprintf("%s (%d) that fails %s", w.op, i+1, point), func(f *fixture) { failAt(f, w, point) }})
		}
	}
	return out
}

func forwardRace(f *fixture) {
	g := f.at("summaries")
	then := &siding.Then{Queue: f.queue, Field: "/text"}
	for round := range 12 {
		id := fmt.Sprintf("%03d", round)
		f.enqueue(large(id, "long"))
		for _, d := range f.lease(10) {
			if d.ID == id {
				f.waits(g, f.fail(d, tooLarge(g.queue)))
			}
		}
		var c *siding.Delivery
		for _, d := range g.lease(10) {
			c = d
		}
		require.Equal(f, id, c.ID)
		contest(f, func(s siding.Store, i int) (struct{}, error) {
			var err error
			switch {
			case i < 2:
				_, err = s.Settle(f.ctx, siding.Settlement{Token: c.Token, Policy: f.policy, Result: []byte(`"short"`), Then: then})
			case round%3 == 0:
				_, err = s.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Supersede: true}, large(id, "new"))
			case round%3 == 1:
				_, err = s.Discard(f.ctx, f.queue, "why", id)
			default:
				_, err = s.Discard(f.ctx, g.queue, "why", id)
			}
			return struct{}{}, err
		})
		r := f.get(id)
		require.Empty(f, r.WaitsFor)
		switch body := string(r.Body); round % 3 {
		case 0:
			require.Equal(f, `{"id":"`+id+`", "text":"new"}`, body)
			require.Zero(f, r.Returned)
		case 1:
			require.Equal(f, siding.StateDiscarded, r.State)
		default:
			require.Equal(f, g.get(id).State == siding.StateDone, r.State == siding.StateReady)
			require.Equal(f, g.get(id).State == siding.StateDiscarded, r.State == siding.StateDead)
		}
	}
	g.healthy()
}

// forwardStorm has workers of two processes forward, give back, fail and lose messages of three queues, while others
// redrive, discard and supersede them. Whatever happens, what waits stands where its copy does.
func forwardStorm(f *fixture) {
	queues := []*fixture{f, f.at("one"), f.at("two")}
	var returned atomic.Int64
	// Chance may have it that no result comes back into a message that is then delivered: then others try.
	for round := 0; round < 10 && returned.Load() == 0; round++ {
		wander(f, queues, round, &returned)
	}
	require.Positive(f, returned.Load())
	for _, q := range queues {
		q.healthy()
	}
}

// wander is one round of the storm, over messages of its own.
func wander(f *fixture, queues []*fixture, round int, returned *atomic.Int64) {
	f.Helper()
	for _, q := range queues {
		for i := range 6 {
			q.enqueue(large(fmt.Sprint(round, ".", i), q.queue))
		}
	}
	contest(f, func(s siding.Store, i int) (struct{}, error) {
		rnd := rand.New(rand.NewPCG(uint64(i), uint64(7+round)))
		for range 60 {
			f.clock.Advance(2 * time.Second)
			q, other := queues[rnd.IntN(3)], queues[rnd.IntN(3)]
			id := fmt.Sprint(round, ".", rnd.IntN(6))
			r := q.request(2)
			r.Duration, r.Rand = 20*time.Second, rnd.Float64()
			l, err := s.Lease(f.ctx, r)
			if err != nil {
				return struct{}{}, err
			}
			for _, d := range l.Deliveries {
				one := siding.Settlement{Token: d.Token, Policy: f.policy, Result: []byte(`"short"`), Then: &siding.Then{Queue: other.queue, Field: "/text"}}
				switch rnd.IntN(8) {
				case 0, 1, 2:
					one.Failure = tooLarge(other.queue)
				case 3:
					one.Failure = permanent("no")
				case 4:
					one.Failure = transient("no")
				case 5:
					continue // lost
				}
				if _, err := s.Settle(f.ctx, one); err != nil {
					return struct{}{}, err
				}
				if d.Returned > 0 {
					returned.Add(1)
				}
			}
			switch rnd.IntN(6) {
			case 0, 1:
				_, err = s.Redrive(f.ctx, q.queue, id)
			case 2:
				_, err = s.Enqueue(f.ctx, q.queue, siding.EnqueueOptions{Supersede: true}, large(id, fmt.Sprint(rnd.IntN(3))))
			case 3:
				if rnd.IntN(8) == 0 {
					_, err = s.Discard(f.ctx, q.queue, "why", id)
				}
			}
			if err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
}
