package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/siding-dev/siding"
)

// benchRun takes messages through their life: producers and workers at once.
type benchRun struct {
	store siding.Store
	flags benchFlags
	queue string

	next, ended            atomic.Int64
	mu                     sync.Mutex
	sent                   map[string]time.Time
	enqueue, settle, whole []time.Duration
	err                    error
}

func (b *benchRun) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.sent = make(map[string]time.Time, b.flags.jobs)
	body := make([]byte, b.flags.body)
	_, _ = rand.Read(body) // never fails
	for i := range body {
		body[i] = 'a' + body[i]%26
	}
	var wg sync.WaitGroup
	try := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				b.mu.Lock()
				if b.err == nil {
					b.err = err
				}
				b.mu.Unlock()
				cancel()
			}
		})
	}
	for range b.flags.producers {
		try(func(ctx context.Context) error { return b.produce(ctx, body) })
	}
	for i := range b.flags.workers {
		try(func(ctx context.Context) error { return b.consume(ctx, fmt.Sprintf("bench-%d", i)) })
	}
	wg.Wait()
	return b.err
}

func (b *benchRun) produce(ctx context.Context, body []byte) error {
	for {
		n := b.next.Add(1)
		if n > int64(b.flags.jobs) {
			return nil
		}
		id := fmt.Sprintf("job-%09d", n)
		began := time.Now()
		b.mu.Lock()
		b.sent[id] = began
		b.mu.Unlock()
		result, err := b.store.Enqueue(ctx, b.queue, siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: body})
		if err == nil {
			err = result[0].Err
		}
		if err != nil {
			return err
		}
		b.mu.Lock()
		b.enqueue = append(b.enqueue, time.Since(began))
		b.mu.Unlock()
	}
}

func (b *benchRun) consume(ctx context.Context, name string) error {
	policy := siding.DefaultPolicy()
	for b.ended.Load() < int64(b.flags.jobs) {
		began := time.Now()
		leased, err := b.store.Lease(ctx, siding.LeaseRequest{
			Queue: b.queue, Worker: name, Max: 1, MaxRetries: -1, Duration: time.Minute, Policy: policy,
		})
		if err != nil {
			return err
		}
		if len(leased.Deliveries) == 0 {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		d := leased.Deliveries[0]
		settled, err := b.store.Settle(ctx, siding.Settlement{Token: d.Token, Policy: policy})
		if err == nil {
			err = settled[0].Err
		}
		if err != nil {
			return err
		}
		b.ended.Add(1)
		now := time.Now()
		b.mu.Lock()
		b.settle = append(b.settle, now.Sub(began))
		b.whole = append(b.whole, now.Sub(b.sent[d.ID]))
		delete(b.sent, d.ID)
		b.mu.Unlock()
	}
	return nil
}

// percentiles of latencies, in milliseconds.
type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// percentilesOf gives the nearest-rank percentiles. It sorts d.
func percentilesOf(d []time.Duration) percentiles {
	if len(d) == 0 {
		return percentiles{}
	}
	slices.Sort(d)
	at := func(percent int) float64 {
		return d[max((len(d)*percent+99)/100, 1)-1].Seconds() * 1000
	}
	return percentiles{P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}
