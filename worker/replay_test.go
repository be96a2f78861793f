package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

// What a real run told its core, told to a fresh one with the same seed, gives the same commands.
func TestARunCanBeReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type step struct {
			at  time.Duration
			all []news
			out []command
		}
		var writes atomic.Int64
		store := memory.Open(memory.Options{Hook: func(point, op string) error {
			if n := writes.Add(1); point == "before" && n%7 == 0 && op != "Enqueue" {
				return siding.ErrDiskFull
			}
			return nil
		}})
		for i := range 200 {
			_, err := store.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(i)})
			require.NoError(t, err)
		}
		w, err := New(store, Config{Queue: "q", Drain: true, Seed: 42, Gates: everything, Handler: telling(func(ctx context.Context, d *siding.Delivery) error {
			time.Sleep(time.Duration(len(d.ID)) * time.Second)
			switch {
			case d.ID == "7":
				panic("poison")
			case d.ID == "50" && d.Number == 1:
				return &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited}
			case d.ID[0] == '9':
				return siding.Transient(errors.New("again"))
			}
			return nil
		})})
		require.NoError(t, err)
		var steps []step
		w.record = func(at time.Duration, all []news, out []command) { steps = append(steps, step{at, all, out}) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, w.Run(ctx))
		require.Greater(t, len(steps), 200)

		again := newCore(w.cfg, w.cfg.Seed)
		other := newCore(w.cfg, w.cfg.Seed+1)
		differs := false
		for i, s := range steps {
			require.Equal(t, s.out, again.step(s.at, s.all...), "step %d", i)
			differs = differs || !assertEqual(s.out, other.step(s.at, s.all...))
		}
		require.True(t, again.finished)
		require.True(t, differs, "the seed means nothing")
	})
}

func assertEqual(a, b []command) bool { return fmt.Sprintf("%v", a) == fmt.Sprintf("%v", b) }

// telling is a handler that tells limits with everything it comes to.
type telling func(ctx context.Context, d *siding.Delivery) error

func (h telling) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	limits := &siding.RateLimits{Requests: siding.RateLimit{Limit: 600, Remaining: int64(len(d.ID))}}
	return siding.Result{Limits: limits}, h(ctx, d)
}
