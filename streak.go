package siding

import (
	"slices"
	"time"
)

// Streak is a row of messages of one recipe that fail alike, with no success among the calls begun since the first.
type Streak struct {
	Fingerprint string         `json:"fingerprint"`
	Begun       time.Time      `json:"begun"` // when the first of the calls began
	Members     []StreakMember `json:"members"`
	// Held says that the recipe is held for it: its members are ready, and their deliveries are relabelled as held.
	Held bool `json:"held,omitempty"`
}

// StreakMember is a delivery of a streak.
type StreakMember struct {
	Message  int64   `json:"message"` // the store's own number
	Delivery int     `json:"delivery"`
	Outcome  Outcome `json:"outcome"` // as it was before it was relabelled
}

func (s Streak) numbers() []int64 {
	all := make([]int64, len(s.Members))
	for i, m := range s.Members {
		all[i] = m.Message
	}
	return all
}

const (
	maxStreaks    = 4  // kinds of failure that are followed side by side
	systemicLimit = 20 // probes that come back with the fault before a systemic hold is concluded
)

// Effect is what a store has to do to messages other than the one that is settled, in the same write.
type Effect struct {
	// TakeBack: each member whose latest delivery is still the streak's, dead or ready again, becomes ready as if that
	// delivery had not counted: attempt (and gray) one lower, the delivery relabelled as held.
	TakeBack []StreakMember
	// Convict: each member that is ready, and whose latest delivery is still the streak's, goes where [Route] sends it for
	// the failure that it had; the delivery gets its label back.
	Convict []StreakMember
}

// observeFailure follows the streak of a failure that the service answered with. It tells whether the recipe is at rest
// for it, so that the message is held instead.
func (g *Gate) observeFailure(o Observed, fp string, now time.Time) (held bool, effects []Effect) {
	if slices.Contains(g.AsPoison, fp) {
		return false, nil
	}
	member := StreakMember{Message: o.Token.Message, Delivery: o.Delivery, Outcome: o.Failure.Outcome}
	s := g.streak(fp, o.Started)
	if o.Started.Before(s.Begun) {
		s.Begun = o.Started
	}
	s.add(member)
	switch {
	case s.Held:
		return true, nil
	case len(s.Members) < inRow:
		return false, nil
	case g.Hold != nil && g.Hold.Kind != HoldSystemic:
		return false, nil // it rests for another reason, and nothing more is tried
	}
	s.Held = true
	if g.Hold == nil {
		g.Hold = &Hold{
			Kind: HoldSystemic, Cause: o.Failure.Cause, Since: now, NextProbe: now,
			Text: Scrub("message after message fails alike: "+o.Failure.Error(), MaxHeader),
		}
	}
	others := append([]StreakMember(nil), s.Members[:len(s.Members)-1]...)
	return true, []Effect{{TakeBack: others}}
}

// streak finds or begins the streak of a fingerprint. The oldest that is not held makes room.
func (g *Gate) streak(fp string, started time.Time) *Streak {
	for i := range g.Streaks {
		if g.Streaks[i].Fingerprint == fp {
			return &g.Streaks[i]
		}
	}
	if len(g.Streaks) >= maxStreaks {
		for i := range g.Streaks {
			if !g.Streaks[i].Held {
				g.Streaks = append(g.Streaks[:i], g.Streaks[i+1:]...)
				break
			}
		}
	}
	g.Streaks = append(g.Streaks, Streak{Fingerprint: fp, Begun: started})
	return &g.Streaks[len(g.Streaks)-1]
}

// add puts a delivery at the end; a later delivery of the same message takes the place of the earlier one.
func (s *Streak) add(m StreakMember) {
	s.Members = slices.DeleteFunc(s.Members, func(old StreakMember) bool { return old.Message == m.Message })
	s.Members = append(s.Members, m)
}

// observeSuccess ends the streaks that a success disproves: those whose first call began no later than it did. Where no
// probe had failed before it, what the recipe was held for is the members' own fault after all, and they are convicted.
// Where messages taken at random had failed in the same way, something has passed that was nobody's fault: the members
// are let go, and the price of being wrong is one more call for each.
func (g *Gate) observeSuccess(started time.Time) (effects []Effect) {
	g.Succeeded = true
	kept := g.Streaks[:0]
	for _, s := range g.Streaks {
		switch {
		case started.Before(s.Begun):
			kept = append(kept, s)
		case s.Held && (g.Hold == nil || g.Hold.Probes == 0):
			effects = append(effects, Effect{Convict: s.Members})
		}
	}
	g.Streaks = kept
	g.reopen(HoldSystemic)
	return effects
}

// reopen ends the hold of a kind, when no streak needs it any more.
func (g *Gate) reopen(kind HoldKind) {
	if g.Hold == nil || g.Hold.Kind != kind {
		return
	}
	for _, s := range g.Streaks {
		if s.Held {
			return
		}
	}
	g.Hold = nil
}

// probeFailed counts a probe of a systemic hold that found the fault, and arranges the next. A recipe that has never
// succeeded is probed without a pause: its end costs nobody anything. One that has may be suffering from something that
// passes, and gets time.
func (g *Gate) probeFailed(now time.Time) (effects []Effect) {
	h := g.Hold
	if h.Probes++; h.Probes >= systemicLimit {
		return g.Conclude()
	}
	h.NextProbe = now
	if g.Succeeded {
		h.NextProbe = now.Add(probeBackoff.Delay(h.Probes-1, 0, 0))
	}
	return nil
}

// Conclude ends the probing of a systemic hold, when the probes or the untried messages are used up: where the recipe
// has ever succeeded, the members are convicted and work goes on; otherwise it stays held until somebody looks.
func (g *Gate) Conclude() (effects []Effect) {
	if g.Hold == nil || g.Hold.Kind != HoldSystemic {
		return nil
	}
	if !g.Succeeded {
		g.Hold.Stuck, g.Hold.NextProbe = true, time.Time{}
		return nil
	}
	kept := g.Streaks[:0]
	for _, s := range g.Streaks {
		if s.Held {
			effects = append(effects, Effect{Convict: s.Members})
		} else {
			kept = append(kept, s)
		}
	}
	g.Streaks, g.Hold = kept, nil
	return effects
}
