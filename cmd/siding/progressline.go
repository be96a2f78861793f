package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/siding-dev/siding"
)

const (
	plainEvery = 5 * time.Second        // between two plain lines
	barEvery   = 200 * time.Millisecond // between two looks of the bar
)

// showProgress shows a run's progress on standard error until the returned function is called: a bar on a terminal,
// plain lines elsewhere, nothing with --quiet. read gives the counts of the store.
func (a *app) showProgress(ctx context.Context, p *progress, read func(context.Context) (siding.InputStats, error)) (stop func()) {
	if a.quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { refreshing(ctx, p, read) })
	if a.colour(a.err) {
		wg.Go(func() { a.bar(ctx, p) })
	} else {
		wg.Go(func() { a.plainLines(ctx, p) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// refreshing reads the counts again and again, for at most a twentieth of the time: counting a large input is work.
func refreshing(ctx context.Context, p *progress, read func(context.Context) (siding.InputStats, error)) {
	pause := time.Second
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		done, dead := p.mark()
		began := time.Now()
		if s, err := read(ctx); err == nil {
			p.refresh(s, done, dead)
		}
		pause = max(time.Second, 20*time.Since(began))
	}
}

func (a *app) plainLines(ctx context.Context, p *progress) {
	tick := time.NewTicker(plainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = fmt.Fprintln(a.err, p.text())
		}
	}
}

func (a *app) bar(ctx context.Context, p *progress) {
	c := mpb.New(mpb.WithOutput(a.err), mpb.WithWidth(24), mpb.WithRefreshRate(barEvery))
	ended, all := p.counts()
	bar := c.AddBar(max(all, 1), mpb.BarRemoveOnComplete(),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + p.text() })))
	bar.SetCurrent(min(ended, all-1))
	tick := time.NewTicker(barEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			bar.Abort(true)
			c.Wait()
			return
		case <-tick.C:
			// One short of the total, so that the bar does not end before the run does.
			ended, all = p.counts()
			bar.SetCurrent(max(min(ended, all-1), 0))
		}
	}
}
