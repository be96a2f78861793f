package siding

import (
	"slices"
	"time"
)

// Observed is a delivery that is about to be settled, as gates see it.
type Observed struct {
	Token    LeaseToken
	Delivery int
	Started  time.Time
	Attempt  int       // before this delivery
	Redrives int       // a relapse after a redrive counts for no streak
	HeldAt   time.Time // when the message was last held; zero: never
	Failure  *Failure  // nil: done
	// NoCall says that the service was not asked in this delivery, for instance because the answer was in the journal.
	NoCall bool
	// OtherLane says that the service was asked by another lane: this one learns nothing.
	OtherLane bool
}

// Observe takes in how a delivery ended, before it is routed. It changes the gates, and gives the failure as it counts:
// a transient failure on a sick lane, or one of a streak that holds the recipe, is held instead and costs the message
// nothing. The effects concern other messages, and belong to the same write. rnd is a random number in [0, 1).
func (g Gates) Observe(o Observed, now time.Time, rnd float64) (*Failure, []Effect) {
	probed := g.endProbes(o)
	f := o.Failure
	if o.OtherLane && g.Lane != nil {
		if at := slices.Index(probed, g.Lane); at >= 0 { // it found nothing out
			g.Lane.probeAgain(now)
			probed = slices.Delete(probed, at, at+1)
		}
		g.Lane = nil
	}
	switch {
	case f != nil && (f.Outcome == OutcomeInterrupted || f.Outcome == OutcomeForwarded), o.NoCall,
		f != nil && f.NoCall && f.Outcome != OutcomeHeld:
		for _, gate := range probed { // it found nothing out: another may be sent
			gate.probeAgain(now)
		}
		return f, nil
	case f == nil:
		return nil, g.served(o, now, true)
	case f.Outcome == OutcomeHeld:
		return g.held(o, probed, now, rnd), nil
	case f.Outcome == OutcomePermanent, f.Outcome == OutcomeGray:
		return g.answered(o, probed, now)
	}
	return g.failed(o, probed, now)
}

// endProbes gives the gates of which the delivery was the probe.
func (g Gates) endProbes(o Observed) (probed []*Gate) {
	g.each(func(gate *Gate) {
		if gate.Probe != nil && gate.Probe.Token == o.Token {
			gate.Probe = nil
			probed = append(probed, gate)
		}
	})
	return probed
}

// served takes in that the service answered. done: with what was asked for.
func (g Gates) served(o Observed, now time.Time, done bool) []Effect {
	if l := g.Lane; l != nil {
		l.LastSuccess = now
		l.FailedInRow, l.FailedCalls, l.FailedSince = nil, 0, time.Time{}
		if o.Attempt == 0 {
			l.Health.Add(true)
		}
		if !o.Started.Before(l.Throttle.Begun) {
			l.Throttle = Throttle{}
		}
	}
	g.each(func(gate *Gate) {
		// An account or a model that answers is not at fault any more; what a call from before the hold says is old news.
		h := gate.Hold
		if h == nil || o.Started.Before(h.Since) {
			return
		}
		switch h.Kind {
		case HoldOutage:
			gate.Hold, gate.Health = nil, recovering
		case HoldFault, HoldBudget:
			if gate != g.Recipe || done {
				gate.Hold = nil
			}
		}
	})
	if done && g.Recipe != nil {
		return g.Recipe.observeSuccess(o.Started)
	}
	return nil
}

// answered takes in a failure with which the service answered: the lane works, and the message or the recipe is at fault.
func (g Gates) answered(o Observed, probed []*Gate, now time.Time) (*Failure, []Effect) {
	g.served(o, now, false)
	r := g.Recipe
	if r == nil || o.Redrives > 0 {
		return o.Failure, nil
	}
	held, effects := r.observeFailure(o, o.Failure.Stored().Fingerprint, now)
	for _, gate := range probed {
		if gate == r && r.Hold != nil && r.Hold.Kind == HoldSystemic {
			effects = append(effects, r.probeFailed(now)...)
			held = held && r.Hold != nil // convicted with the others: its own failure counts
		}
	}
	if !held {
		return o.Failure, effects
	}
	return heldInstead(o.Failure, ScopeRecipe, r.Key.Name), effects
}

// failed takes in a transient failure.
func (g Gates) failed(o Observed, probed []*Gate, now time.Time) (*Failure, []Effect) {
	for _, gate := range probed {
		if gate != g.Lane { // it found nothing out about this gate
			gate.probeAgain(now.Add(probeBackoff.Delay(0, 0, 0)))
		}
	}
	l := g.Lane
	if l == nil {
		return o.Failure, nil
	}
	if o.Attempt == 0 {
		l.Health.Add(false)
	}
	if l.FailedCalls++; l.FailedCalls == 1 {
		l.FailedSince = now
	}
	wasProbe := false
	for _, gate := range probed {
		wasProbe = wasProbe || gate == l
	}
	if l.Hold == nil && l.Health.Healthy() {
		if wasProbe { // of a rest: it has answered in its way
			l.Throttle = Throttle{}
		}
		return o.Failure, nil
	}
	f := heldInstead(o.Failure, ScopeLane, l.Key.Name)
	f.WaitCounts = l.servesOthers(o)
	l.failedToo(o.Token.Message)
	if len(l.FailedInRow) < inRow && now.Sub(l.FailedSince) > fewFailPatience {
		f = o.Failure
	}
	switch {
	case l.Hold == nil && (len(l.FailedInRow) >= inRow || l.FailedCalls >= failedCalls || l.Health.Down()):
		l.Hold = &Hold{
			Kind: HoldOutage, Cause: o.Failure.Cause, Since: now, NextProbe: now.Add(probeBackoff.Delay(0, 0, 0)),
			Text: Scrub("the service answers nobody: "+o.Failure.Error(), MaxHeader),
		}
	case wasProbe && l.Hold != nil:
		l.Hold.Probes++
		l.Hold.NextProbe = now.Add(probeBackoff.Delay(min(l.Hold.Probes, 10), o.Failure.RetryAfter, 0))
	}
	return f, nil
}

// failedToo notes one of the different messages that failed in a row.
func (g *Gate) failedToo(message int64) {
	if len(g.FailedInRow) < inRow && !slices.Contains(g.FailedInRow, message) {
		g.FailedInRow = append(g.FailedInRow, message)
	}
}

// servesOthers tells whether the lane has answered another message since this one was last held, or else began.
func (g *Gate) servesOthers(o Observed) bool {
	since := o.HeldAt
	if since.IsZero() {
		since = o.Started
	}
	return g.LastSuccess.After(since)
}

// held takes in a fault that is known not to be the message's.
func (g Gates) held(o Observed, probed []*Gate, now time.Time, rnd float64) *Failure {
	f := *o.Failure
	var gate *Gate // without a scope only the message itself is to wait
	switch f.Scope {
	case ScopeAccount:
		gate = g.Account
	case ScopeLane:
		gate = g.Lane
	case ScopeRecipe:
		gate = g.Recipe
	}
	for _, p := range probed { // of other gates: it found nothing out about them
		if p != gate {
			p.probeAgain(now)
		}
	}
	if gate == nil {
		return &f
	}
	if throttles(&f) {
		if gate != g.Lane {
			return &f
		}
		alone := gate.Throttle.refused(o.Token.Message, now) && f.Cause == CauseRateLimited
		f.WaitCounts = alone || gate.servesOthers(o)
		gate.Throttle.rest(o.Started, now, f.RetryAfter, rnd)
		if a := g.Account; a != nil && a.Hold != nil && a.Hold.Kind == HoldFault && !o.Started.Before(a.Hold.Since) {
			a.Hold = nil // who is told to wait has been let in
		}
		return &f
	}
	f.WaitCounts = false
	until := f.Until
	switch {
	case !until.After(now):
		until = time.Time{} // a date that is not in the future counts as none
	case until.After(now.Add(maxDelay)):
		until = now.Add(maxDelay) // nor can one be waited for, or stored, that is out of reach
	}
	if h := gate.Hold; h != nil && h.Kind != HoldOutage {
		if h.Kind == HoldFault || h.Kind == HoldBudget {
			if h.Until.After(now) {
				until = later(h.Until, until)
			}
			h.Kind, h.Cause, h.Text, h.Until, h.NextProbe = kindOf(&f), f.Cause, Scrub(f.Error(), MaxHeader), until, time.Time{}
		}
		h.Probes++
		return &f
	}
	gate.Hold = &Hold{Kind: kindOf(&f), Cause: f.Cause, Text: Scrub(f.Error(), MaxHeader), Since: now, Until: until}
	return &f
}

func kindOf(f *Failure) HoldKind {
	if f.Cause == CauseBudget {
		return HoldBudget
	}
	return HoldFault
}

// throttles tells whether a held outcome asks for a rest of the lane, and is no fault of it.
func throttles(f *Failure) bool {
	return f.Cause == CauseRateLimited || f.Cause == CauseOverloaded ||
		f.Scope == ScopeLane && f.RetryAfter > 0 && f.Until.IsZero()
}

// heldInstead gives a failure as one that costs the message nothing.
func heldInstead(f *Failure, scope Scope, lane string) *Failure {
	g := *f
	g.Outcome, g.Scope, g.WaitCounts, g.Reason = OutcomeHeld, scope, false, ""
	if scope == ScopeLane {
		g.Lane = lane
	}
	return &g
}
