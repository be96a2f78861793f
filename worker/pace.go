package worker

import (
	"math"
	"time"

	"github.com/siding-dev/siding"
)

// pacing spaces the calls so that the service need not refuse any: for each limit that its answers tell of, a token
// bucket as the service has it. Nothing is limited before the first answer that names a limit.
type pacing struct {
	limits [3]bucket // requests, input tokens, output tokens
	begun  int64     // calls begun

	// A refusal although there seemed to be room: others share the limit. The own share of the rate is what it was left
	// with, and grows again by a hundredth a second.
	left  float64       // share of the rate after the latest refusal; 0: there was none
	cutAt time.Duration // when that was
	own   float64       // calls that the share allows now
	ownAt time.Duration
}

const (
	period     = 60.0 // seconds; what the limits are per
	together   = 0.01 // seconds; calls that come due within are begun together, so that not each costs a write
	shareCut   = 0.8
	shareLeast = 0.05
	shareGrows = 0.01 // a second
	upwards    = 0.05 // of the rate: so fast does the level rise beyond it
	costEvery  = 8    // calls from one estimate of their cost to the next
)

// start notes that a call begins, and gives its number.
func (p *pacing) start(now time.Duration) int64 {
	p.begun++
	for i := range p.limits {
		if b := &p.limits[i]; b.limit > 0 {
			b.refill(now)
			b.level = max(b.level-b.price(), -b.limit) // a debt of no more than a minute
		}
	}
	p.refillOwn(now)
	p.own = max(p.own-1, -1)
	return p.begun
}

// answered takes in the limits that came with the answer to a call that began at a time with a number.
func (p *pacing) answered(now, began time.Duration, number int64, told *siding.RateLimits) {
	if told == nil {
		return
	}
	for i, l := range []siding.RateLimit{told.Requests, told.InputTokens, told.OutputTokens} {
		if l.Limit > 0 {
			p.limits[i].correct(now, began, number, p.begun, l, i)
		}
	}
}

// refused takes in that the service had no room for a call although the limits are known; false when none is known. The
// refusals of calls that began before the latest cut say nothing new.
func (p *pacing) refused(now, began time.Duration) bool {
	if math.IsInf(p.rate(), 1) {
		return false
	}
	if p.left == 0 || began >= p.cutAt {
		p.left = max(p.share(now)*shareCut, shareLeast)
		p.cutAt, p.own, p.ownAt = now, 0, now
	}
	return true
}

func (p *pacing) share(now time.Duration) float64 {
	if p.left == 0 {
		return 1
	}
	return min(1, p.left+shareGrows*(now-p.cutAt).Seconds())
}

// shared tells whether the own share bounds the calls: others have been met, and there is a rate of which it is a share.
func (p *pacing) shared(now time.Duration) bool { return p.share(now) < 1 && !math.IsInf(p.rate(), 1) }

// rate is how many calls a second the limits allow in the long run.
func (p *pacing) rate() float64 {
	rate := math.Inf(1)
	for i := range p.limits {
		if b := &p.limits[i]; b.limit > 0 && b.price() > 0 {
			rate = min(rate, b.rate()/b.price())
		}
	}
	return rate
}

// refillOwn keeps no more than a tenth of a second's worth: what was not used belongs to the others.
func (p *pacing) refillOwn(now time.Duration) {
	rate := p.rate() * p.share(now)
	if math.IsInf(rate, 1) {
		rate = 0
	}
	p.own = min(p.own+rate*(now-p.ownAt).Seconds(), max(1, rate/10))
	p.ownAt = now
}

// room is how many calls may begin now, at most n.
func (p *pacing) room(now time.Duration, n int) int {
	most := float64(n)
	for i := range p.limits {
		if b := &p.limits[i]; b.limit > 0 {
			b.refill(now)
			most = min(most, b.room())
		}
	}
	if p.shared(now) {
		p.refillOwn(now)
		most = min(most, math.Floor(p.own+rounding))
	}
	return int(max(most, 0))
}

// due is when the next call may begin.
func (p *pacing) due(now time.Duration) time.Duration {
	wait := 0.0
	for i := range p.limits {
		if b := &p.limits[i]; b.limit > 0 {
			b.refill(now)
			wait = max(wait, b.wait())
		}
	}
	if p.shared(now) {
		p.refillOwn(now)
		wait = max(wait, (1-p.own)/(p.rate()*p.share(now)))
	}
	if wait <= 0 {
		return now
	}
	return after(now, time.Duration(math.Ceil(min(wait, 10*period)*1e9)))
}

// rounding is how far a sum of many small numbers may be off.
const rounding = 1e-6
