package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// Clock is a wall clock that moves only when it is told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock gives a clock that stands at the beginning of a day.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, backwards when d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// errInjected is what a hook answers with.
var errInjected = errors.New("injected fault")

// faults is the hook of a fixture: it fails one point of one method, when it is told to.
type faults struct {
	mu        sync.Mutex
	point, op string
	left      int
}

// fail makes the next n passes of the point fail; the method's name is given as in the interface.
func (h *faults) fail(point, op string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.point, h.op, h.left = point, spelled(op), n
}

func (h *faults) hook(point, op string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left == 0 || point != h.point || spelled(op) != h.op && op != "group" {
		return nil
	}
	h.left--
	return errInjected
}

// spelled gives a method's name in the one spelling in which names are compared.
func spelled(op string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(op))
}

// ground is what the cases of a group stand on, one after the other: opening a store is dear. Each has a queue of its own
// there.
type ground struct {
	clock  *Clock
	faults *faults
	data   Data
	store  siding.Store // the process that is always open; killed and reopened, it is another
	cases  int
}

func newGround(t *testing.T, h Harness) *ground {
	t.Helper()
	g := &ground{clock: NewClock(), faults: &faults{}}
	g.data = h.New(t, Options{Clock: g.clock.Now, Hook: g.faults.hook})
	g.store = g.data.Open(t)
	t.Cleanup(func() { _ = g.store.Close() }) // again, where all went well
	return g
}

// leave asks for what holds after everything, and closes the store.
func (g *ground) leave(t *testing.T) {
	t.Helper()
	for v, err := range g.store.Check(context.Background()) {
		require.NoError(t, err)
		t.Errorf("the store's own check finds %s in message %q of queue %q: %s", v.Rule, v.ID, v.Queue, v.Text)
	}
	require.NoError(t, g.store.Close())
}

// fixture is what one case has.
type fixture struct {
	*testing.T
	*ground
	ctx    context.Context
	queue  string
	policy siding.Policy  // without jitter; a case may change it, but for all of its messages
	open   []siding.Store // beside the ground's
	in     siding.InputID // the input of a case that fails a write into one
	solo   []string       // messages that were leased alone
	damage bool           // the case has broken something on purpose, and nothing more can stand on the ground
}

// run runs one case, and tells whether others can stand on the ground after it. (A case that is skipped or fails at once
// does not return.)
func (g *ground) run(t *testing.T, c testCase) (sound bool) {
	t.Helper()
	g.cases++
	f := &fixture{
		T: t, ground: g, ctx: context.Background(), queue: fmt.Sprint("jobs-", g.cases), policy: siding.DefaultPolicy(),
	}
	f.policy.Backoff.Jitter = 0
	t.Cleanup(f.closeOthers)
	c.run(f)
	f.letGo()
	if f.damage {
		return false
	}
	f.healthy()
	return !t.Failed()
}

func (f *fixture) closeOthers() {
	f.Helper()
	for _, s := range f.open {
		require.NoError(f, s.Close())
	}
}

// letGo frees the process of the ground from messages that it has leased alone: it would get no others.
func (f *fixture) letGo() {
	f.Helper()
	for _, id := range f.solo {
		if f.get(id).State == siding.StateLeased {
			require.Equal(f, []error{nil}, f.discard(id))
		}
	}
}

// healthy asks for what must hold at any moment.
func (f *fixture) healthy() {
	f.Helper()
	f.faults.fail("", "", 0)
	require.NoError(f, CheckInvariants(f.ctx, f.store, f.queue, f.policy))
}

// another opens the data as another process, until the end of the case.
func (f *fixture) another() siding.Store {
	f.Helper()
	s := f.data.Open(f.T)
	f.open = append(f.open, s)
	return s
}

// dies kills the process of the ground's store; next becomes the ground's.
func (f *fixture) dies(next func() siding.Store) {
	f.Helper()
	if f.data.Kill == nil {
		f.Skip("this store's harness cannot kill a process")
	}
	f.data.Kill(f.T, f.store)
	f.store = next()
}

// survivor opens another process, for which the ground's store can die.
func (f *fixture) survivor() func() siding.Store {
	f.Helper()
	s := f.data.Open(f.T)
	return func() siding.Store { return s }
}

// kill ends the process of the ground's store and opens another in its place.
func (f *fixture) kill() {
	f.Helper()
	f.dies(func() siding.Store { return f.data.Open(f.T) })
}

// reopen closes the ground's store and opens the data anew.
func (f *fixture) reopen() {
	f.Helper()
	require.NoError(f, f.store.Close())
	f.store = f.data.Open(f.T)
}

// msg gives a message whose body names it.
func msg(id string) siding.NewMessage {
	return siding.NewMessage{ID: id, Body: []byte(`{"id":"` + id + `"}`)}
}

// enqueue puts messages into the queue; none may be refused.
func (f *fixture) enqueue(msgs ...siding.NewMessage) []siding.Enqueued {
	f.Helper()
	return f.enqueueWith(siding.EnqueueOptions{}, msgs...)
}

func (f *fixture) enqueueWith(o siding.EnqueueOptions, msgs ...siding.NewMessage) []siding.Enqueued {
	f.Helper()
	out, err := f.store.Enqueue(f.ctx, f.queue, o, msgs...)
	require.NoError(f, err)
	require.Len(f, out, len(msgs))
	for _, e := range out {
		require.NoError(f, e.Err)
	}
	return out
}

// status enqueues one message and gives what became of it.
func (f *fixture) status(o siding.EnqueueOptions, m siding.NewMessage) siding.EnqueueStatus {
	f.Helper()
	return f.enqueueWith(o, m)[0].Status
}

// request asks for messages with a lease of a minute.
func (f *fixture) request(most int) siding.LeaseRequest {
	return siding.LeaseRequest{Queue: f.queue, Worker: "w", Max: most, MaxRetries: -1, Duration: time.Minute, Policy: f.policy}
}

func (f *fixture) leaseWith(r siding.LeaseRequest) siding.Leased {
	f.Helper()
	out, err := f.store.Lease(f.ctx, r)
	require.NoError(f, err)
	for _, d := range out.Deliveries {
		if d.Solo {
			require.Len(f, out.Deliveries, 1, "alone is alone")
			f.solo = append(f.solo, d.ID)
		}
	}
	return out
}

func (f *fixture) lease(most int) []*siding.Delivery {
	f.Helper()
	return f.leaseWith(f.request(most)).Deliveries
}

// leaseOne leases the only message that can be leased.
func (f *fixture) leaseOne() *siding.Delivery {
	f.Helper()
	ds := f.lease(10)
	require.Len(f, ds, 1)
	return ds[0]
}

// leased enqueues a message and leases it.
func (f *fixture) leased(id string) *siding.Delivery {
	f.Helper()
	f.enqueue(msg(id))
	d := f.leaseOne()
	require.Equal(f, id, d.ID)
	return d
}

func (f *fixture) settleWith(s siding.Settlement) siding.Settled {
	f.Helper()
	s.Policy = f.policy
	out, err := f.store.Settle(f.ctx, s)
	require.NoError(f, err)
	require.Len(f, out, 1)
	return out[0]
}

// fail settles a delivery with a failure.
func (f *fixture) fail(d *siding.Delivery, failure *siding.Failure) siding.Decision {
	f.Helper()
	out := f.settleWith(siding.Settlement{Token: d.Token, Failure: failure})
	require.NoError(f, out.Err)
	return out.Decision
}

// done settles a delivery with a result.
func (f *fixture) done(d *siding.Delivery, result string) {
	f.Helper()
	out := f.settleWith(siding.Settlement{Token: d.Token, Result: []byte(result)})
	require.NoError(f, out.Err)
	require.Equal(f, siding.StateDone, out.Decision.State)
}

// stale asks for a settlement that comes too late.
func (f *fixture) stale(d *siding.Delivery) {
	f.Helper()
	out := f.settleWith(siding.Settlement{Token: d.Token, Result: []byte(`"late"`)})
	require.ErrorIs(f, out.Err, siding.ErrStaleLease)
}

func (f *fixture) get(id string) *siding.Record {
	f.Helper()
	r, err := f.store.Get(f.ctx, f.queue, id)
	require.NoError(f, err)
	return r
}

func (f *fixture) stateIs(id string, want siding.State) *siding.Record {
	f.Helper()
	r := f.get(id)
	require.Equal(f, want, r.State, "state of %s", id)
	return r
}

// dead enqueues a message and sets it aside.
func (f *fixture) dead(id string) {
	f.Helper()
	d := f.leased(id)
	require.Equal(f, siding.StateDead, f.fail(d, permanent("no good")).State)
}

func (f *fixture) now() time.Time {
	f.Helper()
	now, err := f.store.Now(f.ctx)
	require.NoError(f, err)
	return now
}

// near asks for a time by the store's clock, which moves a little with every call.
func (f *fixture) near(want, got time.Time) {
	f.Helper()
	require.WithinDuration(f, want, got, 50*time.Millisecond)
}

func (f *fixture) stats() siding.QueueStats {
	f.Helper()
	out, err := f.store.Stats(f.ctx, f.queue)
	require.NoError(f, err)
	require.Len(f, out, 1)
	return out[0]
}

func (f *fixture) redrive(ids ...string) []error {
	f.Helper()
	out, err := f.store.Redrive(f.ctx, f.queue, ids...)
	require.NoError(f, err)
	require.Len(f, out, len(ids))
	return out
}

func (f *fixture) discard(ids ...string) []error {
	f.Helper()
	out, err := f.store.Discard(f.ctx, f.queue, "not wanted any more", ids...)
	require.NoError(f, err)
	require.Len(f, out, len(ids))
	return out
}

func transient(text string) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeTransient, Cause: siding.CauseServerError, Err: errors.New(text)}
}

func permanent(text string) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Err: errors.New(text)}
}

func gray(text string) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeGray, Cause: siding.CauseTruncated, Err: errors.New(text)}
}

func interrupted(cause siding.Cause) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: cause, Err: errors.New("cut off")}
}

func ids(ds []*siding.Delivery) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.ID
	}
	return out
}
