package worker

import (
	"flag"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The simulation runs whole histories of the engine in virtual time, each from one number: workers (the real core), the
// real Claude handler and its journal, a store in memory behind a seam that fails, the simulated service with its faults,
// processes that die at any write, an operator who meddles, a clock that jumps. After every write a small model
// (sim_ledger_test.go) says whether what changed is allowed by the rules, and at the end it does the accounts: every
// message and every cent.
//
// A history that breaks a rule prints its number; the same number gives the same history:
//
//	go test ./worker -run TestSimulation -args -sim.seed 1234
//
// With -sim.shrink the number of things that happen is reduced to the smallest that still breaks the rule.
var (
	simSeed   = flag.Uint64("sim.seed", 0, "run this one history, and print it")
	simCount  = flag.Int("sim.histories", 0, "how many histories to run; 0: 400, or 20 under the race detector")
	simFirst  = flag.Uint64("sim.first", 1, "number of the first history")
	simShrink = flag.Bool("sim.shrink", false, "shrink the history of -sim.seed")
)

func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		one(t, *simSeed)
		return
	}
	t.Parallel()
	histories := *simCount
	if histories == 0 {
		histories = 400 / simShare
	}
	var next atomic.Uint64
	next.Store(*simFirst)
	end := *simFirst + uint64(histories)
	var total simCover
	covers := make(chan simCover, 4)
	for range cap(covers) {
		go func() {
			var sum simCover
			for seed := next.Add(1) - 1; seed < end && !t.Failed(); seed = next.Add(1) - 1 {
				h := newHistory(seed, simAll)
				h.run(t)
				sum.add(h.cover)
				if h.broken != "" {
					t.Errorf("history %d: %.1200s\n(go test ./worker -run TestSimulation -args -sim.seed %d)", seed, h.broken, seed)
				}
			}
			covers <- sum
		}()
	}
	for range cap(covers) {
		total.add(<-covers)
	}
	t.Log(total.String())
	if !t.Failed() && histories >= 200 {
		total.demand(t)
	}
}

// The same number gives the same history, to the byte of what it prints.
func TestASimulatedHistoryRepeats(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 20/simShare+1; seed++ {
		a, b := newHistory(seed, simAll), newHistory(seed, simAll)
		a.run(t)
		b.run(t)
		if a.hash() != b.hash() {
			x, y := a.lines, b.lines
			for i := range min(len(x), len(y)) {
				if x[i] != y[i] {
					t.Fatalf("history %d differs at line %d:\n%s\n%s", seed, i, x[i], y[i])
				}
			}
			t.Fatalf("history %d has %d lines, and then %d", seed, len(x), len(y))
		}
	}
}

func one(t *testing.T, seed uint64) {
	t.Helper()
	acts := simAll
	if *simShrink {
		acts = shrink(t, seed)
	}
	h := newHistory(seed, acts)
	h.run(t)
	for _, line := range h.lines {
		fmt.Println(line)
	}
	if h.broken != "" {
		t.Fatalf("history %d: %s", seed, h.broken)
	}
}

// simAll allows every disturbance.
const simAll = 1 << 30

// shrink gives the least number of disturbances, counted from the beginning, with which the history still breaks a rule.
func shrink(t *testing.T, seed uint64) int {
	t.Helper()
	h := newHistory(seed, simAll)
	h.run(t)
	if h.broken == "" {
		t.Logf("history %d breaks nothing", seed)
		return simAll
	}
	low, high := -1, h.acts // with low it holds, as far as we know, and with high it breaks
	for high-low > 1 {
		mid := (low + high) / 2
		g := newHistory(seed, mid)
		if g.run(t); g.broken != "" {
			high = mid
		} else {
			low = mid
		}
	}
	t.Logf("history %d breaks with the first %d of %d disturbances", seed, high, h.acts)
	return high
}

// run carries the history out in a bubble of its own, where time is virtual.
func (h *history) run(t *testing.T) {
	t.Helper()
	// A bubble needs a test; subtests of one name each would make a log of a million lines.
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != nil {
				h.breaks("panic: %v\n%s", p, debug.Stack())
			}
		}()
		h.start, h.poke = time.Now(), make(chan struct{}, 1) // of this bubble
		h.begin()
		h.loop()
		h.finish()
		h.release()
	})
}
