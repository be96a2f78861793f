package postgres

import (
	"math"
	"time"

	"github.com/siding-dev/siding"
)

// admit gives what the gates in the way let through.
func (t *tx) admit(c *claim) error {
	gates, unreadable, err := t.watched(c.Gates)
	if err == nil {
		err = unreadable // what is not known to be open is closed
	}
	if err == nil {
		err = t.forgetProbes(gates)
	}
	if err != nil {
		return err
	}
	solo, err := t.soloInFlight()
	if err != nil {
		return err
	}
	now, asked := fromMicros(t.now), max(c.Max, 0)
	for {
		a := gates.Admit(asked, now)
		c.out.Blocked, c.out.RetryAt = a.Blocked, a.At
		if c.Max = a.Max; solo {
			c.Max = 0
		}
		if !a.Probe || solo || c.q == 0 {
			return t.choose(c)
		}
		if err := t.mustBeAlone(); err != nil {
			return err
		}
		ended, err := t.probe(c, gates, a)
		if err != nil {
			return err
		}
		if ended {
			c.Max = 0 // nothing more is given; what is left is looked at for when it comes due
			return t.choose(c)
		}
		// Nobody is left who could say whether the fault has ended.
		c.voidAll()
		if err := t.apply(gates.Recipe.Conclude(), c.Policy, c.Rand); err != nil {
			return err
		}
	}
}

// forgetProbes gives up the probes whose lease is over.
func (t *tx) forgetProbes(gates siding.Gates) error {
	for _, g := range [...]*siding.Gate{gates.Account, gates.Lane, gates.Recipe} {
		if g == nil || g.Probe == nil {
			continue
		}
		current, err := t.current(g.Probe.Token, math.MinInt64)
		if err != nil {
			return err
		}
		if !current {
			g.ForgetProbe(fromMicros(t.now))
		}
	}
	return nil
}

// probe leases the one message that is to find out whether a fault has ended. It gives false when nobody is left who
// could, also later.
func (t *tx) probe(c *claim, gates siding.Gates, a siding.Admission) (ended bool, err error) {
	w := anyMessage
	if a.Untried {
		w.untried = true
		if len(a.Not) > 0 {
			w.not = a.Not
		}
	}
	for c.aside < sweepMost {
		id, err := t.chooseProbe(c, w)
		if err != nil {
			return false, err
		}
		if id == 0 {
			break
		}
		_, given, err := t.give(c, readyOne, id)
		c.voidAll()
		if err != nil {
			return false, err
		}
		if given > 0 {
			gates.Probing(c.out.Deliveries[0].Token, fromMicros(t.now))
			return true, nil
		}
	}
	later, err := t.later(c, w)
	if err != nil {
		return false, err
	}
	apart, err := t.apartDue(c, w, t.now)
	if err != nil {
		return false, err
	}
	inFlight, err := t.leasedIn(c.scope)
	if err != nil {
		return false, err
	}
	if apart != 0 || later != 0 || !a.Untried || inFlight > 0 || c.aside >= sweepMost {
		c.out.RetryAt = time.Time{}
		if later != 0 {
			c.out.RetryAt = fromMicros(later)
		}
		return true, nil
	}
	return false, nil
}
