package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func (m *model) lease(*rapid.T) {
	m.leaseWith(siding.LeaseRequest{
		Max: rapid.IntRange(0, 3).Draw(m.T, "max"), MaxRetries: rapid.IntRange(-1, 2).Draw(m.T, "max retries"), Gates: m.gateKeys(),
	})
}

// leaseWith leases from the store under test, checks its choice, and makes the reference choose the same.
func (m *model) leaseWith(r siding.LeaseRequest) {
	r.Queue, r.Worker, r.Duration, r.Policy = m.queue, "w", 10*time.Second, m.f.policy
	r.Rand = rapid.Float64Range(0, 0.999).Draw(m.T, "rand")
	refLease := func(most int, in siding.InputID) siding.Leased {
		c := r
		if c.Max, c.Input = most, in; in != 0 {
			c.MaxRetries = -1
		}
		l, err := m.ref.Lease(m.ctx, c)
		require.NoError(m, err)
		return l
	}
	before := refLease(0, 0) // takes back what has run out, as the store under test does first
	if c := m.choice(r, before); c.concludes {
		refLease(1, m.scope())
	}
	c := m.choice(r, before)
	got, err := m.f.store.Lease(m.ctx, r)
	require.NoError(m, err)
	m.checkChoice(r, c, got.Deliveries)

	var want siding.Leased
	if len(got.Deliveries) == 0 {
		want = refLease(r.Max, 0)
	} else {
		want = refLease(len(got.Deliveries), m.scope(ids(got.Deliveries)...))
	}
	require.ElementsMatch(m, ids(want.Deliveries), ids(got.Deliveries), "the store under test leased what cannot be leased")
	m.sameGates(want.Blocked, got.Blocked)
	m.sameMoment(want.RetryAt, got.RetryAt, "RetryAt")
	for _, d := range got.Deliveries {
		w := want.Deliveries[slices.Index(ids(want.Deliveries), d.ID)]
		m.numbers[d.ID] = w.Token.Message
		m.leases = append(m.leases, pair[*siding.Delivery]{d, w})
		require.Equal(m, w.Number, d.Number)
		require.Equal(m, w.Solo, d.Solo)
		require.Equal(m, string(w.Body), string(d.Body))
	}
	after := refLease(0, 0)
	require.Equal(m, after.InFlight, got.InFlight)
	require.Equal(m, after.NextAt.IsZero(), got.NextAt.IsZero())
	if after.NextAt.After(after.Now) {
		m.sameTime(after.NextAt, got.NextAt, "NextAt")
	} else {
		require.False(m, got.NextAt.After(got.Now), "more could have been given")
	}
}

// scope makes an input of some messages in the reference, so that they can be leased by name.
func (m *model) scope(ids ...string) siding.InputID {
	in, err := m.ref.keeper.BeginInput(m.ctx, m.queue, "scope")
	require.NoError(m, err)
	for _, id := range ids {
		out, err := m.ref.Enqueue(m.ctx, m.queue, siding.EnqueueOptions{Input: in}, siding.NewMessage{ID: id, Body: m.received[id]})
		require.NoError(m, err)
		require.Equal(m, siding.EnqueueUnchanged, out[0].Status)
	}
	return in
}

// choice is what may be leased, by the reference's messages and gates.
type choice struct {
	siding.Admission
	untried map[string]int // priorities of those that may be leased with others
	failed  []string
	alone   []string // those of them of which one is to be leased alone now
	turn    bool     // one of them is next, and nothing else is
	busy    bool     // this process has something in flight
	solo    bool     // and that is alone
	// concludes says that a systemic hold is to be concluded first.
	concludes bool
}

func (m *model) choice(r siding.LeaseRequest, before siding.Leased) choice {
	gates := m.gatesOf(m.ref, r.Gates)
	c := choice{Admission: gates.Admit(r.Max, before.Now), untried: map[string]int{}}
	var alone []siding.Message
	waiting := 0
	for l, err := range m.ref.List(m.ctx, siding.Selection{Queue: m.queue}) {
		require.NoError(m, err)
		if l.State == siding.StateLeased {
			c.busy = true
			for _, d := range m.leases {
				c.solo = c.solo || d.ref.ID == l.ID && d.ref.Number == l.Deliveries && d.ref.Solo
			}
		}
		if l.State != siding.StateReady || c.Probe && c.Untried && (l.Attempt > 0 || slices.Contains(c.Not, m.numbers[l.ID])) {
			continue
		}
		waiting++
		switch {
		case l.AvailableAt.After(before.Now):
		case l.Suspect || l.Alone:
			alone = append(alone, l.Message)
		case l.Attempt > 0:
			c.failed = append(c.failed, l.ID)
		default:
			c.untried[l.ID] = int(l.Priority)
		}
	}
	c.concludes = c.Probe && c.Untried && waiting == 0 && before.InFlight == 0
	fewest := siding.MaxSoloCrashes
	for _, one := range alone {
		if len(c.untried)+len(c.failed) > 0 && before.Now.Sub(one.AvailableAt) < 5*time.Minute {
			continue
		}
		c.turn = true
		if one.SoloCrashes < fewest {
			fewest, c.alone = one.SoloCrashes, nil
		}
		if one.SoloCrashes == fewest {
			c.alone = append(c.alone, one.ID)
		}
	}
	return c
}

// checkChoice checks which messages were leased, of those that could have been.
func (m *model) checkChoice(r siding.LeaseRequest, c choice, ds []*siding.Delivery) {
	got := ids(ds)
	for _, d := range ds {
		require.Equal(m, c.turn, d.Solo)
	}
	switch {
	case c.Max == 0, c.solo, c.turn && c.busy:
		require.Empty(m, got, "nothing may be leased: %+v", c)
	case c.turn:
		require.Len(m, got, 1)
		require.Contains(m, c.alone, got[0])
	case c.Probe:
		require.Len(m, got, min(1, len(c.untried)+len(c.failed)), "one probe")
		if len(got) == 1 && slices.Contains(c.failed, got[0]) {
			require.True(m, r.MaxRetries != 0 || len(c.untried) == 0)
		} else if len(got) == 1 {
			require.Contains(m, c.untried, got[0])
		}
	default:
		m.checkOrdinary(r, c, got)
	}
}

// checkOrdinary checks a choice among messages that may be leased together.
func (m *model) checkOrdinary(r siding.LeaseRequest, c choice, got []string) {
	untried, failed := len(c.untried), len(c.failed)
	retries := 0
	var highest, leased []int
	for _, p := range c.untried {
		highest = append(highest, p)
	}
	for _, id := range got {
		if p, ok := c.untried[id]; ok {
			leased = append(leased, p)
			continue
		}
		require.Contains(m, c.failed, id, "it may not be leased now")
		retries++
	}
	require.LessOrEqual(m, len(got), r.Max)
	least := min(r.Max, untried+failed)
	if r.MaxRetries >= 0 && untried > 0 {
		least = min(r.Max, untried+min(failed, r.MaxRetries))
	}
	require.GreaterOrEqual(m, len(got), least, "too few were leased of %d untried and %d retries", untried, failed)
	taken := len(got) - retries
	if r.MaxRetries >= 0 && taken < untried {
		require.LessOrEqual(m, retries, r.MaxRetries, "retries crowd out untried messages")
	}
	for _, list := range [][]int{highest, leased} {
		slices.Sort(list)
		slices.Reverse(list)
	}
	require.True(m, slices.Equal(highest[:taken], leased), "untried messages go by priority: %v of %v", leased, highest)
}
