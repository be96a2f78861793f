package worker_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/siding-dev/siding/worker"
)

// In real time, on a real file: two workers, each with its own store on it, a few poison messages, a panic, and one that
// succeeds when it is tried again.
func TestTwoWorkersOnOneFile(t *testing.T) {
	t.Parallel()
	const n = 300
	path := filepath.Join(t.TempDir(), "jobs.db")
	open := func() *sqlite.Store {
		s, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	one, two := open(), open()
	all := make([]siding.NewMessage, n)
	for i := range all {
		all[i] = siding.NewMessage{ID: fmt.Sprint("m", i), Body: []byte(`{}`)}
	}
	_, err := one.Enqueue(t.Context(), queue, siding.EnqueueOptions{}, all...)
	require.NoError(t, err)

	policy := exact(1)
	policy.Backoff = siding.Backoff{Base: time.Millisecond, Factor: 1, Cap: time.Millisecond}
	c := newCalls()
	run := func(s *sqlite.Store) <-chan error {
		w, err := worker.New(s, worker.Config{
			Queue: queue, Drain: true, Policy: policy, Poll: 10 * time.Millisecond,
			Handler: resultHandler(func(_ context.Context, d *siding.Delivery) (siding.Result, error) {
				again := c.add(d) > 1
				switch {
				case poisoned(d.ID):
					return siding.Result{}, siding.Permanent(errors.New("poison \x00\xff"))
				case d.ID == "m7":
					panic("always")
				case d.ID == "m8" && !again:
					return siding.Result{}, errPoison
				}
				return siding.Result{Body: []byte(`"` + d.ID + `"`)}, nil
			}),
		})
		require.NoError(t, err)
		return start(t.Context(), w)
	}
	first, second := run(one), run(two)
	require.NoError(t, <-first)
	require.NoError(t, <-second)

	stats, err := one.Stats(t.Context(), queue)
	require.NoError(t, err)
	require.EqualValues(t, n/10+1, stats[0].Dead)
	require.EqualValues(t, n-n/10-1, stats[0].Done)
	require.Len(t, c.all(), n+2)
	r, err := two.Get(t.Context(), queue, "m8")
	require.NoError(t, err)
	require.Equal(t, `"m8"`, string(r.Result))
	require.Len(t, r.History, 2)
	for v, err := range one.Check(t.Context()) {
		require.NoError(t, err)
		require.Fail(t, "a rule is broken", "%+v", v)
	}
}
