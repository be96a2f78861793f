package main

import "math/rand/v2"

// dice are random choices that are the same on every machine and with every version of Go: the generator's numbers are
// specified, and what is made of them is decided here.
type dice struct{ src *rand.PCG }

func newDice(seed uint64) *dice { return &dice{rand.NewPCG(seed, 0x51d119)} }

// below gives a number in [0, n).
func (d *dice) below(n int) int {
	return int(d.src.Uint64() % uint64(n))
}

// chance is true in one of n cases.
func (d *dice) chance(n int) bool { return d.below(n) == 0 }

func pick[T any](d *dice, from []T) T { return from[d.below(len(from))] }

// some gives n different elements, or all when there are fewer.
func some[T any](d *dice, from []T, n int) []T {
	rest := append([]T(nil), from...)
	var out []T
	for len(out) < n && len(rest) > 0 {
		i := d.below(len(rest))
		out = append(out, rest[i])
		rest = append(rest[:i], rest[i+1:]...)
	}
	return out
}
