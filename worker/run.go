package worker

import (
	"context"
	"sync"
	"time"

	"github.com/siding-dev/siding"
)

// storeTimeout bounds a lease or a reap, so that a store that hangs is noticed.
const storeTimeout = 30 * time.Second

// run carries out what the core decides. Only its own goroutine touches the core and the maps.
type run struct {
	*Worker
	core    *core
	io      context.Context //nolint:containedctx // of calls of the store, as long as the run: not ended by a stop
	work    context.Context //nolint:containedctx // of handlers: likewise
	news    chan news
	done    chan struct{} // closed at the end, so that nobody waits to send
	cancels map[int64]context.CancelCauseFunc
	asking  sync.WaitGroup // calls of the store
	timer   *time.Timer
	start   time.Time
}

func (w *Worker) run(ctx context.Context) error {
	work := context.WithoutCancel(ctx)
	io, cancel := context.WithCancel(work)
	r := &run{
		Worker: w, core: newCore(w.cfg, w.cfg.Seed), io: io, work: work,
		news: make(chan news, 64), done: make(chan struct{}),
		cancels: map[int64]context.CancelCauseFunc{}, timer: time.NewTimer(0), start: time.Now(),
	}
	defer func() {
		r.timer.Stop()
		close(r.done)
		cancel()
		for _, left := range r.cancels {
			left(siding.ErrShutdown)
		}
		r.awaitStore()
	}()

	ended, stop := ctx.Done(), w.stop
	again, stopNow := secondSignal(ctx), w.stopNow
	for {
		var all []news
		select {
		case n := <-r.news:
			all = r.pending(n)
		case <-r.timer.C:
			all = []news{newsTime{}}
		case <-ended:
			ended, all = nil, []news{newsStop{}}
		case <-stop:
			stop, all = nil, []news{newsStop{}}
		case <-again:
			again, all = nil, []news{newsStopNow{}}
		case <-stopNow:
			stopNow, all = nil, []news{newsStopNow{}}
		case <-w.wake:
			all = []news{newsWake{}}
		}
		for _, n := range all {
			if end, ok := n.(newsEnded); ok {
				delete(r.cancels, end.call)
			}
		}
		at := time.Since(r.start)
		out := r.core.step(at, all...)
		if w.record != nil {
			w.record(at, all, out)
		}
		for _, cmd := range out {
			if end, ok := cmd.(cmdFinish); ok {
				return end.err
			}
			r.execute(cmd)
		}
	}
}

// pending gives all news that are there by now: what ends together is settled together.
func (r *run) pending(first news) []news {
	all := []news{first}
	for {
		select {
		case n := <-r.news:
			all = append(all, n)
		default:
			return all
		}
	}
}

func (r *run) execute(cmd command) {
	switch cmd := cmd.(type) {
	case cmdNudge:
		r.ask(storeTimeout, func(ctx context.Context) news {
			return newsNudged{r.store.Nudge(ctx, cmd.keys)}
		})
	case cmdLease:
		r.ask(storeTimeout, func(ctx context.Context) news {
			leased, err := r.store.Lease(ctx, cmd.request)
			return newsLeased{leased, err}
		})
	case cmdStart:
		r.startCall(cmd)
	case cmdCancel:
		if cancel := r.cancels[cmd.call]; cancel != nil {
			cancel(cmd.cause)
		}
	case cmdExtend:
		r.ask(cmd.by/3, func(ctx context.Context) news {
			errs, err := r.store.Extend(ctx, cmd.by, cmd.tokens...)
			return newsExtended{errs, err}
		})
	case cmdSettle:
		r.ask(r.cfg.SettleTimeout, func(ctx context.Context) news {
			settled, err := r.store.Settle(ctx, cmd.settlements...)
			return newsSettled{settled, err}
		})
	case cmdReap:
		r.ask(storeTimeout, func(ctx context.Context) news {
			n, err := r.store.Reap(ctx)
			return newsReaped{n, err}
		})
	case cmdTimer:
		r.timer.Reset(max(0, cmd.at-time.Since(r.start)))
	case cmdNotify:
		r.notify(cmd.event)
	}
}

// ask calls the store, with a deadline of its own.
func (r *run) ask(within time.Duration, call func(context.Context) news) {
	r.asking.Go(func() {
		ctx, cancel := context.WithTimeout(r.io, within)
		defer cancel()
		r.send(call(ctx))
	})
}

func (r *run) send(n news) {
	select {
	case r.news <- n:
	case <-r.done:
	}
}

// startCall runs the handler in a goroutine and context of its own.
func (r *run) startCall(cmd cmdStart) {
	ctx, cancel := context.WithCancelCause(r.work)
	r.cancels[cmd.call] = cancel
	go r.call(ctx, cmd.call, cmd.deliveries, func(n news) {
		cancel(nil)
		r.send(n)
	})
}

// awaitStore lets calls of the store end, so that the store may be closed when Run has returned. One that hangs although
// its context is cancelled is not waited for.
func (r *run) awaitStore() {
	over := make(chan struct{})
	go func() {
		r.asking.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(time.Second):
		r.cfg.Logger.Warn("a call of the store does not end although it is cancelled")
	}
}
