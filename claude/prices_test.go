package claude

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

var november = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func TestPricesOfEveryModel(t *testing.T) {
	t.Parallel()
	var golden []struct {
		Model  string
		At     string
		Prompt int64
		// For a million tokens of each kind, in USD.
		Input, Output, Write5m, Write1h, Read float64
	}
	text, err := os.ReadFile("testdata/prices.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &golden))
	require.Len(t, golden, 18)
	p := DefaultPrices()
	for _, g := range golden {
		at, err := time.Parse(time.DateOnly, g.At)
		require.NoError(t, err)
		for kind, want := range map[string]float64{"input": g.Input, "output": g.Output, "5m": g.Write5m, "1h": g.Write1h, "read": g.Read} {
			// A price is for one token; the other kinds fill the prompt up to its size.
			base := siding.Usage{Input: g.Prompt}
			more := base
			switch kind {
			case "input":
				more.Input++
				base.Input, more.Input = g.Prompt-1, g.Prompt
			case "output":
				more.Output++
			case "5m":
				base.Input--
				more.Input--
				more.CacheWrite5m++
			case "1h":
				base.Input--
				more.Input--
				more.CacheWrite1h++
			case "read":
				base.Input--
				more.Input--
				more.CacheRead++
			}
			a, ok := p.Cost(g.Model, base, at, Multipliers{})
			require.True(t, ok, g.Model)
			b, ok := p.Cost(g.Model, more, at, Multipliers{})
			require.True(t, ok, g.Model)
			require.Equal(t, PerMillion(want), b-a, "%s %s at %s, prompt of %d", g.Model, kind, g.At, g.Prompt)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	p := DefaultPrices()
	u := siding.Usage{Input: 1_000_000, Output: 1_000_000}
	cost := func(model string, u siding.Usage, m Multipliers) siding.Money {
		got, ok := p.Cost(model, u, november, m)
		require.True(t, ok, model)
		return got
	}
	require.Equal(t, 6*siding.USD, cost("claude-haiku-4-5", u, Multipliers{}))
	for _, name := range []string{"haiku-4-5", "claude-haiku-4-5-20251001", "haiku-4-5-20251001", "Claude-Haiku-4-5"} {
		require.Equal(t, 6*siding.USD, cost(name, u, Multipliers{}), name)
	}
	require.Equal(t, 3*siding.USD, cost("claude-haiku-4-5", u, Multipliers{Batch: true}))
	require.Equal(t, 66*siding.USD/10, cost("claude-haiku-4-5", u, Multipliers{USInference: true}))
	require.Equal(t, 33*siding.USD/10, cost("claude-haiku-4-5", u, Multipliers{Batch: true, USInference: true}))

	// The long-prompt band counts every token of the request, and every kind of input.
	require.Equal(t, PerMillion(0.10)*100_000, cost("claude-haiku-5-5", siding.Usage{Input: 100_000}, Multipliers{}))
	require.Equal(t, PerMillion(0.50)*100_001, cost("claude-haiku-5-5", siding.Usage{Input: 100_001}, Multipliers{}))
	require.Equal(t, PerMillion(0.50)*1+PerMillion(0.05)*100_000, cost("claude-haiku-5-5", siding.Usage{Input: 1, CacheRead: 100_000}, Multipliers{}))
	require.Equal(t, PerMillion(2.50)*7+PerMillion(0.50)*100_001, cost("claude-haiku-5-5", siding.Usage{Input: 100_001, Output: 7}, Multipliers{}))

	// Dated rows.
	read := siding.Usage{CacheRead: 1_000_000}
	before, _ := p.Cost("claude-sonnet-5-5", read, time.Date(2026, 10, 6, 23, 59, 59, 0, time.UTC), Multipliers{})
	after, _ := p.Cost("claude-sonnet-5-5", read, time.Date(2026, 10, 7, 0, 0, 0, 0, time.UTC), Multipliers{})
	require.Equal(t, siding.USD/5, before)
	require.Equal(t, siding.USD/10, after)

	for _, model := range []string{"claude-fable-5-2", "claude-mythos-5-2", "claude-haiku-9", "", "gpt"} {
		_, ok := p.Cost(model, u, november, Multipliers{})
		require.False(t, ok, "an unknown price is unpriced, never 0: %s", model)
		_, ok = p.Worst(model, 1, 1, november)
		require.False(t, ok, model)
	}
	require.Equal(t, siding.Money(math.MaxInt64), cost("claude-opus-5", siding.Usage{Output: math.MaxInt64}, Multipliers{USInference: true}), "no overflow")
	require.Zero(t, cost("claude-opus-5", siding.Usage{Input: -5}, Multipliers{}))
	require.Equal(t, siding.Money(12_500), PerMillion(0.0125))
}

func TestOwnPricesCountFirst(t *testing.T) {
	t.Parallel()
	own := append(Prices{{Model: "claude-haiku-4-5", Input: PerMillion(0.9)}, {Model: "claude-fable-5-2", Input: PerMillion(12)}}, DefaultPrices()...)
	got, ok := own.Cost("claude-haiku-4-5", siding.Usage{Input: 1_000_000}, november, Multipliers{})
	require.True(t, ok)
	require.Equal(t, 9*siding.USD/10, got)
	worst, ok := own.Worst("claude-haiku-4-5", 1_000_000, 0, november)
	require.True(t, ok)
	require.Equal(t, 99*siding.USD/100, worst, "and so does the reservation")
	_, ok = own.Cost("claude-fable-5-2", siding.Usage{}, november, Multipliers{})
	require.True(t, ok)
}

func TestTheWorstIsOfTheBandThatTheCallCanFallInto(t *testing.T) {
	t.Parallel()
	for input, price := range map[int64]siding.Money{0: 0, 1: PerMillion(0.10), 100_000: PerMillion(0.10), 100_001: PerMillion(0.50)} {
		worst, ok := DefaultPrices().Worst("claude-haiku-5-5", input, 0, november)
		require.True(t, ok)
		require.Equal(t, price*siding.Money(input)/10*11, worst, input)
	}
}

func TestACallNeverCostsMoreThanItsWorst(t *testing.T) {
	t.Parallel()
	p := DefaultPrices()
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.SampledFrom(p).Draw(t, "row").Model
		input := rapid.Int64Range(0, 1_500_000).Draw(t, "bound on input")
		output := rapid.Int64Range(0, 200_000).Draw(t, "limit of output")
		at := time.Date(2026, 10, 6, 12, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "at")))
		read := rapid.Int64Range(0, input).Draw(t, "read")
		u := siding.Usage{
			Input: rapid.Int64Range(0, input-read).Draw(t, "input"), CacheRead: read, Output: rapid.Int64Range(0, output).Draw(t, "output"),
		}
		m := Multipliers{Batch: rapid.Bool().Draw(t, "batch"), USInference: rapid.Bool().Draw(t, "us")}
		worst, ok := p.Worst(model, input, output, at)
		if !ok {
			t.Fatal("no price")
		}
		ended := at.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "took")))
		cost, _ := p.Cost(model, u, ended, m)
		if cost > worst {
			t.Fatalf("%s: costs %d, worst was %d", model, cost, worst)
		}
	})
}
