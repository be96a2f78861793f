package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// BenchmarkLife is the whole durable life of a message: 64 producers enqueue one at a time, and one leasing loop keeps 64
// handlers at work, each of which settles its own. Every reply is synced to the disk.
func BenchmarkLife(b *testing.B) {
	s := open(b, postgres.Options{})
	body := make([]byte, 1024)
	const width = 64
	b.ResetTimer()
	start := time.Now()
	var next, settled atomic.Int64
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				_, err := s.Enqueue(b.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(n), Body: body})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	slots := make(chan struct{}, width)
	work := make(chan *siding.Delivery, width)
	for range width {
		wg.Go(func() {
			for d := range work {
				out, err := s.Settle(b.Context(), siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy()})
				if err != nil || out[0].Err != nil {
					b.Error(err, out)
				}
				settled.Add(1)
				<-slots
			}
		})
	}
	for settled.Load() < int64(b.N) {
		slots <- struct{}{} // at least one is free
		free := 1
		for free < width {
			select {
			case slots <- struct{}{}:
				free++
				continue
			default:
			}
			break
		}
		l, err := s.Lease(b.Context(), siding.LeaseRequest{
			Queue: "q", Worker: "w", Max: free, MaxRetries: free / 4, Duration: time.Minute, Policy: siding.DefaultPolicy(),
		})
		require.NoError(b, err)
		for range free - len(l.Deliveries) {
			<-slots
		}
		for _, d := range l.Deliveries {
			work <- d
		}
		if len(l.Deliveries) == 0 {
			time.Sleep(200 * time.Microsecond)
		}
	}
	close(work)
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "jobs/s")
	b.StopTimer()
	clean(b, s)
}
