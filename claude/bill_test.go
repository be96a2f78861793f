package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/memory"
)

// billFaults are met by a part of the calls each.
var billFaults = []claudesim.Do{
	{Fault: "error", ID: "529"}, {Fault: "error", ID: "500"}, {Fault: "error", ID: "rl"}, {Fault: "error", ID: "filter"}, {Fault: "refuse"},
	{Fault: "cut", At: "before"}, {Fault: "cut", At: "inside"}, {Fault: "cut", At: "after"}, {Fault: "broken-json"}, {Fault: "error-body", ID: "529"},
	{Fault: "stop", Reason: "refusal"}, {Fault: "stop", Reason: "max_tokens"}, {Fault: "stop", Reason: "pause_turn"}, {Fault: "empty"}, {Fault: "off-schema"},
	{Fault: "prose"}, {Fault: "enum-case"}, {Fault: "html", Status: 502},
}

// TestTheBillIsWhatTheJournalSays works messages through a store until nothing is left, through every fault, while
// processes die at writes; then the meter's bill lies within what the journal says.
func TestTheBillIsWhatTheJournalSays(t *testing.T) {
	t.Parallel()
	models := []string{"claude-haiku-4-5", "claude-haiku-5-5", "claude-opus-5", "claude-sonnet-5-5", "claude-fable-5-1"}
	rapid.Check(t, func(rt *rapid.T) {
		share := rapid.Float64Range(0, 0.1).Draw(rt, "share of each fault")
		var rules []claudesim.Rule
		for i, do := range billFaults {
			rules = append(rules, claudesim.Rule{Name: fmt.Sprint(i), When: claudesim.When{Share: &share}, Do: do})
		}
		now := november
		clock := func() time.Time { return now }
		s, err := claudesim.New(&claudesim.Profile{Seed: rapid.Uint64().Draw(rt, "seed"), Faults: rules}, claudesim.Options{Clock: clock})
		require.NoError(rt, err)
		w := &world{t: rt, sim: s, now: &now, deaths: rapid.SliceOfN(rapid.IntRange(1, 60), 0, 3).Draw(rt, "deaths, as numbers of writes")}
		w.store = memory.Open(memory.Options{Clock: clock, Hook: w.hook})
		w.config = config(nil, s.Client())
		w.config.Clock = clock
		w.config.Model = rapid.SampledFrom(models).Draw(rt, "model")
		w.config.MaxTokens = rapid.Int64Range(1, 4000).Draw(rt, "max tokens")
		w.config.Output = Output{Schema: []byte(tagsSchema), Via: rapid.SampledFrom([]string{ViaSchema, ViaTool}).Draw(rt, "via")}
		w.config.OnUnknown = rapid.SampledFrom([]siding.OnUnknown{siding.UnknownResend, siding.UnknownQuarantine}).Draw(rt, "on unknown")
		for i := range 3 {
			title, _ := json.Marshal(rapid.StringN(1, 200, -1).Draw(rt, "title") + "x")
			_, err := w.store.Enqueue(context.Background(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint("m", i), Body: []byte(`{"title":` + string(title) + `}`)})
			require.NoError(rt, err)
		}
		w.deathsAllowed = true
		w.work()
		w.check()
	})
}

// world is a store, a service and one worker at a time.
type world struct {
	t             *rapid.T
	sim           *claudesim.Server
	now           *time.Time
	store         *memory.Store
	config        Config
	deaths        []int
	deathsAllowed bool
	writes        int
	died          bool
}

var errDied = errors.New("the process has died")

// hook lets the process die at its next write of a given number: the write is lost, or only its reply.
func (w *world) hook(point, _ string) error {
	if !w.deathsAllowed {
		return nil
	}
	if point == "before" || point == "after-commit" {
		w.writes++
		if slices.Contains(w.deaths, w.writes) {
			w.died = true
			return fmt.Errorf("%w: %w", errDied, siding.ErrClosed)
		}
	}
	return nil
}

// work leases, handles and settles until nothing is ready; a death ends the process, and another one goes on.
func (w *world) work() {
	ctx, policy := context.Background(), siding.DefaultPolicy()
	policy.OnUnknown = w.config.OnUnknown
	for range 500 {
		w.config.Journal = w.store
		h, err := New(w.config)
		require.NoError(w.t, err)
		leased, err := w.store.Lease(ctx, siding.LeaseRequest{Queue: "q", Worker: "w", Max: 1, MaxRetries: -1, Duration: time.Hour, Policy: policy})
		if w.reborn() {
			continue
		}
		require.NoError(w.t, err)
		if len(leased.Deliveries) == 0 {
			if leased.NextAt.IsZero() {
				return
			}
			*w.now = leased.NextAt.Add(time.Millisecond)
			continue
		}
		d := leased.Deliveries[0]
		res, err := h.Handle(ctx, d)
		if w.reborn() {
			continue
		}
		end := siding.Settlement{Token: d.Token, Failure: siding.FailureOf(err), Result: res.Body, Digest: h.Digest(), Judged: res.Judged, Policy: policy}
		settled, err := w.store.Settle(ctx, end)
		if w.reborn() {
			continue
		}
		require.NoError(w.t, err)
		require.NoError(w.t, settled[0].Err)
	}
	w.t.Fatal("it does not end")
}

// reborn tells whether the process has died, and starts another one.
func (w *world) reborn() bool {
	if !w.died {
		return false
	}
	w.store.Kill()
	w.died = false
	w.store = w.store.Another()
	return true
}

func (w *world) check() {
	var cost, unknown siding.Money
	maybe := map[string]bool{}
	for i := range 3 {
		calls, err := w.store.Calls(context.Background(), "q", fmt.Sprint("m", i))
		require.NoError(w.t, err)
		for _, c := range calls {
			cost = cost.Add(c.Cost)
			require.LessOrEqual(w.t, c.Cost, c.WorstCost, "a call costs no more than was reserved")
			if c.Maybe() {
				unknown = unknown.Add(c.WorstCost)
				maybe[fmt.Sprintf("%s %x", c.EventID, c.RequestHash)] = true
			}
		}
	}
	meter := w.sim.Meter()
	billed := siding.Money(meter.Totals.CostPico)
	require.LessOrEqual(w.t, cost, billed, "what is reported was billed")
	require.LessOrEqual(w.t, billed, cost.Add(unknown), "and the bill is bounded")
	if unknown == 0 {
		require.Equal(w.t, billed, cost)
	}
	for _, row := range meter.Rows {
		require.True(w.t, row.Acceptable <= 1 || maybe[row.Event+" "+row.Hash], "an acceptable answer was asked for again, and nothing was unknown: %+v", row)
	}
}
