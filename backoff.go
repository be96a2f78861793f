package siding

import (
	"math"
	"time"
)

// Backoff is an exponential delay with jitter on top.
type Backoff struct {
	Base   time.Duration // the unit: the delay after the n-th failure is Base·Factorⁿ; default 1 s
	Factor float64       // default 2
	Cap    time.Duration // the longest delay without jitter; default 60 s
	Jitter float64       // up to this share of the delay is added; default 0.3
}

const (
	minDelay = time.Millisecond          // no way back to the queue without a delay
	maxDelay = 10 * 365 * 24 * time.Hour // far enough, and sums with any date stay in range
)

// DefaultBackoff gives the delays 2 s, 4 s, 8 s, … up to 60 s, each plus up to 30 %.
func DefaultBackoff() Backoff {
	return Backoff{Base: time.Second, Factor: 2, Cap: 60 * time.Second, Jitter: 0.3}
}

// Delay gives the delay after the n-th failure (n from 1): min(Cap, Base·Factorⁿ), at least floor (what the service
// asked for), plus a share rnd of the jitter. rnd is a random number in [0, 1).
//
// Jitter only adds, so that nobody comes back before the time that the service named, and not all at once. The result
// lies between 1 ms and about ten years (without jitter) for any arguments at all, also NaN and negative ones.
func (b Backoff) Delay(n int, floor time.Duration, rnd float64) time.Duration {
	d := float64(b.Base) * math.Pow(b.Factor, float64(n))
	limit := float64(min(max(b.Cap, minDelay), maxDelay))
	if !(d <= limit) { // also NaN
		d = limit
	}
	floor = min(floor, maxDelay)
	d = max(d, float64(minDelay), float64(floor))
	share := b.Jitter * rnd
	if share > 0 && share <= 10 {
		d += d * share
	}
	return max(time.Duration(min(d, 11*float64(maxDelay))), floor) // which a float may have rounded down
}
