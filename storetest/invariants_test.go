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
		return storetest.CheckInvariants(ctx, tampered{store, tamper}, "", policy)
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
		"goes on past its end": func(r *siding.Record) { r.State, r.Attempt = siding.StateReady, policy.MaxAttempts() },
	} {
		require.Error(t, check(tamper), name)
	}
}
