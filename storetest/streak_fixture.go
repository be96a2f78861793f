package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// alike settles a delivery with the failure that all messages of a case have.
func (f *fixture) alike(d *siding.Delivery) siding.Settled {
	f.Helper()
	return f.through(d, permanent("no such field"))
}

// systemic has five messages 000 to 004 fail alike, the second and third in a way that is gray, so that the recipe is held.
// Others wait, as many as asked for, from 005 on.
func (f *fixture) systemic(others int) []*siding.Delivery {
	f.Helper()
	f.numbered(0, 5)
	ds := f.gated(5).Deliveries
	require.Len(f, ds, 5)
	f.numbered(5, others)
	for i, d := range ds {
		failure := permanent("no such field")
		if i == 1 || i == 2 {
			failure.Outcome = siding.OutcomeGray
		}
		f.through(d, failure)
	}
	require.Equal(f, siding.HoldSystemic, f.holdOf(f.keys().Recipe).Kind)
	return ds
}

// succeeded has the recipe have succeeded once.
func (f *fixture) succeeded() {
	f.Helper()
	f.enqueue(msg("good"))
	f.through(f.gated(1).Deliveries[0], nil)
	f.clock.Advance(time.Second)
}

// letGoAs asks for a member of a streak that costs nothing.
func (f *fixture) letGoAs(id string) {
	f.Helper()
	r := f.stateIs(id, siding.StateReady)
	require.Zero(f, r.Attempt+r.Gray)
	require.True(f, r.DeadAt.IsZero())
	require.Empty(f, r.Reason)
	require.False(f, r.HeldAt.IsZero())
	last := r.History[len(r.History)-1]
	require.Equal(f, siding.OutcomeHeld, last.Outcome)
	require.Equal(f, siding.OutcomeHeld, last.Error.Outcome)
	require.Equal(f, siding.OutcomeHeld, r.LastError.Outcome)
	require.Equal(f, "no such field", r.LastError.Text)
}

// convicted asks for a member of a streak that has its failure back.
func (f *fixture) convicted(id string, o siding.Outcome) {
	f.Helper()
	r := f.get(id)
	require.Equal(f, 1, r.Attempt, id)
	last := r.History[len(r.History)-1]
	require.Equal(f, o, last.Outcome)
	require.Equal(f, o, last.Error.Outcome)
	require.Equal(f, o, r.LastError.Outcome)
	require.Equal(f, siding.CauseInvalidRequest, r.LastError.Cause)
	if o == siding.OutcomeGray {
		require.Equal(f, siding.StateReady, r.State)
		require.Equal(f, 1, r.Gray)
		require.True(f, r.AvailableAt.After(f.clock.Now()), "after a delay")
		return
	}
	require.Equal(f, siding.StateDead, r.State)
	require.Equal(f, siding.ReasonPoison, r.Reason)
	f.near(f.clock.Now(), r.DeadAt)
}
