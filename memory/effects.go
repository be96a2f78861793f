package memory

import (
	"errors"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// apply does what a change of a gate means for the members of its streaks.
func (x *tx) apply(effects []siding.Effect, p siding.Policy, rnd float64) {
	for _, e := range effects {
		for _, one := range e.TakeBack {
			x.takeBackMember(one)
		}
		for _, one := range e.Convict {
			x.convict(one, p, rnd)
		}
	}
}

// member gives a copy of the message of a streak's delivery, where that is still what its last error is of: a message
// that has been handed over again, redriven or superseded since is none of the streak's business.
func (x *tx) member(one siding.StreakMember) *message {
	m := x.messages[one.Message]
	if m == nil || m.Deliveries != one.Delivery || m.LastError == nil || len(m.history) == 0 {
		return nil
	}
	c := *m
	return &c
}

// takeBackMember makes a message as ready as if its latest delivery had not counted. One that has been set aside since
// for another reason stays so, and so does one whose body has been dropped meanwhile.
func (x *tx) takeBackMember(one siding.StreakMember) {
	m := x.member(one)
	if m == nil || m.State != siding.StateReady && m.State != siding.StateDead || m.Reason == siding.ReasonExpired || m.NoBody {
		return
	}
	if m.Attempt == 0 {
		return // superseded since, by a body that was set aside at once: its last error is that body's
	}
	switch m.last().Outcome {
	case siding.OutcomeGray:
		m.Gray--
	case siding.OutcomePermanent, siding.OutcomeTransient:
	default:
		return // it did not count
	}
	m.Attempt--
	m.State, m.AvailableAt, m.DeadAt, m.Reason, m.HeldAt = siding.StateReady, x.now, time.Time{}, "", x.now
	m.relabel(siding.OutcomeHeld)
	x.put(m)
	x.tellOrigins(m, nil)
}

// convict sends a message that was held where it would have gone for its failure.
func (x *tx) convict(one siding.StreakMember, p siding.Policy, rnd float64) {
	m := x.member(one)
	if m == nil || m.State != siding.StateReady || m.last().Outcome != siding.OutcomeHeld {
		return
	}
	e := m.LastError
	d := siding.Route(m.Message, &siding.Failure{
		Outcome: one.Outcome, Cause: e.Cause, Status: e.Status, RequestID: e.RequestID, FaultOffset: e.FaultOffset,
		Err: errors.New(e.Text),
	}, p, x.now, rnd)
	m.route(d, x.now)
	m.relabel(d.Outcome)
	x.ended(m)
	x.put(m)
	x.tellOrigins(m, nil)
}

func (m *message) last() siding.DeliveryRecord { return m.history[len(m.history)-1] }

// relabel gives the latest delivery, and the failure that it left, another outcome.
func (m *message) relabel(o siding.Outcome) {
	m.history = slices.Clone(m.history)
	last := &m.history[len(m.history)-1]
	last.Outcome = o
	if last.Error = shownError(last.Error); last.Error != nil {
		last.Error.Outcome = o
	}
	m.LastError = shownError(m.LastError)
	m.LastError.Outcome = o
}
