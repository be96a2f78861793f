package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

// runModel does random operations to the store under test and to the one in memory, side by side and at the same times,
// and compares what can be seen of both after each. Every run has a queue of its own on the same two stores.
//
// Which of several messages a store leases is its own choice within the rules: the choice is checked, and the other
// store is made to make the same one.
func runModel(t *testing.T, h Harness) {
	t.Helper()
	g := newGround(t, h)
	f := &fixture{T: t, ground: g, ctx: context.Background(), policy: siding.DefaultPolicy()}
	f.policy.Backoff.Jitter = 0
	keeper := memory.Open(memory.Options{Clock: g.clock.Now})
	ref := &reference{Store: keeper.Another(), keeper: keeper}
	runs, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		// Under the race detector a run is dear, and rapid's number of them is for all of a program's properties.
		if runs++; runs > modelRuns && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		m := &model{
			T: rt, ctx: f.ctx, f: f, ref: ref, queue: fmt.Sprint("run", runs),
			inputs: map[string]siding.InputID{}, bodies: map[string]int{},
		}
		m.sutBase, m.refBase = m.now(g.store), m.now(m.ref)
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.compare() },
			"enqueue": m.enqueue, "lease": m.lease, "settle": m.settle, "extend": m.extend, "start call": m.startCall,
			"end call": m.endCall, "redrive": m.redrive, "discard": m.discard, "time": m.time, "jump": m.jump, "crash": m.crash,
		})
		m.compareQueue()
	})
	require.NoError(t, CheckInvariants(f.ctx, g.store, "", f.policy))
	g.leave(t)
}

// modelRuns is how many runs the model has.
const modelRuns = 30

// model is one run.
type model struct {
	*rapid.T
	ctx              context.Context
	f                *fixture
	ref              *reference
	queue            string
	sutBase, refBase time.Time // each store's time at the beginning of the run

	inputs map[string]siding.InputID // in ref: an input for each message alone, so that it can be leased by name
	bodies map[string]int            // how many bodies each message has had
	leases []pair[*siding.Delivery]
	calls  []pair[siding.CallID]
}

// reference is the process that has the store in memory open now. The keeper is one that never dies, for the inputs.
type reference struct {
	*memory.Store
	keeper *memory.Store
}

// pair is the same thing in both stores.
type pair[T any] struct{ sut, ref T }

var modelIDs = []string{"a", "b", "c", "d"}

func (m *model) now(s siding.Store) time.Time {
	now, err := s.Now(m.ctx)
	require.NoError(m, err)
	return now
}

func (m *model) id() string { return rapid.SampledFrom(modelIDs).Draw(m.T, "id") }

// enqueue puts in a new body or the last one, under chance options.
func (m *model) enqueue(*rapid.T) {
	id := m.id()
	if m.bodies[id] == 0 || rapid.Bool().Draw(m.T, "new body") {
		m.bodies[id]++
	}
	n := siding.NewMessage{
		ID: id, Body: fmt.Append(nil, id, m.bodies[id]), Priority: int16(rapid.IntRange(0, 1).Draw(m.T, "priority")),
	}
	now := m.f.clock.Now()
	switch rapid.IntRange(0, 7).Draw(m.T, "kind") {
	case 1:
		n.NotBefore = now.Add(10 * time.Second)
	case 2:
		n.ExpiresAt = now.Add(10 * time.Second)
	case 3:
		n.Dead = permanent("broken")
	}
	o := siding.EnqueueOptions{
		Supersede: rapid.Bool().Draw(m.T, "supersede"), RedriveDead: rapid.Bool().Draw(m.T, "redrive dead"),
	}
	// NotBefore and ExpiresAt are times of the store's clock, and the two stores' may differ by now.
	shifted := func(base time.Time) siding.NewMessage {
		c := n
		for _, at := range []*time.Time{&c.NotBefore, &c.ExpiresAt} {
			if !at.IsZero() {
				*at = at.Add(base.Sub(now))
			}
		}
		return c
	}
	got, err := m.f.store.Enqueue(m.ctx, m.queue, o, shifted(m.now(m.f.store)))
	require.NoError(m, err)
	o.Input, err = m.ref.keeper.BeginInput(m.ctx, m.queue, id)
	require.NoError(m, err)
	want, err := m.ref.Enqueue(m.ctx, m.queue, o, shifted(m.now(m.ref)))
	require.NoError(m, err)
	require.Equal(m, want[0].Status, got[0].Status)
	require.Equal(m, outcome(want[0].Err), outcome(got[0].Err))
	require.Equal(m, want[0].ID, got[0].ID)
	if want[0].Err == nil {
		m.inputs[id] = o.Input
	}
	if want[0].Err != nil || want[0].Status == siding.EnqueueDiscarded {
		m.bodies[id]++ // what was refused is not enqueued again as if it were known
	}
}

func (m *model) lease(*rapid.T) {
	r := siding.LeaseRequest{
		Queue: m.queue, Worker: "w", Duration: 10 * time.Second, Policy: m.f.policy,
		Max:        rapid.IntRange(0, 3).Draw(m.T, "max"),
		MaxRetries: rapid.IntRange(-1, 2).Draw(m.T, "max retries"),
	}
	take := r
	take.Max = 0
	before, err := m.ref.Lease(m.ctx, take) // takes back what has run out, as the store under test does first
	require.NoError(m, err)
	got, err := m.f.store.Lease(m.ctx, r)
	require.NoError(m, err)
	m.checkChoice(r, before.Now, ids(got.Deliveries))
	after := before
	for _, d := range got.Deliveries {
		one := r
		one.Max, one.MaxRetries, one.Input = 1, -1, m.inputs[d.ID]
		l, err := m.ref.Lease(m.ctx, one)
		require.NoError(m, err)
		require.Equal(m, []string{d.ID}, ids(l.Deliveries), "the store under test leased what cannot be leased")
		m.leases = append(m.leases, pair[*siding.Delivery]{d, l.Deliveries[0]})
		require.Equal(m, l.Deliveries[0].Number, d.Number)
		require.Equal(m, string(l.Deliveries[0].Body), string(d.Body))
	}
	if len(got.Deliveries) > 0 {
		after, err = m.ref.Lease(m.ctx, take)
		require.NoError(m, err)
	}
	require.Equal(m, after.InFlight, got.InFlight)
	require.Equal(m, after.NextAt.IsZero(), got.NextAt.IsZero())
	if after.NextAt.After(after.Now) {
		m.sameTime(after.NextAt, got.NextAt, "NextAt")
	} else {
		require.False(m, got.NextAt.After(got.Now), "more could have been given")
	}
}

// checkChoice checks which messages were leased, of those that could have been.
func (m *model) checkChoice(r siding.LeaseRequest, now time.Time, got []string) {
	priorities := map[string]int{} // of the untried messages that are left
	var untried, failed, retries int
	for l, err := range m.ref.List(m.ctx, siding.Selection{Queue: m.queue, States: []siding.State{siding.StateReady}}) {
		require.NoError(m, err)
		leased := slices.Contains(got, l.ID)
		switch {
		case l.AvailableAt.After(now):
			require.False(m, leased, "%s was leased before its time", l.ID)
		case l.Attempt > 0:
			failed++
			if leased {
				retries++
			}
		default:
			untried++
			priorities[l.ID] = int(l.Priority)
		}
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
	highest := slices.Collect(maps.Values(priorities))
	var leased []int
	for _, id := range got {
		if p, untried := priorities[id]; untried {
			leased = append(leased, p)
		}
	}
	for _, list := range [][]int{highest, leased} {
		slices.Sort(list)
		slices.Reverse(list)
	}
	require.True(m, slices.Equal(highest[:taken], leased), "untried messages go by priority: %v of %v", leased, highest)
}

// delivery gives any delivery there has been, its lease current or not.
func (m *model) delivery() pair[*siding.Delivery] {
	if len(m.leases) == 0 {
		m.Skip("nothing was leased yet")
	}
	// The latest are the most telling.
	last := len(m.leases) - 1
	return m.leases[last-rapid.IntRange(0, min(last, 4)).Draw(m.T, "delivery")]
}

func (m *model) settle(*rapid.T) {
	d := m.delivery()
	one := siding.Settlement{Policy: m.f.policy, Digest: rapid.SampledFrom([]string{"d1", "d2"}).Draw(m.T, "digest")}
	switch rapid.IntRange(0, 8).Draw(m.T, "outcome") {
	case 0, 1:
		one.Result = []byte("result")
	case 2, 3:
		one.Failure = transient("no")
	case 4:
		one.Failure = permanent("never")
	case 5:
		one.Failure = gray("perhaps")
	case 6:
		one.Failure = interrupted(siding.CauseShutdown)
	case 7:
		one.Failure = &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, WaitCounts: true, RetryAfter: 3 * time.Second}
	case 8:
		one.Failure = &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseUnknown, Reason: siding.ReasonUnknownCall}
	}
	sut, ref := one, one
	sut.Token, ref.Token = d.sut.Token, d.ref.Token
	for _, c := range m.toJudge(d.ref.ID, one.Failure == nil) {
		j := siding.Judgement{Accepted: rapid.Bool().Draw(m.T, "accepts"), Digest: one.Digest, Cause: siding.CauseSchemaMismatch}
		j.Call = c.sut
		sut.Judged = append(sut.Judged, j)
		j.Call = c.ref
		ref.Judged = append(ref.Judged, j)
	}
	got, err := m.f.store.Settle(m.ctx, sut)
	require.NoError(m, err)
	want, err := m.ref.Settle(m.ctx, ref)
	require.NoError(m, err)
	require.Equal(m, outcome(want[0].Err), outcome(got[0].Err))
	g, w := got[0].Decision, want[0].Decision
	if w.State == siding.StateReady {
		m.sameTime(w.AvailableAt, g.AvailableAt, "AvailableAt")
	}
	g.AvailableAt, w.AvailableAt = time.Time{}, time.Time{}
	require.Equal(m, w, g)
}

// toJudge gives the answers to a message that a settlement judges: all that nobody has judged, where it is done, and else
// any one.
func (m *model) toJudge(id string, done bool) (out []pair[siding.CallID]) {
	if !done {
		if len(m.calls) > 0 && rapid.Bool().Draw(m.T, "judges") {
			out = append(out, m.call())
		}
		return out
	}
	calls, err := m.ref.Calls(m.ctx, m.queue, id)
	require.NoError(m, err)
	for _, c := range calls {
		if c.Fate != siding.FateAnswered || c.Verdict != siding.VerdictNone {
			continue
		}
		for _, p := range m.calls {
			if p.ref == c.ID {
				out = append(out, p)
			}
		}
	}
	return out
}

func (m *model) extend(*rapid.T) {
	d := m.delivery()
	got, err := m.f.store.Extend(m.ctx, 20*time.Second, d.sut.Token)
	require.NoError(m, err)
	want, err := m.ref.Extend(m.ctx, 20*time.Second, d.ref.Token)
	require.NoError(m, err)
	require.Equal(m, outcome(want[0]), outcome(got[0]))
}

func (m *model) redrive(*rapid.T) {
	m.both(func(s siding.Store, ids ...string) ([]error, error) { return s.Redrive(m.ctx, m.queue, ids...) })
}

func (m *model) discard(*rapid.T) {
	if rapid.IntRange(0, 2).Draw(m.T, "really") != 2 { // it ends a message's life
		m.Skip("not now")
	}
	m.both(func(s siding.Store, ids ...string) ([]error, error) { return s.Discard(m.ctx, m.queue, "why", ids...) })
}

func (m *model) both(do func(s siding.Store, ids ...string) ([]error, error)) {
	names := rapid.SliceOfN(rapid.SampledFrom(modelIDs), 0, 3).Draw(m.T, "ids")
	got, err := do(m.f.store, names...)
	require.NoError(m, err)
	want, err := do(m.ref, names...)
	require.NoError(m, err)
	require.Len(m, got, len(want))
	for i := range want {
		require.Equal(m, outcome(want[i]), outcome(got[i]))
	}
}

// time moves the clock. No sum of steps comes near to a delay or a lease, which are whole seconds below 73: what is due
// in one store is due in the other, although their clocks differ by microseconds.
func (m *model) time(*rapid.T) {
	m.f.clock.Advance(time.Duration(rapid.IntRange(1, 20).Draw(m.T, "steps")) * 730 * time.Millisecond)
}

// jump sets the wall clock back or forward by an hour. Both stores write before: what the time was between the last look
// at the clock and its jump back, no store can know.
func (m *model) jump(*rapid.T) {
	for _, s := range []siding.Store{m.f.store, m.ref} {
		_, err := s.Lease(m.ctx, siding.LeaseRequest{Queue: m.queue, Duration: time.Second, Policy: m.f.policy})
		require.NoError(m, err)
	}
	d := time.Hour + 10*time.Millisecond
	if rapid.Bool().Draw(m.T, "back") {
		d = -d
	}
	m.f.clock.Advance(d)
}

// crash kills the process on both sides, and opens the data anew.
func (m *model) crash(*rapid.T) {
	if m.f.data.Kill == nil || rapid.IntRange(0, 3).Draw(m.T, "really") != 3 {
		m.Skip("not now")
	}
	m.f.kill()
	m.ref.Kill()
	m.ref.Store = m.ref.Another()
}
