package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// counter is a store that costs nothing: it hands out n messages and takes every outcome.
type counter struct{ left int }

func (c *counter) Lease(_ context.Context, r siding.LeaseRequest) (siding.Leased, error) {
	n := min(r.Max, c.left)
	all := make([]siding.Delivery, n)
	out := siding.Leased{Deliveries: make([]*siding.Delivery, n), Now: time.Now()}
	for i := range all {
		all[i].Token = siding.LeaseToken{Message: int64(c.left - i), Nonce: 1}
		out.Deliveries[i] = &all[i]
	}
	c.left -= n
	return out, nil
}

func (c *counter) Extend(_ context.Context, _ time.Duration, tokens ...siding.LeaseToken) ([]error, error) {
	return make([]error, len(tokens)), nil
}

func (c *counter) Settle(_ context.Context, all ...siding.Settlement) ([]siding.Settled, error) {
	out := make([]siding.Settled, len(all))
	for i := range out {
		out[i].Decision.State = siding.StateDone
	}
	return out, nil
}

func (c *counter) Nudge(context.Context, siding.GateKeys) error { return nil }

func (c *counter) Reap(context.Context) (int, error) { return 0, nil }

// What the worker itself costs a message, beside the store and the handler.
func BenchmarkWorker(b *testing.B) {
	for _, slots := range []int{8, 64, 1024} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			b.ReportAllocs()
			w, err := worker.New(&counter{left: b.N}, worker.Config{
				Queue: queue, Drain: true, Concurrency: slots,
				Handler: siding.HandlerFunc(func(context.Context, *siding.Delivery) error { return nil }),
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			if err := w.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
