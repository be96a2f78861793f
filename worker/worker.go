package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/siding-dev/siding"
)

// Store is what a worker needs of a store.
type Store interface {
	siding.Queue
	// Nudge is called once, before the first lease, where [Config.Gates] names any gate; see [siding.Gatekeeper].
	Nudge(ctx context.Context, keys siding.GateKeys) error
}

// Worker hands the messages of a queue to a handler. Its methods may be called by several goroutines.
type Worker struct {
	cfg   Config
	store Store

	running  atomic.Bool
	stopOnce sync.Once
	nowOnce  sync.Once
	stop     chan struct{} // closed by Stop
	stopNow  chan struct{} // closed by StopNow
	wake     chan struct{} // has one by Wake

	record func(at time.Duration, all []news, out []command) // for tests: sees every step
}

// New gives a worker for a store. It does nothing before [Worker.Run]. The error names every field that is wrong.
func New(store Store, cfg Config) (*Worker, error) {
	if store == nil {
		return nil, errors.New("worker: the store is nil")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if cfg.Name == "" {
		cfg.Name = defaultName()
	}
	for cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	return &Worker{
		cfg: cfg, store: store,
		stop: make(chan struct{}), stopNow: make(chan struct{}), wake: make(chan struct{}, 1),
	}, nil
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// Run works until the worker is stopped, the queue is drained ([Config.Drain]), or a fault ends it. A worker runs once.
//
// The end of ctx is a graceful stop, as is [Worker.Stop]: nothing more is leased, running handlers may finish within
// [Config.Grace], then their contexts are cancelled; what was leased and not handed over goes back at once. ctx does not
// cancel the handlers' contexts itself, but its values reach them. A handler that still does not return is left behind
// after half of [Config.SettleTimeout]: its message goes back to the queue, and its goroutine stays until it ends by
// itself, with its late result ignored.
//
// The error is
//
//   - nil when the queue is drained, or when a worker without Drain was stopped;
//   - [siding.ErrShutdown] when a worker with Drain was stopped before it had drained the queue;
//   - a [*HeldError] when a fault that is not the messages' is in the way, and has been waited for long enough ([Config.Wait]);
//   - otherwise what the store said, when it is closed or has failed for longer than [Config.GiveUp].
//
// An error that mentions outcomes which could not be written wraps the above; those messages are delivered again.
func (w *Worker) Run(ctx context.Context) error {
	if !w.running.CompareAndSwap(false, true) {
		return errors.New("worker: Run was called before; make a new worker")
	}
	return w.run(ctx)
}

// Stop asks for a graceful stop, as the end of Run's context does. It does not wait for it, and may be called before Run.
func (w *Worker) Stop() { w.stopOnce.Do(func() { close(w.stop) }) }

// StopNow cancels the handlers' contexts at once, writes what can be written within a second, and ends Run. It does not
// wait for it, and may be called before Run, and after Stop.
func (w *Worker) StopNow() { w.nowOnce.Do(func() { close(w.stopNow) }) }

// Wake says that messages may have come into the queue, so that they need not wait for the next poll.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
