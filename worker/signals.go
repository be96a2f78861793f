package worker

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signals gives a context for [Worker.Run] that obeys SIGINT and SIGTERM: the first ends it, which stops every worker
// that runs on it gracefully; the second stops them at once, as [Worker.StopNow] does; a third has its usual effect and
// kills the process. Call release when the work is over; signals then have their usual effect again.
func Signals(ctx context.Context) (sctx context.Context, release func()) {
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	stop := func() { signal.Stop(ch) }
	sctx, cancel := signalsFrom(ctx, ch, stop)
	return sctx, func() {
		stop()
		cancel()
	}
}

// SignalsFrom is [Signals] for signals that come from a channel. It reads at most two.
func SignalsFrom(ctx context.Context, ch <-chan os.Signal) (sctx context.Context, release func()) {
	return signalsFrom(ctx, ch, func() {})
}

func signalsFrom(ctx context.Context, ch <-chan os.Signal, second func()) (context.Context, func()) {
	again := make(chan struct{})
	released := make(chan struct{})
	sctx, cancel := context.WithCancelCause(context.WithValue(ctx, secondKey{}, (<-chan struct{})(again)))
	go func() {
		select {
		case s := <-ch:
			cancel(fmt.Errorf("stopped by a signal: %v", s))
		case <-released:
			return
		}
		select {
		case <-ch:
			second()
			close(again)
		case <-released:
		}
	}()
	var once sync.Once
	return sctx, func() {
		once.Do(func() { close(released) })
		cancel(context.Canceled)
	}
}

type secondKey struct{}

// secondSignal gives the channel that is closed at the second signal; nil when ctx has none.
func secondSignal(ctx context.Context) <-chan struct{} {
	again, _ := ctx.Value(secondKey{}).(<-chan struct{})
	return again
}
