package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const queue = "jobs"

var errPoison = errors.New("cannot be done")

// fix is a store with what a test needs around it. hook may fail the store's writes; see [memory.Options].
type fix struct {
	*testing.T
	store *memory.Store

	mu   sync.Mutex
	hook func(point, op string) error
}

func setup(t *testing.T) *fix {
	f := &fix{T: t}
	f.store = memory.Open(memory.Options{Hook: func(point, op string) error {
		f.mu.Lock()
		hook := f.hook
		f.mu.Unlock()
		if hook == nil {
			return nil
		}
		return hook(point, op)
	}})
	t.Cleanup(func() { _ = f.store.Close() })
	return f
}

func (f *fix) setHook(hook func(point, op string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// fail makes an operation fail with err before anything is done; nil mends it.
func (f *fix) fail(op string, err error) {
	f.setHook(func(point, o string) error {
		if point == "before" && o == op {
			return err
		}
		return nil
	})
}

func (f *fix) put(ids ...string) {
	f.Helper()
	for _, id := range ids {
		_, err := f.store.Enqueue(f.Context(), queue, siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: []byte(`{}`)})
		require.NoError(f, err)
	}
}

// many puts n messages m0, m1, … into the queue.
func (f *fix) many(n int) {
	f.Helper()
	all := make([]siding.NewMessage, n)
	for i := range all {
		all[i] = siding.NewMessage{ID: fmt.Sprint("m", i), Body: []byte(`{}`)}
	}
	_, err := f.store.Enqueue(f.Context(), queue, siding.EnqueueOptions{}, all...)
	require.NoError(f, err)
}

func (f *fix) get(id string) *siding.Record {
	f.Helper()
	r, err := f.store.Get(f.Context(), queue, id)
	require.NoError(f, err)
	return r
}

func (f *fix) stats() siding.QueueStats {
	f.Helper()
	all, err := f.store.Stats(f.Context(), queue)
	require.NoError(f, err)
	require.Len(f, all, 1)
	return all[0]
}

// sound checks that no row breaks a rule.
func (f *fix) sound() {
	f.Helper()
	for v, err := range f.store.Check(f.Context()) {
		require.NoError(f, err)
		require.Fail(f, "a rule is broken", "%+v", v)
	}
}

// worker gives a worker on the queue that drains it, unless cfg says something else.
func (f *fix) worker(cfg worker.Config) *worker.Worker {
	f.Helper()
	cfg.Queue, cfg.Drain = queue, true
	w, err := worker.New(f.store, cfg)
	require.NoError(f, err)
	return w
}

func (f *fix) drain(cfg worker.Config) {
	f.Helper()
	require.NoError(f, f.worker(cfg).Run(f.Context()))
	f.sound()
}

// start runs a worker in the background; the channel gives what Run returns.
func start(ctx context.Context, w *worker.Worker) <-chan error {
	end := make(chan error, 1)
	go func() { end <- w.Run(ctx) }()
	return end
}

// exact is a policy without jitter, so that times can be told.
func exact(retries int) siding.Policy {
	p := siding.DefaultPolicy()
	p.MaxRetries, p.Backoff.Jitter = retries, 0
	return p
}

func handler(f func(ctx context.Context, d *siding.Delivery) error) siding.Handler {
	return siding.HandlerFunc(f)
}

// log counts calls of a handler by message, and when they began.
type calls struct {
	mu    sync.Mutex
	start time.Time
	count map[string]int
	times []time.Duration
}

func newCalls() *calls { return &calls{start: time.Now(), count: map[string]int{}} }

func (c *calls) add(d *siding.Delivery) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[d.ID]++
	c.times = append(c.times, time.Since(c.start))
	return c.count[d.ID]
}

func (c *calls) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[id]
}

func (c *calls) all() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.times...)
}

// whole gives the times cut to 10 ms: the store's clock never stands still, so that they are some microseconds late.
func (c *calls) whole() []time.Duration {
	all := c.all()
	for i := range all {
		all[i] = all[i].Truncate(10 * time.Millisecond)
	}
	return all
}
