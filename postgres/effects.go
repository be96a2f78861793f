package postgres

import (
	"errors"

	"github.com/siding-dev/siding"
)

// apply does what a change of a gate means for the members of its streaks.
func (t *tx) apply(effects []siding.Effect, p siding.Policy, rnd float64) error {
	if len(effects) > 0 {
		if err := t.mustBeAlone(); err != nil {
			return err
		}
	}
	for _, e := range effects {
		for _, one := range e.TakeBack {
			if err := t.takeBack(one); err != nil {
				return err
			}
		}
		for _, one := range e.Convict {
			if err := t.convict(one, p, rnd); err != nil {
				return err
			}
		}
	}
	return nil
}

// member gives the message of a streak's delivery, with its last error and the outcome under which the delivery stands
// in the history, where that is still what its last error is of: a message that has been handed over again, redriven or
// superseded since is none of the streak's business, and one that cannot be read is nobody's.
func (t *tx) member(one siding.StreakMember) (m stored, outcome siding.Outcome, found bool, err error) {
	found, err = t.one(func(r *row) {
		m, outcome = r.message(), siding.Outcome(r.str(messageWidth))
		m.LastError = r.lastError(messageWidth + 1)
		if r.err != nil {
			m, r.err = stored{}, nil
		}
	}, "SELECT "+messageColumns+", d.outcome, "+errorColumns+` FROM messages m
		JOIN deliveries d ON d.message = m.id AND d.number = m.deliveries JOIN last_errors e ON e.message = m.id
		WHERE m.id = ? AND m.deliveries = ? AND m.reset_after < m.deliveries AND m.state IN ('ready', 'dead')`, one.Message, one.Delivery)
	return m, outcome, found && m.id != 0, err
}

// takeBack makes a message as ready as if its latest delivery had not counted. One that has been set aside since for
// another reason stays so, and so does one whose body has been dropped meanwhile.
func (t *tx) takeBack(one siding.StreakMember) error {
	m, outcome, found, err := t.member(one)
	if err != nil || !found || m.Reason == siding.ReasonExpired || m.NoBody {
		return err
	}
	was, now := m.standing(), fromMicros(t.now)
	from := m.State
	switch outcome {
	case siding.OutcomeGray:
		m.Gray--
	case siding.OutcomePermanent, siding.OutcomeTransient:
	default:
		return nil // it did not count
	}
	m.Attempt--
	m.route(siding.Decision{
		Outcome: siding.OutcomeHeld, State: siding.StateReady, AvailableAt: now, Attempt: m.Attempt, Gray: m.Gray, Waits: m.Waits,
		Interruptions: m.Interruptions, Suspect: m.Suspect, SoloCrashes: m.SoloCrashes, Alone: m.Alone,
	}, now)
	return t.relabel(&m, from, was, siding.OutcomeHeld)
}

// convict sends a message that was held where it would have gone for its failure.
func (t *tx) convict(one siding.StreakMember, p siding.Policy, rnd float64) error {
	m, outcome, found, err := t.member(one)
	if err != nil || !found || m.State != siding.StateReady || outcome != siding.OutcomeHeld {
		return err
	}
	was, now, e := m.standing(), fromMicros(t.now), m.LastError
	d := siding.Route(m.Message, &siding.Failure{
		Outcome: one.Outcome, Cause: e.Cause, Status: e.Status, RequestID: e.RequestID, FaultOffset: e.FaultOffset,
		Err: errors.New(e.Text),
	}, p, now, rnd)
	m.route(d, now)
	return t.relabel(&m, siding.StateReady, was, d.Outcome)
}

// relabel writes where a message is now, and gives its latest delivery, and the failure that it left, another outcome.
func (t *tx) relabel(m *stored, from siding.State, was standing, o siding.Outcome) error {
	t.place(m, from)
	if err := t.guarded("UPDATE deliveries SET outcome = ? WHERE message = ? AND number = ?", string(o), m.id, m.Deliveries); err != nil {
		return err
	}
	if err := t.guarded("UPDATE last_errors SET outcome = ? WHERE message = ?", string(o), m.id); err != nil {
		return err
	}
	if err := t.move(m.id, m.queue, m.hasInput, was, m.standing()); err != nil {
		return err
	}
	if m.State == siding.StateDead {
		if err := t.arrive(m.queue, m.ID, m.LastError); err != nil {
			return err
		}
	}
	if err := t.ended(m); err != nil {
		return err
	}
	return t.tellOrigins(m, nil, nil)
}
