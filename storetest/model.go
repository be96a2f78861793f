package storetest

import (
	"context"
	"fmt"
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
	f.policy.Backoff.Jitter, f.policy.MaxWaits = 0, 2
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
			bodies: map[string]int{}, received: map[string][]byte{}, numbers: map[string]int64{},
		}
		m.keys = siding.GateKeys{
			Account: siding.GateKey{Scope: siding.ScopeAccount, Name: m.queue}, Lane: siding.GateKey{Scope: siding.ScopeLane, Name: m.queue},
			Recipe: siding.GateKey{Scope: siding.ScopeRecipe, Name: m.queue},
		}
		m.sutBase, m.refBase = m.now(g.store), m.now(m.ref)
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.compare() },
			"enqueue": m.enqueue, "lease": m.lease, "settle": m.settle, "extend": m.extend, "start call": m.startCall,
			"end call": m.endCall, "redrive": m.redrive, "discard": m.discard, "time": m.time, "jump": m.jump, "crash": m.crash,
			"fail alike": m.failAlike, "nudge": m.nudge, "back": m.back, "mark": m.markGroup, "redrive selected": m.redriveSelected, "drop": m.drop, "hold": m.hold, "resume": m.resume,
			"lease more": m.lease, "settle more": m.settle, "work": m.work, "more time": m.time, // these more often
		})
		m.compareQueue()
		m.letGo()
	})
	require.NoError(t, CheckInvariants(f.ctx, g.store, "", f.policy))
	g.leave(t)
}

// modelRuns is how many runs the model has.
const modelRuns = 40

// model is one run.
type model struct {
	*rapid.T
	ctx              context.Context
	f                *fixture
	ref              *reference
	queue            string
	keys             siding.GateKeys
	sutBase, refBase time.Time // each store's time at the beginning of the run

	bodies   map[string]int    // how many bodies each message has had
	received map[string][]byte // and the last of them, whatever repairs have made of it
	numbers  map[string]int64  // of the messages that were leased, in ref
	leases   []pair[*siding.Delivery]
	calls    []pair[siding.CallID]
}

// reference is the process that has the store in memory open now. The keeper is one that never dies, for the inputs.
type reference struct {
	*memory.Store
	keeper *memory.Store
}

// pair is the same thing in both stores.
type pair[T any] struct{ sut, ref T }

var modelIDs = []string{"a", "b", "c", "d", "e", "f", "g"}

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
	m.enqueueBoth(n, o)
}

// enqueueBoth enqueues a message in both stores; its times are the wall clock's.
func (m *model) enqueueBoth(n siding.NewMessage, o siding.EnqueueOptions) {
	now := m.f.clock.Now()
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
	want, err := m.ref.Enqueue(m.ctx, m.queue, o, shifted(m.now(m.ref)))
	require.NoError(m, err)
	require.Equal(m, want[0].Status, got[0].Status)
	require.Equal(m, outcome(want[0].Err), outcome(got[0].Err))
	require.Equal(m, want[0].ID, got[0].ID)
	if want[0].Err != nil || want[0].Status == siding.EnqueueDiscarded {
		m.bodies[n.ID]++ // what was refused is not enqueued again as if it were known
		return
	}
	m.received[n.ID] = n.Body
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
	one.Gates = m.gateKeys()
	one.NoCall = rapid.IntRange(0, 5).Draw(m.T, "no call") == 5
	one.OtherLane = rapid.IntRange(0, 5).Draw(m.T, "other lane") == 5
	one.Failure = m.failure()
	if one.Failure == nil {
		one.Result = []byte("result")
	}
	sut, ref := one, one
	sut.Token, ref.Token = d.sut.Token, d.ref.Token
	sut.Failure = m.shifted(ref.Failure)
	for _, c := range m.toJudge(d.ref.ID, one.Failure == nil) {
		j := siding.Judgement{Accepted: rapid.Bool().Draw(m.T, "accepts"), Digest: one.Digest, Cause: siding.CauseSchemaMismatch}
		j.Call = c.sut
		sut.Judged = append(sut.Judged, j)
		j.Call = c.ref
		ref.Judged = append(ref.Judged, j)
	}
	m.settleBoth([]siding.Settlement{sut}, []siding.Settlement{ref})
}

// settleBoth settles in both stores, each in one batch.
func (m *model) settleBoth(sut, ref []siding.Settlement) {
	got, err := m.f.store.Settle(m.ctx, sut...)
	require.NoError(m, err)
	want, err := m.ref.Settle(m.ctx, ref...)
	require.NoError(m, err)
	require.Len(m, got, len(want))
	for i := range want {
		require.Equal(m, outcome(want[i].Err), outcome(got[i].Err))
		g, w := got[i].Decision, want[i].Decision
		if w.State == siding.StateReady {
			m.sameTime(w.AvailableAt, g.AvailableAt, "AvailableAt")
		}
		g.AvailableAt, w.AvailableAt = time.Time{}, time.Time{}
		require.Equal(m, w, g)
		require.Equal(m, m.shifted(want[i].Failure), got[i].Failure)
	}
}

// failure gives how a delivery ends by chance; nil: done.
func (m *model) failure() *siding.Failure {
	now := m.now(m.ref)
	switch rapid.IntRange(0, 11).Draw(m.T, "outcome") {
	case 2, 3:
		return transient("no")
	case 4:
		return permanent("never")
	case 5:
		return gray("perhaps")
	case 6:
		return interrupted(siding.CauseShutdown)
	case 7:
		return &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseHandlerError, WaitCounts: true, RetryAfter: 3 * time.Second}
	case 8:
		return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseUnknown, Reason: siding.ReasonUnknownCall}
	case 9:
		return throttled(time.Duration(rapid.IntRange(0, 1).Draw(m.T, "after")) * 31 * time.Second)
	case 10:
		scope := rapid.SampledFrom([]siding.Scope{siding.ScopeAccount, siding.ScopeLane, siding.ScopeRecipe}).Draw(m.T, "scope")
		return heldFor(scope, siding.CauseAccount, "no credit")
	case 11:
		failure := heldFor(siding.ScopeAccount, siding.CauseAccount, "the limit is reached")
		failure.Until = now.Add(time.Hour + 400*time.Millisecond) // by the reference's clock
		return failure
	}
	return nil
}

// shifted gives a failure whose date is by the clock of the store under test.
func (m *model) shifted(f *siding.Failure) *siding.Failure {
	if f == nil || f.Until.IsZero() {
		return f
	}
	c := *f
	c.Until = c.Until.Add(m.sutBase.Sub(m.refBase))
	return &c
}

// work leases what it gets and settles it.
func (m *model) work(*rapid.T) {
	n := len(m.leases)
	m.leaseWith(siding.LeaseRequest{Max: 2, MaxRetries: -1, Gates: m.keys})
	failure := m.failure()
	for _, d := range m.leases[n:] {
		one := siding.Settlement{Token: d.ref.Token, Policy: m.f.policy, Gates: m.keys, Failure: failure}
		ref := one
		one.Token, one.Failure = d.sut.Token, m.shifted(failure)
		m.settleBoth([]siding.Settlement{one}, []siding.Settlement{ref})
	}
}

// failAlike fails deliveries of as many messages as can be had, all for one reason and in one batch.
func (m *model) failAlike(*rapid.T) {
	for _, id := range modelIDs {
		if rapid.Bool().Draw(m.T, "another body") {
			m.bodies[id]++
			m.enqueueBoth(siding.NewMessage{ID: id, Body: fmt.Append(nil, id, m.bodies[id])}, siding.EnqueueOptions{Supersede: true})
		}
	}
	n := len(m.leases)
	m.leaseWith(siding.LeaseRequest{Max: 5, MaxRetries: -1, Gates: m.gateKeys()}) // a streak's worth: the others are left for probes
	failure := rapid.SampledFrom([]*siding.Failure{permanent("alike"), permanent("alike"), gray("alike"), transient("down")}).Draw(m.T, "failure")
	var sut, ref []siding.Settlement
	for _, d := range m.leases[max(0, n-3):] { // and some of those that are in flight, or not any more
		one := siding.Settlement{Policy: m.f.policy, Gates: m.keys, Failure: failure}
		one.Token = d.sut.Token
		sut = append(sut, one)
		one.Token = d.ref.Token
		ref = append(ref, one)
	}
	m.settleBoth(sut, ref)
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
	if m.f.data.Kill == nil || rapid.IntRange(0, 1).Draw(m.T, "really") != 1 {
		m.Skip("not now")
	}
	m.f.kill()
	m.ref.Kill()
	m.ref.Store = m.ref.Another()
}
