package siding_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
)

// world is the smallest thing that leases, calls and settles by the rules: one lane and recipe, in virtual time.
type world struct {
	t     *testing.T
	now   time.Time
	rng   *rand.Rand
	gates siding.Gates
	p     siding.Policy
	msgs  []*wmsg
	slots int
	// serve answers a call for a message that began at a time; nil is a success.
	serve   func(m *wmsg, began time.Time) *siding.Failure
	latency time.Duration
	calls   []wcall
	first   int // all before it are done
	ready   int // how many messages are ready
}

type wmsg struct {
	siding.Message
	n     int64
	orig  *siding.Failure // of the latest delivery
	calls int
}

type wcall struct {
	began time.Time
	m     *wmsg
	probe bool
	ok    bool
}

func newWorld(t *testing.T, n int, serve func(*wmsg, time.Time) *siding.Failure) *world {
	t.Helper()
	w := &world{
		t: t, now: time.Unix(1_000_000, 0), rng: rand.New(rand.NewPCG(1, 2)), p: siding.DefaultPolicy(), slots: 8,
		serve: serve, latency: 300 * time.Millisecond,
		gates: siding.Gates{Account: &siding.Gate{}, Lane: &siding.Gate{}, Recipe: &siding.Gate{}},
	}
	w.ready = n
	for i := range n {
		w.msgs = append(w.msgs, &wmsg{
			n: int64(i), Message: siding.Message{ID: fmt.Sprint(i), State: siding.StateReady, AvailableAt: w.now},
		})
	}
	return w
}

type wflight struct {
	m     *wmsg
	began time.Time
	token siding.LeaseToken
	probe bool
}

// run works until nothing is left, nothing can go on by itself, or the time is over. It tells whether it stopped at a hold.
func (w *world) run(limit time.Duration) (held bool) {
	end := w.now.Add(limit)
	var flying []wflight
	nonce := int64(0)
	for w.now.Before(end) {
		for len(flying) > 0 && !flying[0].began.Add(w.latency).After(w.now) {
			w.settle(flying[0])
			flying = flying[1:]
		}
		a := w.gates.Admit(w.slots-len(flying), w.now)
		stuck := a.Max == 0 && len(a.Blocked) > 0 && a.At.IsZero() && len(flying) == 0
		if stuck {
			return true
		}
		took := false
		for range a.Max {
			m := w.pick(a)
			if m == nil {
				break
			}
			took = true
			nonce++
			m.State = siding.StateLeased
			w.ready--
			m.Deliveries++
			f := wflight{m: m, began: w.now, token: siding.LeaseToken{Message: m.n, Nonce: nonce}, probe: a.Probe}
			if a.Probe {
				w.gates.Probing(f.token, w.now)
			}
			flying = append(flying, f)
		}
		if !took && a.Untried && len(flying) == 0 {
			w.apply(w.gates.Recipe.Conclude())
		}
		if len(flying) == 0 && w.ready == 0 {
			return false
		}
		w.now = w.now.Add(10 * time.Millisecond)
	}
	return false
}

func (w *world) pick(a siding.Admission) *wmsg {
	var ready []*wmsg
	for w.first < len(w.msgs) && w.msgs[w.first].State == siding.StateDone {
		w.first++
	}
	for _, m := range w.msgs[w.first:] {
		if m.State != siding.StateReady || m.AvailableAt.After(w.now) || a.Untried && m.Attempt > 0 {
			continue
		}
		excluded := false
		for _, n := range a.Not {
			excluded = excluded || n == m.n
		}
		if !excluded {
			ready = append(ready, m)
		}
		if !a.Probe && len(ready) > 0 {
			break
		}
		if len(ready) > 1000 {
			break
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return ready[w.rng.IntN(len(ready))]
}

func (w *world) settle(f wflight) {
	m := f.m
	failure := w.serve(m, f.began)
	if failure == nil || !failure.NoCall {
		w.calls = append(w.calls, wcall{began: f.began, m: m, probe: f.probe, ok: failure == nil})
		m.calls++
	}
	m.orig = failure
	counted, effects := w.gates.Observe(siding.Observed{
		Token: f.token, Delivery: m.Deliveries, Started: f.began, Attempt: m.Attempt, Redrives: m.Redrives, HeldAt: m.HeldAt,
		Failure: failure,
	}, w.now, w.rng.Float64())
	w.route(m, counted)
	w.apply(effects)
}

func (w *world) route(m *wmsg, f *siding.Failure) {
	d := siding.Route(m.Message, f, w.p, w.now, w.rng.Float64())
	if m.State == siding.StateReady {
		w.ready--
	}
	if d.State == siding.StateReady {
		w.ready++
	}
	m.State, m.AvailableAt, m.Reason = d.State, d.AvailableAt, d.Reason
	m.Attempt, m.Gray, m.Waits, m.Interruptions = d.Attempt, d.Gray, d.Waits, d.Interruptions
	if d.Outcome == siding.OutcomeHeld {
		m.HeldAt = w.now
	}
}

func (w *world) apply(effects []siding.Effect) {
	for _, e := range effects {
		for _, member := range e.TakeBack {
			m := w.msgs[member.Message]
			if m.Deliveries == member.Delivery && (m.State == siding.StateDead || m.State == siding.StateReady) {
				if m.State != siding.StateReady {
					w.ready++
				}
				m.State, m.AvailableAt, m.Reason = siding.StateReady, w.now, ""
				m.Attempt--
				if member.Outcome == siding.OutcomeGray {
					m.Gray--
				}
			}
		}
		for _, member := range e.Convict {
			m := w.msgs[member.Message]
			if m.Deliveries == member.Delivery && m.State == siding.StateReady {
				w.route(m, m.orig)
			}
		}
	}
}

func (w *world) count(s siding.State) (n int) {
	for _, m := range w.msgs {
		if m.State == s {
			n++
		}
	}
	return n
}

func (w *world) dead() (ids []int64) {
	for _, m := range w.msgs {
		if m.State == siding.StateDead {
			ids = append(ids, m.n)
		}
	}
	return ids
}

func poison(text string) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Status: 400, Err: errors.New(text)}
}

func down() *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomeTransient, Cause: siding.CauseServerError, Status: 503, Err: errors.New("down")}
}

func TestAnOutageSetsNothingAsideAndCostsOnlyProbes(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_000_000, 0)
	from, to := start.Add(20*time.Second), start.Add(620*time.Second)
	w := newWorld(t, 10_000, func(_ *wmsg, began time.Time) *siding.Failure {
		if !began.Before(from) && began.Before(to) {
			return down()
		}
		return nil
	})
	w.run(time.Hour)
	require.Empty(t, w.dead())
	require.Equal(t, 10_000, w.count(siding.StateDone))
	during, firstOK := 0, time.Time{}
	for _, c := range w.calls {
		if c.began.After(from.Add(w.latency*2)) && c.began.Before(to) {
			during++
			require.True(t, c.probe)
		}
		if c.ok && firstOK.IsZero() && !c.began.Before(to) {
			firstOK = c.began
		}
	}
	require.InDelta(t, 10*60/15, during, 10)
	full := 0
	for _, c := range w.calls {
		if at := c.began.Sub(firstOK); at >= 2*time.Second && at < 3*time.Second {
			full++
		}
	}
	require.GreaterOrEqual(t, full, int(float64(w.slots)/w.latency.Seconds()*0.9), "full speed within two seconds")
}

func TestABrownoutSetsNoHealthyMessageAside(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	w := newWorld(t, 5_000, func(*wmsg, time.Time) *siding.Failure {
		if rng.IntN(2) == 0 {
			return down()
		}
		return nil
	})
	w.run(3 * time.Hour)
	require.Empty(t, w.dead())
	require.Equal(t, 5_000, w.count(siding.StateDone))
}

func TestTenThatFailAlike(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int64{"at the top": 0, "at the end": 790, "in the middle": 400} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 800, func(m *wmsg, _ time.Time) *siding.Failure {
				if m.n >= first && m.n < first+10 {
					return poison("cannot be read")
				}
				return nil
			})
			require.False(t, w.run(time.Hour))
			require.Len(t, w.dead(), 10)
			for _, n := range w.dead() {
				require.True(t, n >= first && n < first+10)
				require.Equal(t, 1, w.msgs[n].Attempt)
				require.Equal(t, siding.ReasonPoison, w.msgs[n].Reason)
			}
			require.Equal(t, 790, w.count(siding.StateDone))
		})
	}
}

func TestARecipeThatFailsForEveryRowIsHeldAndNothingIsSetAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 800, func(*wmsg, time.Time) *siding.Failure { return poison("no such field") })
	require.True(t, w.run(time.Hour))
	require.Empty(t, w.dead())
	require.LessOrEqual(t, len(w.calls), w.slots+5+20)
	h := w.gates.Recipe.Hold
	require.True(t, h.Stuck)
	for _, m := range w.msgs {
		require.Zero(t, m.Attempt)
	}
	effects := w.gates.Recipe.Resume(true)
	w.apply(effects)
	w.run(time.Hour)
	require.Equal(t, 800, w.count(siding.StateDead), "an operator has said that it is the messages")
}

func TestAnUnknownFaultOfTheAccountThatPassesSetsNothingAside(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_000_000, 0)
	w := newWorld(t, 2_000, func(_ *wmsg, began time.Time) *siding.Failure {
		if at := began.Sub(start); at > 20*time.Second && at < 140*time.Second {
			return poison("something nobody has seen before")
		}
		return nil
	})
	require.False(t, w.run(time.Hour))
	require.Empty(t, w.dead())
	require.Equal(t, 2_000, w.count(siding.StateDone))
}

func TestFaultsInTheBodyHoldNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 100, func(m *wmsg, _ time.Time) *siding.Failure {
		if m.n < 40 {
			f := poison("invalid JSON")
			f.NoCall, f.Status = true, 0
			return f
		}
		return nil
	})
	require.False(t, w.run(time.Hour))
	require.Len(t, w.dead(), 40)
	require.Len(t, w.calls, 60)
}
