package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// keys names gates that are the case's own.
func (f *fixture) keys() siding.GateKeys {
	return siding.GateKeys{
		Account: siding.GateKey{Scope: siding.ScopeAccount, Name: "claude/" + f.queue},
		Lane:    siding.GateKey{Scope: siding.ScopeLane, Name: "claude/model@" + f.queue},
		Recipe:  siding.GateKey{Scope: siding.ScopeRecipe, Name: f.queue + "@d1"},
	}
}

// gated asks for messages through the gates.
func (f *fixture) gated(most int) siding.Leased {
	f.Helper()
	r := f.request(most)
	r.Gates, r.Rand = f.keys(), rand.Float64()
	return f.leaseWith(r)
}

// probe leases the message that is to find out whether a fault has ended.
func (f *fixture) probe() *siding.Delivery {
	f.Helper()
	l := f.gated(10)
	require.Len(f, l.Deliveries, 1)
	require.NotEmpty(f, l.Blocked)
	return l.Deliveries[0]
}

// shut asks for closed gates, and gives when they may open.
func (f *fixture) shut() siding.Leased {
	f.Helper()
	l := f.gated(10)
	require.Empty(f, l.Deliveries)
	require.NotEmpty(f, l.Blocked)
	return l
}

// through settles a delivery with the gates of the case; nil: done.
func (f *fixture) through(d *siding.Delivery, failure *siding.Failure) siding.Settled {
	f.Helper()
	out := f.settleWith(siding.Settlement{Token: d.Token, Failure: failure, Gates: f.keys()})
	require.NoError(f, out.Err)
	return out
}

// numbered enqueues n messages, from a number on.
func (f *fixture) numbered(from, n int) {
	f.Helper()
	var msgs []siding.NewMessage
	for i := range n {
		msgs = append(msgs, msg(fmt.Sprintf("%03d", from+i)))
	}
	f.enqueue(msgs...)
}

// gate gives one of the case's gates; nil when it has nothing to say.
func (f *fixture) gate(k siding.GateKey) *siding.Gate {
	f.Helper()
	all, err := f.store.Gates(f.ctx)
	require.NoError(f, err)
	for _, g := range all {
		if g.Key == k {
			return &g
		}
	}
	return nil
}

// holdOf gives the hold of one of the case's gates; nil when it is not held.
func (f *fixture) holdOf(k siding.GateKey) *siding.Hold {
	f.Helper()
	if g := f.gate(k); g != nil {
		return g.Hold
	}
	return nil
}

func (f *fixture) nudge() {
	f.Helper()
	require.NoError(f, f.store.Nudge(f.ctx, f.keys()))
}

func heldFor(scope siding.Scope, cause siding.Cause, text string) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeHeld, Scope: scope, Cause: cause, Err: errors.New(text)}
}

// throttled is what a service says that has too much to do.
func throttled(after time.Duration) *siding.Failure {
	f := heldFor(siding.ScopeLane, siding.CauseRateLimited, "slow down")
	f.RetryAfter = after
	return f
}

// outage makes the lane look down: five different messages fail in a row, on a lane that has seen nothing but failures.
func (f *fixture) outage() {
	f.Helper()
	f.numbered(900, 12)
	for _, d := range f.gated(12).Deliveries {
		f.through(d, transient("no service"))
	}
	require.Equal(f, siding.HoldOutage, f.holdOf(f.keys().Lane).Kind)
}
