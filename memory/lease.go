package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// Lease claims messages; see [siding.Queue].
func (s *Store) Lease(ctx context.Context, r siding.LeaseRequest) (siding.Leased, error) {
	var out siding.Leased
	err := s.write(ctx, "Lease", func(x *tx) error {
		member := func(*message) bool { return true }
		if r.Input != 0 {
			in, err := x.input(r.Input, r.Queue)
			if err != nil {
				return err
			}
			member = func(m *message) bool { _, ok := in.byID[m.ID]; return ok }
		}
		x.takeBack(r)
		out.Now = x.now
		x.each(r.Queue, func(m *message) {
			if m.State == siding.StateLeased && member(m) {
				out.InFlight++
			}
		})
		if err := x.admit(r, member, &out); err != nil {
			return err
		}
		x.each(r.Queue, func(m *message) {
			if m.State == siding.StateReady && member(m) && (out.NextAt.IsZero() || m.AvailableAt.Before(out.NextAt)) {
				out.NextAt = m.AvailableAt
			}
		})
		return nil
	})
	if err != nil {
		return siding.Leased{}, err
	}
	return out, nil
}

// takeBack ends the leases of the queue that have run out, and sets aside what has expired.
func (x *tx) takeBack(r siding.LeaseRequest) {
	x.each(r.Queue, func(m *message) {
		if m.State == siding.StateLeased && !x.now.Before(m.lease.until) {
			x.interrupt(m, cmp.Or(x.fate(m.lease.proc), siding.CauseLeaseLost), r.Policy, r.Rand)
		}
	})
	x.each(r.Queue, func(m *message) {
		if m.State == siding.StateReady && !m.ExpiresAt.IsZero() && !x.now.Before(m.ExpiresAt) {
			c := *m
			c.WaitsFor = ""
			c.setAside(siding.ExpiredFailure(), siding.ReasonExpired, x.now)
			x.ended(&c)
			x.put(&c)
			x.tellOrigins(&c, nil)
		}
	})
}

// admit leases what the gates let through.
func (x *tx) admit(r siding.LeaseRequest, member func(*message) bool, out *siding.Leased) error {
	gates, err := x.watched(r.Gates)
	if err != nil {
		return err
	}
	for _, g := range []*siding.Gate{gates.Account, gates.Lane, gates.Recipe} {
		if g != nil && g.Probe != nil {
			if _, err := x.held(g.Probe.Token); err != nil {
				g.ForgetProbe(x.now)
			}
		}
	}
	solo := x.inFlight(func(m *message) bool { return m.lease.solo })
	for {
		a := gates.Admit(max(r.Max, 0), x.now)
		out.Blocked, out.RetryAt = a.Blocked, a.At
		if a.Max == 0 || solo {
			return nil
		}
		if !a.Probe {
			for _, m := range x.choose(r, x.waiting(r.Queue, member), a.Max) {
				x.give(m, r, out)
			}
			return nil
		}
		w := x.waiting(r.Queue, func(m *message) bool {
			return member(m) && (!a.Untried || m.Attempt == 0 && !slices.Contains(a.Not, m.number))
		})
		if ms := x.probe(r, w); len(ms) > 0 {
			gates.Probing(x.give(ms[0], r, out), x.now)
			return nil
		}
		if len(w.alone) > 0 || !w.later.IsZero() || !a.Untried || out.InFlight > 0 {
			out.RetryAt = w.later
			return nil
		}
		// Nobody is left who could say whether the fault has ended.
		x.apply(gates.Recipe.Conclude(), r.Policy, r.Rand)
	}
}

// give leases one message.
func (x *tx) give(m *message, r siding.LeaseRequest, out *siding.Leased) siding.LeaseToken {
	x.lastNonce++
	c := *m
	c.State, c.AvailableAt = siding.StateLeased, time.Time{}
	c.Deliveries++
	c.lease = lease{
		nonce: x.lastNonce, proc: x.proc, worker: siding.Scrub(r.Worker, siding.MaxHeader),
		started: x.now, until: x.now.Add(r.Duration).Truncate(time.Microsecond), solo: c.Suspect || c.Alone,
	}
	x.put(&c)
	token := siding.LeaseToken{Message: c.number, Nonce: c.lease.nonce}
	out.Deliveries = append(out.Deliveries, &siding.Delivery{
		Message: shown(&c, true), Number: c.Deliveries, Token: token, Solo: c.lease.solo,
		LeasedUntil: c.lease.until, StartedAt: c.lease.started, Source: shownSource(c.source),
	})
	out.InFlight++
	return token
}

// Extend prolongs leases; see [siding.Queue].
func (s *Store) Extend(ctx context.Context, d time.Duration, tokens ...siding.LeaseToken) ([]error, error) {
	out := make([]error, len(tokens))
	err := s.write(ctx, "Extend", func(x *tx) error {
		for i, t := range tokens {
			m, err := x.held(t)
			if out[i] = err; err == nil {
				m.lease.until = x.now.Add(d).Truncate(time.Microsecond)
				x.put(m)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Reap frees what dead processes have left; see [siding.Queue].
func (s *Store) Reap(ctx context.Context) (int, error) {
	var n int
	err := s.write(ctx, "Reap", func(x *tx) error {
		n = x.reap()
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (x *tx) reap() (freed int) {
	x.each("", func(m *message) {
		if m.State != siding.StateLeased {
			return
		}
		if cause := x.fate(m.lease.proc); cause != "" {
			x.interrupt(m, cause, siding.DefaultPolicy(), 0)
			freed++
		}
	})
	for id := siding.CallID(1); id <= x.lastCall; id++ {
		if c := x.calls[id]; c != nil && c.Fate == siding.FateStarted && x.fate(c.proc) != "" {
			x.giveUp(c)
		}
	}
	return freed
}

// interrupt ends a delivery that did not end by itself.
func (x *tx) interrupt(m *message, cause siding.Cause, p siding.Policy, rnd float64) {
	text := map[siding.Cause]string{
		siding.CauseLeaseLost:   "the lease ran out",
		siding.CauseWorkerCrash: "the worker's process died",
		siding.CauseHostRestart: "the machine was restarted",
		siding.CauseShutdown:    "the worker's process ended",
	}[cause]
	f := &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: cause, Solo: m.lease.solo, Err: errors.New(text)}
	c := *m
	x.end(&c, siding.Settlement{Failure: f, Policy: p, Rand: rnd})
	x.put(&c)
}
