package claude

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/siding-dev/siding"
)

// PerMillion turns the published form of a price, USD per million tokens, into the exact amount for one token. Four
// decimals are kept: 0.0125 is exact.
func PerMillion(usd float64) siding.Money {
	return siding.Money(math.Round(usd*10_000)) * (siding.USD / 1_000_000 / 10_000)
}

// PriceRow is what one token of a model costs, from a day on, for prompts up to a size.
type PriceRow struct {
	// Model is a name with or without "claude-" and a date at the end.
	Model string
	// From is when the row begins to count; zero: always.
	From time.Time
	// MaxPrompt is the largest prompt the row is for, in tokens (fresh, written to the cache and read from it together);
	// the price holds for every token of the request. 0: any size.
	MaxPrompt int64
	// The prices of one token; see [PerMillion].
	Input, Output, CacheWrite5m, CacheWrite1h, CacheRead siding.Money
}

// Prices is a price list. The first row that fits counts, so that newer rows, smaller prompts and own prices go in
// front: append(own, claude.DefaultPrices()...).
type Prices []PriceRow

// Multipliers are surcharges and rebates on a whole call.
type Multipliers struct {
	Batch       bool // message batches: half
	USInference bool // inference kept in the United States: a tenth more
}

func row(model string, maxPrompt int64, from time.Time, input, output, write5m, write1h, read float64) PriceRow {
	return PriceRow{
		Model: model, From: from, MaxPrompt: maxPrompt, Input: PerMillion(input), Output: PerMillion(output),
		CacheWrite5m: PerMillion(write5m), CacheWrite1h: PerMillion(write1h), CacheRead: PerMillion(read),
	}
}

// DefaultPrices gives the published prices as of 24 November 2026. fable-5-2 and mythos-5-2 have none.
func DefaultPrices() Prices {
	var always time.Time
	cheaperReads := time.Date(2026, 10, 7, 0, 0, 0, 0, time.UTC)
	p := Prices{
		row("fable-5-1", 0, always, 10, 50, 12.5, 20, 0.25),
		row("opus-5-5", 0, always, 4, 20, 5, 8, 0.20),
		row("sonnet-5-5", 0, cheaperReads, 2, 10, 2.5, 4, 0.10),
		row("sonnet-5-5", 0, always, 2, 10, 2.5, 4, 0.20),
		row("sonnet-5", 0, always, 2, 10, 2.5, 4, 0.20),
		row("sonnet-4-5", 0, always, 3, 15, 3.75, 6, 0.30),
		row("sonnet-4-6", 0, always, 3, 15, 3.75, 6, 0.30),
		row("haiku-5-5", 100_000, always, 0.10, 0.50, 0.125, 0.20, 0.01),
		row("haiku-5-5", 0, always, 0.50, 2.50, 0.625, 1.00, 0.05),
		row("haiku-4-5", 0, always, 1, 5, 1.25, 2, 0.10),
	}
	for _, opus := range []string{"opus-5", "opus-4-5", "opus-4-6", "opus-4-7", "opus-4-8"} {
		p = append(p, row(opus, 0, always, 5, 25, 6.25, 10, 0.50))
	}
	return p
}

// Cost gives what a call costs that ran at the given time, exactly. false: no price is known, which is not the same as
// free. An amount too large for Money is the largest Money; negative counts of tokens count as none.
func (p Prices) Cost(model string, u siding.Usage, at time.Time, m Multipliers) (siding.Money, bool) {
	prompt := satAdd(satAdd(u.Input, u.CacheRead), satAdd(u.CacheWrite5m, u.CacheWrite1h))
	name := bareModel(model)
	for _, r := range p {
		if r.fits(name, at) && (r.MaxPrompt == 0 || prompt <= r.MaxPrompt) {
			return r.cost(u, m), true
		}
	}
	return 0, false
}

// Worst gives the most that a call can cost which begins at the given time and has at most so many tokens of input and
// output: the dearest row that the call could fall under, with the surcharge for inference in the United States.
func (p Prices) Worst(model string, input, output int64, at time.Time) (siding.Money, bool) {
	name := bareModel(model)
	var worst siding.Money
	// A day on both sides, for a clock that differs from the service's and a call that takes long.
	found, below, begin, end := false, int64(-1), at.Add(-24*time.Hour), at.Add(24*time.Hour)
	for _, r := range p {
		if bareModel(r.Model) != name || r.From.After(end) {
			continue
		}
		if input > below {
			u := siding.Usage{Input: max(input, 0), Output: max(output, 0)}
			worst, found = max(worst, r.cost(u, Multipliers{USInference: true})), true
		}
		if r.From.After(begin) {
			continue // perhaps not in force yet: the rows behind it may count
		}
		if r.MaxPrompt == 0 || input <= r.MaxPrompt {
			break // whatever the prompt turns out to be, no row behind this one counts
		}
		below = max(below, r.MaxPrompt)
	}
	return worst, found
}

func (r PriceRow) fits(bare string, at time.Time) bool {
	return bareModel(r.Model) == bare && !at.Before(r.From)
}

func (r PriceRow) cost(u siding.Usage, m Multipliers) siding.Money {
	sum := times(u.Input, r.Input).Add(times(u.Output, r.Output)).Add(times(u.CacheWrite5m, r.CacheWrite5m)).
		Add(times(u.CacheWrite1h, r.CacheWrite1h)).Add(times(u.CacheRead, r.CacheRead))
	// Rounded up, so that what is reported is never under the bill by a fraction that Money cannot hold.
	if m.Batch {
		sum = sum/2 + sum%2
	}
	if m.USInference {
		sum = sum.Add(sum/10 + (sum%10+9)/10)
	}
	return sum
}

func (p Prices) validate() error {
	for i, r := range p {
		if bareModel(r.Model) == "" {
			return fmt.Errorf("row %d names no model", i+1)
		}
		if r.MaxPrompt < 0 || min(r.Input, r.Output, r.CacheWrite5m, r.CacheWrite1h, r.CacheRead) < 0 {
			return fmt.Errorf("row %d (%s) has a negative number", i+1, siding.Scrub(r.Model, 64))
		}
	}
	return nil
}

// times multiplies without wrapping round.
func times(tokens int64, price siding.Money) siding.Money {
	if tokens <= 0 || price <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return siding.Money(lo)
}

// satAdd adds counts of tokens; negative ones count as none.
func satAdd(a, b int64) int64 {
	return int64(siding.Money(max(a, 0)).Add(siding.Money(max(b, 0))))
}
