package claudesim

import (
	"strings"
	"time"
)

// Pico is the unit of money here: 10^-12 USD. One USD per million tokens is 1,000,000 pico a token, so that every
// price in the table is a whole number.
const picoPerToken = 1_000_000

// A price holds pico USD per token.
type price struct{ input, output, write5m, write1h, read int64 }

// usd makes a price from the published figures, USD per million tokens, given in hundredths of a cent (1 USD = 10,000).
func usd(input, output, write5m, write1h, read int64) price {
	const unit = picoPerToken / 10_000
	return price{input * unit, output * unit, write5m * unit, write1h * unit, read * unit}
}

// A priceRow is a price for one model, from a day on, for prompts up to a size.
type priceRow struct {
	model string
	from  time.Time // zero: always
	upTo  int64     // total input tokens; 0: any number
	price price
}

// priceRows: the first row that fits counts.
var priceRows = []priceRow{
	{model: "fable-5-1", price: usd(100_000, 500_000, 125_000, 200_000, 2_500)},
	{model: "opus-5-5", price: usd(40_000, 200_000, 50_000, 80_000, 2_000)},
	{model: "opus-5", price: usd(50_000, 250_000, 62_500, 100_000, 5_000)},
	{model: "opus-4-5", price: usd(50_000, 250_000, 62_500, 100_000, 5_000)},
	{model: "opus-4-6", price: usd(50_000, 250_000, 62_500, 100_000, 5_000)},
	{model: "opus-4-7", price: usd(50_000, 250_000, 62_500, 100_000, 5_000)},
	{model: "opus-4-8", price: usd(50_000, 250_000, 62_500, 100_000, 5_000)},
	{model: "sonnet-5-5", from: time.Date(2026, 10, 7, 0, 0, 0, 0, time.UTC), price: usd(20_000, 100_000, 25_000, 40_000, 1_000)},
	{model: "sonnet-5-5", price: usd(20_000, 100_000, 25_000, 40_000, 2_000)},
	{model: "sonnet-5", price: usd(20_000, 100_000, 25_000, 40_000, 2_000)},
	{model: "sonnet-4-5", price: usd(30_000, 150_000, 37_500, 60_000, 3_000)},
	{model: "sonnet-4-6", price: usd(30_000, 150_000, 37_500, 60_000, 3_000)},
	{model: "haiku-5-5", upTo: 100_000, price: usd(1_000, 5_000, 1_250, 2_000, 100)},
	{model: "haiku-5-5", price: usd(5_000, 25_000, 6_250, 10_000, 500)},
	{model: "haiku-4-5", price: usd(10_000, 50_000, 12_500, 20_000, 1_000)},
}

// Usage counts the tokens of one call or of many.
type Usage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheWrite5m int64 `json:"cache_write_5m_tokens"`
	CacheWrite1h int64 `json:"cache_write_1h_tokens"`
	CacheRead    int64 `json:"cache_read_tokens"`
}

// TotalInput is everything that was read: fresh, written to the cache, and read from it.
func (u Usage) TotalInput() int64 { return u.Input + u.CacheWrite5m + u.CacheWrite1h + u.CacheRead }

func (u *Usage) add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheWrite5m += v.CacheWrite5m
	u.CacheWrite1h += v.CacheWrite1h
	u.CacheRead += v.CacheRead
}

// cost prices a call in 10^-12 USD. ok is false for a model without a known price: such a call is unpriced, not free.
// usInference is the surcharge of a tenth for inference kept in the United States.
func cost(m Model, u Usage, at time.Time, usInference bool) (pico int64, ok bool) {
	name := strings.TrimPrefix(m.ID, "claude-")
	for _, row := range priceRows {
		if row.model != name || at.Before(row.from) || (row.upTo > 0 && u.TotalInput() > row.upTo) {
			continue
		}
		p := row.price
		pico = u.Input*p.input + u.Output*p.output + u.CacheWrite5m*p.write5m + u.CacheWrite1h*p.write1h + u.CacheRead*p.read
		if usInference {
			pico = pico / 10 * 11 // every price is a multiple of ten pico, so nothing is lost
		}
		return pico, true
	}
	return 0, false
}
