package siding

import (
	"fmt"
	"math"
)

// Money is an amount in 10⁻¹² USD. A whole number, so that sums are exact; it holds up to nine million dollars.
type Money int64

// USD is one dollar.
const USD Money = 1_000_000_000_000

// String writes the amount in dollars with six decimals, rounded half away from zero.
func (m Money) String() string { return fmt.Sprintf("$%.6f", m.Dollars()) }

// Dollars gives the amount as a float, for showing only: sums are made of Money.
func (m Money) Dollars() float64 { return float64(m) / float64(USD) }

// Add gives m + n, and the largest Money where that would overflow: an amount that is too high holds a budget, one that
// wrapped round would not. It never panics.
func (m Money) Add(n Money) Money {
	switch {
	case n > 0 && m > math.MaxInt64-n:
		return math.MaxInt64
	case n < 0 && m < math.MinInt64-n:
		return math.MinInt64
	}
	return m + n
}
