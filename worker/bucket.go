package worker

import (
	"math"
	"time"

	"github.com/siding-dev/siding"
)

// bucket is one limit as its service sees it: it holds so much when full, and is refilled all the time, within a minute.
type bucket struct {
	limit     float64 // 0: not known
	full      float64 // the most that was ever told to remain: the bucket may hold less than a minute's worth
	level     float64
	at        time.Duration // of the level
	corrected time.Duration // when it was last
	cost      float64       // of a call, as far as the answers show

	seen struct { // the answer from which the cost is reckoned on
		number    int64
		began     time.Duration
		remaining float64
	}
}

func (b *bucket) rate() float64 { return b.limit / period }

// price is what a call takes: one request, or its tokens as estimated. Never more than all: a call that is larger has to
// be tried to be refused.
func (b *bucket) price() float64 { return min(b.cost, b.limit) }

func (b *bucket) refill(now time.Duration) {
	b.level = min(b.level+b.rate()*(now-b.at).Seconds(), b.holds())
	b.at = now
}

// holds is how much the bucket holds, as far as is known: always enough for a call.
func (b *bucket) holds() float64 { return max(b.full, b.price()) }

func (b *bucket) room() float64 {
	price := b.price()
	if price <= 0 {
		return math.Inf(1)
	}
	return max(0, math.Floor((b.level-b.reserve())/price+rounding))
}

// reserve is left in the bucket, as what is told is rounded and no two calls take equally long on their way: one more
// call, where the bucket holds many.
func (b *bucket) reserve() float64 { return min(b.price(), (b.holds()-b.price())/8) }

func (b *bucket) wait() float64 {
	price := b.price()
	if price <= 0 {
		return 0
	}
	need := min(max(price, b.rate()*together)+b.reserve(), b.holds())
	return (need - b.level) / b.rate()
}

// correct takes in what an answer says. What remained when the call came, what has been refilled since it began, and
// what the calls since have taken, gives the level; this holds as well where the service writes what remains when it
// answers, as long as calls come and go steadily. Where they do not, it may be far too high, for instance because a full
// bucket was not refilled: so less than was thought counts at once, more only by and by.
func (b *bucket) correct(now, began time.Duration, number, begun int64, told siding.RateLimit, i int) {
	first := b.limit != float64(told.Limit)
	if first {
		*b = bucket{limit: float64(told.Limit)}
	}
	remaining := min(max(float64(told.Remaining), 0), b.limit)
	b.full = max(b.full, remaining)
	if i == 0 {
		b.cost = 1
	} else {
		b.estimate(first, began, number, remaining)
	}
	level := remaining + b.rate()*(now-began).Seconds() - float64(begun-number)*b.price()
	level = min(max(level, -b.limit/2), b.holds()) // a limit that nobody can believe does not stop the work for long
	if first {
		b.level, b.at, b.corrected = level, now, now
		return
	}
	b.refill(now)
	b.level = min(level, b.level+upwards*b.rate()*(now-b.corrected).Seconds())
	b.corrected = now
}

// estimate reckons from two answers what the calls between them have cost. The first answer alone allows a guess: that
// the bucket was full before.
func (b *bucket) estimate(first bool, began time.Duration, number int64, remaining float64) {
	calls := number - b.seen.number
	switch {
	case first:
		b.cost = (b.limit - remaining) / float64(max(number, 1))
	case calls < costEvery:
		return
	case b.seen.remaining < b.limit && remaining < b.limit: // a full bucket does not tell what was refilled
		used := b.seen.remaining - remaining + b.rate()*(began-b.seen.began).Seconds()
		b.cost = (b.cost + min(max(used/float64(calls), 0), b.limit)) / 2
	}
	b.seen.number, b.seen.began, b.seen.remaining = number, began, remaining
}
