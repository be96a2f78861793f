package storetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/storetest"
)

// tampered is a store that shows one message otherwise than it is.
type tampered struct {
	siding.Store
	tamper func(r *siding.Record)
	gates  func(all []siding.Gate) []siding.Gate
}

func (s tampered) Gates(ctx context.Context) ([]siding.Gate, error) {
	all, err := s.Store.Gates(ctx)
	if err == nil && s.gates != nil {
		all = s.gates(all)
	}
	return all, err
}

func (s tampered) Get(ctx context.Context, queue, id string) (*siding.Record, error) {
	r, err := s.Store.Get(ctx, queue, id)
	if err == nil {
		s.tamper(r)
	}
	return r, err
}

func TestCheckInvariants(t *testing.T) {
	t.Parallel()
	ctx, policy := t.Context(), siding.DefaultPolicy()
	// A message that has failed, was redriven, has made a call, and has failed for good.
	store := memory.Open(memory.Options{})
	_, err := store.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a", Body: []byte("1")})
	require.NoError(t, err)
	for i := range 2 {
		l, err := store.Lease(ctx, siding.LeaseRequest{Queue: "q", Max: 1, Duration: time.Hour, Policy: policy})
		require.NoError(t, err)
		token := l.Deliveries[0].Token
		call, err := store.StartCall(ctx, siding.CallRequest{
			Token: token, RequestHash: siding.Hash{byte(i)}, Digest: "d", Deadline: time.Minute, WorstCost: 10, Priced: true,
		})
		require.NoError(t, err)
		require.NoError(t, store.EndCall(ctx, siding.CallEnd{Call: call.Call, Fate: siding.FateAnswered, Answer: []byte("x"), Cost: 5, Priced: true}))
		_, err = store.Settle(ctx, siding.Settlement{
			Token: token, Policy: policy, Failure: siding.FailureOf(siding.Permanent(errors.New("no"))),
			Judged: []siding.Judgement{{Call: call.Call, Accepted: true, Digest: "d"}},
		})
		require.NoError(t, err)
		if i == 0 {
			_, err = store.Redrive(ctx, "q", "a")
			require.NoError(t, err)
		}
	}
	check := func(tamper func(r *siding.Record)) error {
		return storetest.CheckInvariants(ctx, tampered{Store: store, tamper: tamper}, "", policy)
	}
	require.NoError(t, check(func(*siding.Record) {}))
	for name, tamper := range map[string]func(r *siding.Record){
		"state":                func(r *siding.Record) { r.State = "lost" },
		"no reason":            func(r *siding.Record) { r.Reason = "" },
		"no cause":             func(r *siding.Record) { r.LastError = nil },
		"a result":             func(r *siding.Record) { r.Result = []byte("1") },
		"a lease":              func(r *siding.Record) { r.LeasedUntil = time.Now() },
		"attempt lost":         func(r *siding.Record) { r.Attempt = 0 },
		"attempt twice":        func(r *siding.Record) { r.Attempt = 2 },
		"gray from nowhere":    func(r *siding.Record) { r.Gray = 1 },
		"exhausted too early":  func(r *siding.Record) { r.Reason = siding.ReasonAttemptsExhausted },
		"delivery lost":        func(r *siding.Record) { r.History = r.History[1:] },
		"delivery twice":       func(r *siding.Record) { r.History[1].Number = 1 },
		"ended before begun":   func(r *siding.Record) { r.History[0].EndedAt = time.Time{} },
		"another's call":       func(r *siding.Record) { r.Calls[0].EventID = "b" },
		"judged and unknown":   func(r *siding.Record) { r.Calls[0].Fate = siding.FateUnknown },
		"paid twice":           func(r *siding.Record) { r.Calls[1].RequestHash = r.Calls[0].RequestHash },
		"money lost":           func(r *siding.Record) { r.Calls[0].Cost = 4 },
		"a call lost":          func(r *siding.Record) { r.Calls = r.Calls[1:] },
		"terminal escapes":     func(r *siding.Record) { r.LastError.Text = "\x1b[31m" },
		"solo and no suspect":  func(r *siding.Record) { r.SoloCrashes = 1 },
		"crashed too seldom":   func(r *siding.Record) { r.Reason = siding.ReasonCrash },
		"dead with a trial":    func(r *siding.Record) { r.Alone, r.Waits = true, policy.MaxWaits },
		"a trial too early":    func(r *siding.Record) { r.State, r.Alone = siding.StateReady, true },
		"held and never":       func(r *siding.Record) { r.History[1].Outcome, r.Attempt = siding.OutcomeHeld, 0 },
		"two outcomes":         func(r *siding.Record) { e := *r.History[1].Error; e.Outcome = "gray"; r.History[1].Error = &e },
		"goes on past its end": func(r *siding.Record) { r.State, r.Attempt = siding.StateReady, policy.MaxAttempts() },
	} {
		require.Error(t, check(tamper), name)
	}
}

func TestCheckInvariantsOfGates(t *testing.T) {
	t.Parallel()
	ctx, policy := t.Context(), siding.DefaultPolicy()
	store := memory.Open(memory.Options{})
	keys := siding.GateKeys{
		Lane: siding.GateKey{Scope: siding.ScopeLane, Name: "l"}, Recipe: siding.GateKey{Scope: siding.ScopeRecipe, Name: "r"},
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		_, err := store.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: id})
		require.NoError(t, err)
	}
	l, err := store.Lease(ctx, siding.LeaseRequest{Queue: "q", Max: 5, Duration: time.Hour, Policy: policy})
	require.NoError(t, err)
	for _, d := range l.Deliveries {
		_, err := store.Settle(ctx, siding.Settlement{
			Token: d.Token, Policy: policy, Failure: siding.FailureOf(siding.Permanent(errors.New("no"))), Gates: keys,
		})
		require.NoError(t, err)
	}
	require.NoError(t, store.HoldGate(ctx, keys.Lane, "why", "me"))
	check := func(tamper func(lane, recipe *siding.Gate)) error {
		return storetest.CheckInvariants(ctx, tampered{
			Store: store, tamper: func(*siding.Record) {},
			gates: func(all []siding.Gate) []siding.Gate {
				tamper(&all[0], &all[1])
				return all
			},
		}, "", policy)
	}
	require.NoError(t, check(func(_, _ *siding.Gate) {}))
	for name, tamper := range map[string]func(lane, recipe *siding.Gate){
		"out of order":        func(lane, recipe *siding.Gate) { *lane, *recipe = *recipe, *lane },
		"twice":               func(lane, recipe *siding.Gate) { *recipe = *lane },
		"of nothing":          func(lane, _ *siding.Gate) { lane.Key.Name = "" },
		"idle":                func(lane, _ *siding.Gate) { *lane = siding.Gate{Key: lane.Key} },
		"open with a streak":  func(_, recipe *siding.Gate) { recipe.Hold = nil },
		"held for no streak":  func(_, recipe *siding.Gate) { recipe.Streaks = nil },
		"a member twice":      func(_, r *siding.Gate) { r.Streaks[0].Members[1].Message = r.Streaks[0].Members[0].Message },
		"a done member":       func(_, r *siding.Gate) { r.Streaks[0].Members[1].Outcome = siding.OutcomeDone },
		"an empty streak":     func(_, r *siding.Gate) { r.Streaks[0].Members = nil },
		"one streak twice":    func(_, r *siding.Gate) { r.Streaks = append(r.Streaks, r.Streaks[0]) },
		"a probe of nobody":   func(lane, _ *siding.Gate) { lane.Probe = &siding.Probe{} },
		"an unknown hold":     func(lane, _ *siding.Gate) { lane.Hold.Kind = "odd" },
		"held since never":    func(lane, _ *siding.Gate) { lane.Hold.Since = time.Time{} },
		"terminal escapes":    func(lane, _ *siding.Gate) { lane.Hold.Text = "\x1b[31m" },
		"by hand and by fate": func(_, recipe *siding.Gate) { recipe.Hold.By = "me" },
		"opens by itself":     func(lane, _ *siding.Gate) { lane.Hold.NextProbe = time.Now() },
	} {
		require.Error(t, check(tamper), name)
	}
}
