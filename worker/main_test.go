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

// fix is a store with what a test needs around it.
type fix struct {
	*testing.T
	store *memory.Store
	gate  *gate // to the store, for the worker
}

func setup(t *testing.T) *fix {
	store := memory.Open(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	return &fix{t, store, &gate{Store: store}}
}

// gate is the way to a store, on which a test may lie in wait: before sees each operation on its way there and may
// refuse it, reply sees it on its way back and may lose the answer.
type gate struct {
	worker.Store

	mu            sync.Mutex
	before, reply func(op string) error
}

// fail makes an operation fail with err, before anything is done; nil mends it. An empty op means every one.
func (g *gate) fail(op string, err error) {
	g.set(func(o string) error {
		if op == "" || o == op {
			return err
		}
		return nil
	}, nil)
}

func (g *gate) set(before, reply func(op string) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before, g.reply = before, reply
}

func through[T any](g *gate, op string, do func() (T, error)) (T, error) {
	g.mu.Lock()
	before, reply := g.before, g.reply
	g.mu.Unlock()
	var none T
	if before != nil {
		if err := before(op); err != nil {
			return none, err
		}
	}
	got, err := do()
	if err == nil && reply != nil {
		err = reply(op)
	}
	if err != nil {
		return none, err
	}
	return got, nil
}

func (g *gate) Lease(ctx context.Context, r siding.LeaseRequest) (siding.Leased, error) {
	return through(g, "Lease", func() (siding.Leased, error) { return g.Store.Lease(ctx, r) })
}

func (g *gate) Extend(ctx context.Context, d time.Duration, tokens ...siding.LeaseToken) ([]error, error) {
	return through(g, "Extend", func() ([]error, error) { return g.Store.Extend(ctx, d, tokens...) })
}

func (g *gate) Settle(ctx context.Context, s ...siding.Settlement) ([]siding.Settled, error) {
	return through(g, "Settle", func() ([]siding.Settled, error) { return g.Store.Settle(ctx, s...) })
}

func (g *gate) Nudge(ctx context.Context, keys siding.GateKeys) error {
	_, err := through(g, "Nudge", func() (struct{}, error) { return struct{}{}, g.Store.Nudge(ctx, keys) })
	return err
}

func (g *gate) Reap(ctx context.Context) (int, error) {
	return through(g, "Reap", func() (int, error) { return g.Store.Reap(ctx) })
}

// reopen goes on with the same data in another process.
func (f *fix) reopen() {
	f.store = f.store.Another()
	f.gate = &gate{Store: f.store}
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

// watched are the gates of the tests' work.
var watched = siding.GateKeys{
	Account: siding.GateKey{Scope: siding.ScopeAccount, Name: "service/0123abcd"},
	Lane:    siding.GateKey{Scope: siding.ScopeLane, Name: "service/model@0123abcd"},
	Recipe:  siding.GateKey{Scope: siding.ScopeRecipe, Name: queue + "@d1"},
}

// worker gives a worker on the queue that drains it, unless cfg says something else.
func (f *fix) worker(cfg worker.Config) *worker.Worker {
	f.Helper()
	cfg.Queue, cfg.Drain = queue, true
	w, err := worker.New(f.gate, cfg)
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

// calls counts calls of a handler by message, and when they began.
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

// putInto puts n messages into another queue.
func (f *fix) putInto(queue string, n int) {
	f.Helper()
	all := make([]siding.NewMessage, n)
	for i := range all {
		all[i] = siding.NewMessage{ID: fmt.Sprint("o", i), Body: []byte(`{}`)}
	}
	_, err := f.store.Enqueue(f.Context(), queue, siding.EnqueueOptions{}, all...)
	require.NoError(f, err)
}

// drainOf drains another queue.
func (f *fix) drainOf(queue string, cfg worker.Config) {
	f.Helper()
	cfg.Queue, cfg.Drain = queue, true
	w, err := worker.New(f.store, cfg)
	require.NoError(f, err)
	require.NoError(f, w.Run(f.Context()))
	f.sound()
}

// counted is a handler that counts its calls, which all go well.
func counted(c *calls) siding.Handler {
	return handler(func(_ context.Context, d *siding.Delivery) error {
		c.add(d)
		return nil
	})
}
