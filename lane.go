package siding

import (
	"math/bits"
	"time"
)

// Health is how a lane's latest calls went: only those of messages at attempt 0, so that messages which always fail do
// not make their own lane look sick.
type Health struct {
	Bits    uint32 `json:"bits"` // the latest call lowest; 1: the service answered
	Counted int    `json:"counted"`
}

const (
	healthWindow = 20
	healthFew    = 5 // fewer counted calls say nothing
)

// Add counts a call.
func (h *Health) Add(ok bool) {
	h.Bits <<= 1
	if ok {
		h.Bits |= 1
	}
	h.Bits &= 1<<healthWindow - 1
	h.Counted = min(h.Counted+1, healthWindow)
}

func (h Health) good() int { return bits.OnesCount32(h.Bits) }

// Healthy tells whether a transient failure may be the message's own: three calls in four succeeded.
func (h Health) Healthy() bool { return h.Counted < healthFew || h.good()*20 >= 15*h.Counted }

// Down tells whether fewer than one call in ten succeeds.
func (h Health) Down() bool { return h.Counted >= healthWindow/2 && h.good()*10 < h.Counted }

// recovering is the health of a lane whose outage has just ended: still too sick to charge anybody for a failure, and
// not so sick that the first failure counts as the next outage.
var recovering = Health{Bits: 0b0101010101, Counted: 10}

// Throttle is a rest of a whole lane, because the service has too much to do.
type Throttle struct {
	Until time.Time `json:"until,omitzero"` // rests until then; from then on one call finds out
	Begun time.Time `json:"begun,omitzero"`
	Step  int       `json:"step,omitempty"` // rests in a row without a success
	// Since is when the first of them began, and Only the one message that was refused in all of them; -1: several were.
	Since time.Time `json:"since,omitzero"`
	Only  int64     `json:"only,omitempty"`
}

// The times after which a lane's state says as much about the few messages that are left as about the lane. Nothing
// loops for ever: from then on their failures cost them what is theirs to spend.
const (
	fewFailPatience   = 15 * time.Minute // fewer than five different messages, and nothing but transient failures
	oneRefusePatience = time.Hour        // a single message that is refused for its rate, however long the lane has rested
)

// refused notes whom a rest is for, and tells whether it has been the same message alone for too long.
func (t *Throttle) refused(message int64, now time.Time) (tooLong bool) {
	switch {
	case t.Since.IsZero():
		t.Since, t.Only = now, message
	case t.Only != message:
		t.Only = -1
	}
	return t.Only == message && now.Sub(t.Since) > oneRefusePatience
}

// restBackoff is the rest that a service gets which does not say how long: 1 s doubling to 15 s.
var restBackoff = Backoff{Base: 500 * time.Millisecond, Factor: 2, Cap: 15 * time.Second, Jitter: 0.3}

// rest begins or prolongs a rest. started is when the refused call began: one from before the rest says nothing new.
func (t *Throttle) rest(started, now time.Time, retryAfter time.Duration, rnd float64) {
	if !t.Begun.IsZero() && started.Before(t.Begun) {
		if retryAfter > 0 {
			t.Until = later(t.Until, now.Add(restBackoff.Delay(0, retryAfter, rnd)))
		}
		return
	}
	t.Step++
	t.Begun = now
	t.Until = later(t.Until, now.Add(restBackoff.Delay(t.Step, retryAfter, rnd)))
}

// probeBackoff is the time between probes: 1 s doubling to 15 s. No jitter: there is only one of them.
var probeBackoff = Backoff{Base: time.Second, Factor: 2, Cap: 15 * time.Second}

// inRow is how many different messages in a row have to fail before a lane counts as down, or a recipe as at fault.
const inRow = 5

// failedCalls is how many transient failures in a row make a lane count as down, however few messages they were of.
const failedCalls = 20
