package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// limiter is a service with a token bucket for a minute's requests, and one for its tokens, which tells what remains.
type limiter struct {
	perMinute int64
	burst     int64 // what the bucket really holds
	tokens    int64 // a minute; 0: no limit
	cost      func(d *siding.Delivery) int64
	silent    bool // it tells nothing
	late      bool // it tells what remains when it answers, not when it admits
	uneven    bool // some calls take longer than others
	latency   time.Duration

	mu        sync.Mutex
	start, at time.Time
	level     float64
	left      float64 // tokens
	admitted  []time.Duration
	refused   []time.Duration
	flying    int
	most      int
}

func newLimiter(perMinute, burst int64) *limiter {
	now := time.Now()
	return &limiter{
		perMinute: perMinute, burst: burst, level: float64(burst), latency: 300 * time.Millisecond, start: now, at: now,
		cost: func(*siding.Delivery) int64 { return 0 },
	}
}

func (l *limiter) refill() {
	now := time.Now()
	passed := now.Sub(l.at).Minutes()
	l.level = min(l.level+passed*float64(l.perMinute), float64(l.burst))
	l.left = min(l.left+passed*float64(l.tokens), float64(l.tokens))
	l.at = now
}

func (l *limiter) limits() *siding.RateLimits {
	if l.silent {
		return nil
	}
	l.refill()
	out := &siding.RateLimits{Requests: siding.RateLimit{Limit: l.perMinute, Remaining: int64(math.Floor(l.level))}}
	if l.tokens > 0 {
		out.InputTokens = siding.RateLimit{Limit: l.tokens, Remaining: int64(math.Round(l.left/1000)) * 1000}
	}
	return out
}

func (l *limiter) Handle(_ context.Context, d *siding.Delivery) (siding.Result, error) {
	l.mu.Lock()
	l.refill()
	cost := float64(l.cost(d))
	at := time.Since(l.start)
	l.flying++
	l.most = max(l.most, l.flying)
	ok := l.level >= 1 && (l.tokens == 0 || l.left >= cost)
	latency := l.latency
	if ok {
		l.level--
		l.left -= cost
		l.admitted = append(l.admitted, at)
	} else {
		l.refused = append(l.refused, at)
		latency = 100 * time.Millisecond
	}
	if l.uneven {
		latency += time.Duration(l.flying%7-3) * 30 * time.Millisecond
	}
	told := l.limits()
	l.mu.Unlock()
	time.Sleep(latency)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying--
	if l.late {
		told = l.limits()
	}
	if !ok {
		return siding.Result{Limits: told}, &siding.Failure{
			Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, Scope: siding.ScopeLane, Status: 429,
			RetryAfter: time.Second, Err: errors.New("too many requests"),
		}
	}
	return siding.Result{Limits: told}, nil
}

// between counts what came between two times.
func between(all []time.Duration, from, to time.Duration) (n int) {
	for _, at := range all {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

// Fifty a second at a latency of 300 ms, over a minute of steady work: the limit is used, and hardly a call is refused.
// It makes no difference how much the bucket holds beyond what it gets, when the service tells what remains, and whether
// all calls take equally long.
func TestALimitIsUsedAndKept(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		burst, level int64
		late, uneven bool
		realStore    bool
	}{
		{burst: 3000, level: 100},
		{burst: 3000, level: 100, late: true, uneven: true},
		{burst: 50, level: 50, late: true, realStore: true},
		{burst: 50, level: 50, uneven: true},
		{burst: 10, level: 10},
		{burst: 10, level: 10, late: true},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := int(test.level) + 62*50
				l := newLimiter(3000, test.burst)
				l.level, l.late, l.uneven = float64(test.level), test.late, test.uneven
				cfg := worker.Config{Queue: queue, Drain: true, Gates: watched, Wait: waiting, Handler: l, Concurrency: 64}
				var store worker.Store = &counter{left: n}
				if test.realStore {
					f := setup(t)
					f.many(n)
					store = f.store
				}
				w, err := worker.New(store, cfg)
				require.NoError(t, err)
				require.NoError(t, w.Run(t.Context()))
				took := l.admitted[len(l.admitted)-1]
				used, refused := between(l.admitted, took-time.Minute, took), between(l.refused, took-time.Minute, took)
				t.Logf("%d used, %d refused in the last minute, %d in all, of %d in %v", used, refused, len(l.refused), n, took)
				require.GreaterOrEqual(t, used, 3000*98/100)
				require.Less(t, float64(refused), 0.005*float64(used))
				require.Less(t, float64(len(l.refused)), 0.005*float64(n))
			})
		})
	}
}

// The limit that is short is that of the tokens; what a call takes shows only in what remains.
func TestALimitOfTokensIsUsedAndKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(1200)
		l := newLimiter(3000, 3000)
		l.tokens, l.left = 600_000, 600_000 // 10 calls a second of a thousand each
		l.cost = func(d *siding.Delivery) int64 { return 500 + int64(number7(d)*7%1001) }
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: l, Concurrency: 64})
		require.EqualValues(t, 1200, f.stats().Done)
		t.Logf("%d refused, the last at %v", len(l.refused), l.admitted[1199])
		require.Less(t, len(l.refused), 12)
	})
}

// Where the service tells nothing, the window finds out how much it takes.
func TestWithoutToldLimitsTheWindowAdapts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(800)
		l := newLimiter(600, 5)
		l.silent = true
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: l, Concurrency: 64})
		require.EqualValues(t, 800, f.stats().Done)
		t.Logf("%d refused, at most %d at once, took %v", len(l.refused), l.most, l.admitted[799])
		require.LessOrEqual(t, l.most, 40, "never all")
		require.Less(t, len(l.refused), 800/4)
	})
}

// Several processes share a limit and do not know of each other.
func TestWorkersThatShareALimitAllGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(900)
		l := newLimiter(600, 600)
		var ends []<-chan error
		for range 3 {
			ends = append(ends, start(t.Context(), f.worker(worker.Config{Gates: watched, Wait: waiting, Handler: l, Concurrency: 16})))
			f.reopen()
		}
		for _, end := range ends {
			require.NoError(t, <-end)
		}
		require.EqualValues(t, 900, f.stats().Done)
		t.Logf("%d refused, took %v", len(l.refused), l.admitted[899])
		require.Less(t, len(l.refused), 900/20)
		require.Less(t, l.admitted[899], 40*time.Second*13/10)
	})
}

// One request is larger than the limit of a minute, and is refused each time: it runs out of waits, and the others are
// done.
func TestARequestLargerThanTheLimitRunsOutOfWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.many(500)
		l := newLimiter(3000, 3000)
		l.tokens, l.left = 60_000, 60_000
		l.cost = func(d *siding.Delivery) int64 {
			if d.ID == "m7" {
				return 100_000
			}
			return 200
		}
		f.drain(worker.Config{Gates: watched, Wait: waiting, Handler: l, Policy: exact(3)})
		s := f.stats()
		require.EqualValues(t, 499, s.Done)
		require.EqualValues(t, 1, s.Dead)
		r := f.get("m7")
		require.Equal(t, siding.ReasonWaitsExhausted, r.Reason)
		require.Zero(t, r.Attempt)
		t.Logf("took %v, %d refused", l.admitted[498], len(l.refused))
	})
}
