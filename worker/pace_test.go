package worker

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func requests(limit, remaining int64) *siding.RateLimits {
	return &siding.RateLimits{Requests: siding.RateLimit{Limit: limit, Remaining: remaining}}
}

func TestNothingIsPacedBeforeALimitIsTold(t *testing.T) {
	t.Parallel()
	var p pacing
	p.start(0)
	p.answered(time.Second, 0, 1, nil)
	p.answered(time.Second, 0, 1, &siding.RateLimits{})
	require.Equal(t, 1000, p.room(time.Second, 1000))
	require.Equal(t, time.Second, p.due(time.Second))
	require.False(t, p.refused(time.Second, 0), "there is no share to lower")
}

func TestAnEmptyBucketIsWaitedForAndGivesOneAtATime(t *testing.T) {
	t.Parallel()
	var p pacing
	n := p.start(0)
	p.answered(0, 0, n, requests(60, 0)) // one a second
	require.Zero(t, p.room(0, 8))
	due := p.due(0)
	require.InDelta(t, 1.0, due.Seconds(), 0.2)
	require.Equal(t, 1, p.room(due, 8))
	p.start(due)
	require.Zero(t, p.room(due, 8))
	require.InDelta(t, 1.0, (p.due(due) - due).Seconds(), 0.01)
}

func TestCallsInFlightAreCounted(t *testing.T) {
	t.Parallel()
	var p pacing
	first := p.start(0)
	for range 9 {
		p.start(0)
	}
	p.answered(0, 0, first, requests(600, 100))
	require.InDelta(t, 90, p.room(0, 1000), 2)
}

func TestTokensArePacedByWhatCallsHaveTaken(t *testing.T) {
	t.Parallel()
	var p pacing
	n := p.start(0)
	tokens := func(remaining int64) *siding.RateLimits {
		return &siding.RateLimits{InputTokens: siding.RateLimit{Limit: 60_000, Remaining: remaining}}
	}
	p.answered(0, 0, n, tokens(58_000)) // 2,000 each
	require.InDelta(t, 28, p.room(0, 1000), 1)
	remaining := int64(58_000)
	for range 40 { // in truth 500 each, one after the other
		n = p.start(0)
		remaining -= 500
		p.answered(0, 0, n, tokens(remaining))
	}
	require.InDelta(t, 500, p.limits[1].price(), 100)
}

func TestACallLargerThanTheLimitIsTried(t *testing.T) {
	t.Parallel()
	var p pacing
	n := p.start(0)
	p.answered(0, 0, n, &siding.RateLimits{InputTokens: siding.RateLimit{Limit: 1000, Remaining: 0}})
	due := p.due(0)
	require.LessOrEqual(t, due, 2*time.Minute)
	require.Equal(t, 1, p.room(due, 8))
}

func TestARefusalLowersTheOwnShareForAWhile(t *testing.T) {
	t.Parallel()
	var p pacing
	n := p.start(0)
	p.answered(0, 0, n, requests(6000, 5000))
	require.True(t, p.refused(time.Second, 500*time.Millisecond))
	require.InDelta(t, 0.8, p.share(time.Second), 1e-9)
	require.True(t, p.refused(time.Second, 500*time.Millisecond))
	require.InDelta(t, 0.8, p.share(time.Second), 1e-9, "it began before the first was known")
	begun := 0
	for now := time.Second; now < 2*time.Second; now = max(p.due(now), now+1) {
		for range p.room(now, 1000) {
			p.start(now)
			begun++
		}
	}
	require.InDelta(t, 80, begun, 3)
	require.InDelta(t, 1.0, p.share(22*time.Second), 1e-9)
	for range 100 {
		p.refused(time.Hour, time.Hour)
	}
	require.InDelta(t, shareLeast, p.share(time.Hour), 1e-9)
}

// Whatever a service tells: it can never stop the work for long, and never makes it spin.
func TestNothingThatIsToldStopsTheWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p pacing
		now := time.Duration(0)
		numbers := []int64{p.start(0)}
		for range rapid.IntRange(1, 40).Draw(t, "answers") {
			told := &siding.RateLimits{}
			for _, l := range []*siding.RateLimit{&told.Requests, &told.InputTokens, &told.OutputTokens} {
				any64 := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1, 100))
				l.Limit, l.Remaining = any64.Draw(t, "limit"), any64.Draw(t, "remaining")
			}
			began := time.Duration(rapid.Int64Range(0, int64(now)).Draw(t, "began"))
			p.answered(now, began, rapid.SampledFrom(numbers).Draw(t, "number"), told)
			if rapid.Bool().Draw(t, "refused") {
				p.refused(now, began)
			}
			for range rapid.IntRange(0, 5).Draw(t, "starts") {
				numbers = append(numbers, p.start(now))
			}
			now += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "passes"))
		}
		steps := 0
		begin := now
		for due := p.due(now); due > now; due = p.due(now) {
			now = due
			if steps++; steps > 5 {
				t.Fatalf("armed again and again: %v", due-begin)
			}
		}
		if now-begin > 15*time.Minute {
			t.Fatalf("waits for %v", now-begin)
		}
		if p.room(now, 10) < 1 {
			t.Fatal("it is due, and there is no room")
		}
		for _, b := range p.limits {
			if math.IsNaN(b.level) || math.IsNaN(b.cost) {
				t.Fatal("not a number")
			}
		}
	})
}

func TestTheWindowOpensAndCloses(t *testing.T) {
	t.Parallel()
	none := func(int64) int { return 0 }
	w := newWindow(Config{Concurrency: 64, Gates: everything})
	require.Equal(t, 8, w.room(64, none), "small in the beginning")
	for i := range int64(3) {
		w.served(i + 1)
	}
	require.Equal(t, 64, w.room(64, none), "doubled three times")

	w.rest(10)
	w.served(10)
	require.Equal(t, 1, w.room(64, none), "what began before the rest says nothing")
	require.Equal(t, 0, w.room(64, func(above int64) int {
		require.EqualValues(t, 10, above)
		return 1
	}))
	for i := range int64(6) {
		w.served(11 + i)
	}
	require.Equal(t, 64, w.room(64, none))

	w.refused(20, 50)
	w.rest(30)
	w.refused(25, 10) // from before the rest
	for i := range int64(6) {
		w.served(31 + i)
	}
	require.Equal(t, 35, w.room(64, none), "up to seven tenths of what was in flight")
	for i := range int64(36) {
		w.served(40 + i)
	}
	require.Equal(t, 36, w.room(64, none), "and then by one for a whole window")
}

func TestWithoutALaneTheWindowIsOpen(t *testing.T) {
	t.Parallel()
	w := newWindow(Config{Concurrency: 64})
	w.rest(3)
	w.refused(5, 2)
	require.Equal(t, 64, w.room(64, nil))
}
