package claudesim

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// A bucket holds what may be spent now. It starts full, is refilled continuously and gives nothing back.
type bucket struct {
	rate  Rate
	level float64
	at    time.Time // when level was true
}

func newBucket(r *Rate, now time.Time) *bucket {
	if r == nil {
		return nil
	}
	return &bucket{rate: *r, level: float64(r.Burst), at: now}
}

// perSecond is the speed of the refill.
func (b *bucket) perSecond() float64 { return float64(b.rate.Amount) / b.rate.Per.Seconds() }

// refill brings the level up to now. A clock that went backwards refills nothing.
func (b *bucket) refill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.level = math.Min(float64(b.rate.Burst), b.level+d.Seconds()*b.perSecond())
		b.at = now
	}
}

// until is how long it takes for the level to reach an amount; for one that never fits, until the bucket is full.
func (b *bucket) until(amount float64) time.Duration {
	missing := math.Min(amount, float64(b.rate.Burst)) - b.level
	return time.Duration(math.Ceil(max(missing, 0) / b.perSecond() * float64(time.Second)))
}

// buckets are the limits of one model.
type buckets struct {
	requests, input, output *bucket
}

func newBuckets(l Limits, now time.Time) *buckets {
	return &buckets{requests: newBucket(l.Requests, now), input: newBucket(l.InputTokens, now), output: newBucket(l.OutputTokens, now)}
}

func (b *buckets) refill(now time.Time) {
	for _, k := range []*bucket{b.requests, b.input, b.output} {
		if k != nil {
			k.refill(now)
		}
	}
}

// rounding forgives what floating point loses when a client comes back exactly when it was told to.
const rounding = 1e-6

// admit takes one request with its input tokens, or takes nothing and returns the 429. The output limit only asks for
// something to be left, since nobody knows beforehand how long an answer becomes.
func (b *buckets) admit(input int64, now time.Time) *reply {
	b.refill(now)
	for _, k := range []struct {
		*bucket
		need float64
		unit string
	}{{b.requests, 1, "requests"}, {b.input, float64(input), "input tokens"}, {b.output, 1, "output tokens"}} {
		if k.bucket == nil || k.level+rounding >= k.need {
			continue
		}
		r := failure(http.StatusTooManyRequests, rate, fmt.Sprintf("This request would exceed your organization's rate limit of %d %s per minute", k.rate.perMinute(), k.unit))
		r.header.Set("retry-after", strconv.FormatInt(max(1, ceilSeconds(k.until(k.need))), 10))
		return r
	}
	if b.requests != nil {
		b.requests.level--
	}
	if b.input != nil {
		b.input.level -= float64(input)
	}
	return nil
}

// spend takes the tokens of an answer. The level may fall below zero by one answer, and is paid back by waiting.
func (b *buckets) spend(output int64) {
	if b.output != nil {
		b.output.level -= float64(output)
	}
}

// headers tells what is left. The limit is per minute, as the service has it; reset is when the bucket is full again.
func (b *buckets) headers(h http.Header, now time.Time) {
	type figures struct {
		limit, left int64
		reset       time.Duration
	}
	var both figures
	for _, k := range []struct {
		*bucket
		name string
	}{{b.requests, "requests"}, {b.input, "input-tokens"}, {b.output, "output-tokens"}} {
		if k.bucket == nil {
			continue
		}
		f := figures{k.rate.perMinute(), max(0, int64(k.level+rounding)), k.until(float64(k.rate.Burst))}
		setFigures(h, k.name, f.limit, f.left, now.Add(f.reset))
		if k.name != "requests" {
			both = figures{both.limit + f.limit, both.left + f.left, max(both.reset, f.reset)}
		}
	}
	if both.limit > 0 {
		setFigures(h, "tokens", both.limit, both.left, now.Add(both.reset))
	}
}

func setFigures(h http.Header, name string, limit, left int64, reset time.Time) {
	const prefix = "anthropic-ratelimit-"
	h.Set(prefix+name+"-limit", strconv.FormatInt(limit, 10))
	h.Set(prefix+name+"-remaining", strconv.FormatInt(left, 10))
	// Whole seconds, rounded up: a client that waits for the reset must not come too early.
	h.Set(prefix+name+"-reset", reset.Add(time.Second-1).UTC().Truncate(time.Second).Format(time.RFC3339))
}

func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
