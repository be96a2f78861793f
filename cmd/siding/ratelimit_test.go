package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/worker"
)

// The whole pipeline against the simulated service, which counts what it refused, in virtual time.
func TestARateLimitIsUsedAndHardlyEverHit(t *testing.T) {
	t.Parallel()
	for _, burst := range []int{10, 50} {
		t.Run(fmt.Sprintf("a bucket of %d", burst), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const limit, n, window = 50, 1500, 20 * time.Second
				profile, err := claudesim.ParseProfile(fmt.Appendf(nil,
					"version: 1\nseed: 1\nlatency: {fixed: 300ms}\nlimits: {requests: %d/s burst %d}\n", limit, burst))
				require.NoError(t, err)
				sim, err := claudesim.New(profile, claudesim.Options{KeepCalls: 2 * n})
				require.NoError(t, err)
				defer func() { require.NoError(t, sim.Close()) }()

				store := memory.Open(memory.Options{Simulated: true})
				msgs := make([]siding.NewMessage, n)
				for i := range msgs {
					msgs[i] = siding.NewMessage{ID: fmt.Sprint(i), Body: fmt.Appendf(nil, `{"n":%d}`, i)}
				}
				_, err = store.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, msgs...)
				require.NoError(t, err)
				info, err := store.Info(t.Context())
				require.NoError(t, err)
				h, err := claude.New(claude.Config{
					Model: "claude-haiku-4-5", MaxTokens: 100, Prompt: "Count: {{.n}}", APIKey: "sk-test", BaseURL: "http://sim.invalid",
					HTTPClient: sim.Client(), Journal: store, StoreID: info.ID,
				})
				require.NoError(t, err)
				w, err := worker.New(store, worker.Config{
					Queue: "q", Handler: h, Drain: true, Concurrency: 64, Gates: h.Gates(), Digest: h.Digest(), Seed: 1,
				})
				require.NoError(t, err)
				start := time.Now()
				require.NoError(t, w.Run(t.Context()))

				all, refused, used := 0, 0, 0
				for _, c := range sim.Calls() {
					all++
					if c.Throttled {
						refused++
					}
					// From when the bucket's first filling has been used up.
					if at := c.Time.Sub(start); !c.Throttled && at >= 5*time.Second && at < 5*time.Second+window {
						used++
					}
				}
				t.Logf("%d calls, %d refused; %d in %v", all, refused, used, window)
				require.GreaterOrEqual(t, used, limit*int(window.Seconds())*98/100)
				require.Less(t, float64(refused), 0.005*float64(all))
				require.EqualValues(t, n, sim.Meter().Totals.Billed)
			})
		})
	}
}
