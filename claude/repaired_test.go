package claude

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/worker"
)

// A bench is a queue that is worked off with a simulated Claude.
type bench struct {
	*memory.Store
	sim *claudesim.Server
}

func newBench(t *testing.T, bodies []string, rules ...claudesim.Rule) *bench {
	t.Helper()
	b := &bench{memory.Open(memory.Options{}), sim(t, rules...)}
	t.Cleanup(func() { _ = b.Close() })
	for i, body := range bodies {
		_, err := b.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(i), Body: []byte(body)})
		require.NoError(t, err)
	}
	return b
}

// work works the queue off with a recipe, until nothing is left in it.
func (b *bench) work(t *testing.T, change func(*Config)) *Handler {
	t.Helper()
	c := config(b, b.sim.Client())
	c.Output.Schema, c.StoreID = []byte(tagsSchema), "store"
	if change != nil {
		change(&c)
	}
	h := newHandler(t, c)
	p := siding.DefaultPolicy()
	p.Backoff, p.GrayRetries = siding.Backoff{Base: time.Millisecond, Factor: 1, Cap: time.Millisecond}, 0
	gates := h.Gates()
	gates.Recipe = siding.GateKey{Scope: siding.ScopeRecipe, Name: "q@" + h.Digest()}
	w, err := worker.New(b, worker.Config{Queue: "q", Handler: h, Policy: p, Drain: true, Digest: h.Digest(), Gates: gates})
	require.NoError(t, err)
	require.NoError(t, w.Run(t.Context()))
	return h
}

func (b *bench) state(t *testing.T, id string) siding.State {
	t.Helper()
	rec, err := b.Get(t.Context(), "q", id)
	require.NoError(t, err)
	return rec.State
}

func (b *bench) repair(t *testing.T, id string, headers map[string]string) {
	t.Helper()
	errs, err := b.Return(t.Context(), "q", siding.Return{ID: id, Headers: headers})
	require.NoError(t, err)
	require.NoError(t, errs[0])
}

func TestARepairedRequestMakesExactlyOneCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, []string{dunes}, once(claudesim.Do{Fault: "stop", Reason: "max_tokens"}))
	b.work(t, nil)
	require.Equal(t, siding.StateDead, b.state(t, "0"))
	require.Len(t, b.sim.Calls(), 1)
	b.repair(t, "0", map[string]string{siding.HeaderMaxTokens: "4000"})
	b.work(t, nil)
	require.Equal(t, siding.StateDone, b.state(t, "0"))
	require.Len(t, b.sim.Calls(), 2)
	calls, err := b.Calls(t.Context(), "q", "0")
	require.NoError(t, err)
	require.EqualValues(t, 4000, calls[1].OutputLimit)
	require.Equal(t, siding.VerdictAccepted, calls[1].Verdict)
}

func TestAMessageWithAnAcceptableAnswerIsNotAskedAgainWhateverItsSettings(t *testing.T) {
	t.Parallel()
	// The answer fits the record's schema only once that is corrected.
	wrong := func(c *Config) {
		c.Output.Schema = []byte(strings.Replace(tagsSchema, `"title": {"type": "string"}`, `"title": {"type": "string", "not": {}}`, 1))
	}
	for name, headers := range map[string]map[string]string{
		"none": nil, "a limit": {siding.HeaderMaxTokens: "4000"}, "a model": {siding.HeaderModel: "claude-sonnet-4-5", siding.HeaderInstruction: "Be brief."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			_, err := b.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "0", Body: []byte(dunes), Headers: headers})
			require.NoError(t, err)
			b.work(t, wrong)
			require.Equal(t, siding.StateDead, b.state(t, "0"))
			_, err = b.Redrive(t.Context(), "q", "0")
			require.NoError(t, err)
			b.work(t, nil)
			require.Equal(t, siding.StateDone, b.state(t, "0"), "accepted from the journal")
			require.Len(t, b.sim.Calls(), 1)
		})
	}
}

func TestMessagesWithAModelThatServesNobodyWaitAloneWhileOthersAreDone(t *testing.T) {
	t.Parallel()
	bodies := make([]string, 30)
	for i := range bodies {
		bodies[i] = fmt.Sprintf(`{"title":"number %d"}`, i)
	}
	b := newBench(t, bodies, claudesim.Rule{When: claudesim.When{Model: "claude-sonnet-4-5"}, Do: claudesim.Do{Fault: "error", ID: "529"}})
	for i := range 10 {
		_, err := b.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{
			ID: fmt.Sprintf("own-%d", i), Body: []byte(bodies[i]), Headers: map[string]string{siding.HeaderModel: "claude-sonnet-4-5"}, Priority: 9,
		})
		require.NoError(t, err)
	}
	c := config(b, b.sim.Client())
	c.Output.Schema, c.StoreID = []byte(tagsSchema), "store"
	h := newHandler(t, c)
	ctx, stop := context.WithCancel(t.Context())
	done := 0
	w, err := worker.New(b, worker.Config{
		Queue: "q", Handler: h, Policy: siding.DefaultPolicy(), Digest: h.Digest(), Gates: h.Gates(), Concurrency: 4,
		Observe: func(e worker.Event) {
			if s, ok := e.(worker.Settled); ok && s.Decision.State == siding.StateDone {
				if done++; done == len(bodies) {
					stop()
				}
			}
		},
	})
	require.NoError(t, err)
	_ = w.Run(ctx)
	require.Equal(t, len(bodies), done, "nobody else waited")
	for i := range 10 {
		rec, err := b.Get(t.Context(), "q", fmt.Sprintf("own-%d", i))
		require.NoError(t, err)
		require.Equal(t, siding.StateReady, rec.State)
		require.Zero(t, rec.Attempt)
		require.Positive(t, rec.Waits)
	}
	gates, err := b.Gates(t.Context())
	require.NoError(t, err)
	for _, g := range gates {
		require.Nil(t, g.Hold, g.Key)
		require.True(t, g.Open(), g.Key)
	}
}
