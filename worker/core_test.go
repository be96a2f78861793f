package worker

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

// The checks are in the world: never more in flight than slots, a delivery is handed over once (twice where its batch
// failed) and settled until the store has it and never after, nothing while stopping, nothing after the end, never
// stuck, never spinning.
func TestCoreKeepsItsRulesWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, true)
		w.step()
		for range rapid.IntRange(0, 120).Draw(t, "acts") {
			if w.finished {
				break
			}
			w.act()
		}
	})
}

func TestCoreAlwaysFinishesWhenItIsStopped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, true)
		w.step()
		for range rapid.IntRange(0, 60).Draw(t, "acts") {
			if !w.finished {
				w.act()
			}
		}
		stop := rapid.SampledFrom([]news{newsStop{}, newsStopNow{}}).Draw(t, "stop")
		limit := w.cfg.Grace + 2*w.cfg.SettleTimeout
		if _, ok := stop.(newsStopNow); ok {
			limit = hastyEnd
		}
		w.step(stop)
		begin := w.now
		responsive := rapid.Bool().Draw(t, "responsive") // or else nothing answers any more
		for n := 0; !w.finished; n++ {
			if responsive && n < 500 {
				w.act()
				continue
			}
			if w.timer == forever {
				t.Fatal("waits for an answer without a limit")
			}
			w.now, w.timer = w.timer, forever
			w.step(newsTime{})
		}
		if took := w.now - begin; took > limit {
			t.Fatalf("stopping took %v, more than %v", took, limit)
		}
	})
}

// With a store that answers and handlers that return, every delivery that was handed over is settled exactly once.
func TestCoreSettlesEveryDeliveryThatItHandedOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, false)
		w.step()
		for range rapid.IntRange(0, 80).Draw(t, "acts") {
			if !w.finished {
				w.act()
			}
		}
		w.step(newsStop{})
		for !w.finished {
			switch {
			case w.lease != nil:
				w.lease = nil
				w.step(newsLeased{})
			case len(w.running) > 0:
				w.endCall()
			case w.settle != nil:
				settled := make([]siding.Settled, len(w.settle.settlements))
				for _, s := range w.settle.settlements {
					delete(w.open, s.Token)
				}
				w.settle = nil
				w.step(newsSettled{settled: settled})
			default:
				w.now, w.timer = w.timer, forever
				w.step(newsTime{})
			}
		}
		if len(w.open) > 0 {
			t.Fatalf("%d deliveries are left", len(w.open))
		}
	})
}

func TestCoreGivesTheSameCommandsForTheSameSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (out []command) {
		cfg, err := Config{Queue: "q", Name: "w", Handler: siding.HandlerFunc(nil), Concurrency: 2}.withDefaults()
		require.NoError(t, err)
		c := newCore(cfg, seed)
		out = append(out, c.step(0)...)
		out = append(out, c.step(1, newsLeased{leased: siding.Leased{Deliveries: []*siding.Delivery{
			{Token: siding.LeaseToken{Message: 1, Nonce: 1}}, {Token: siding.LeaseToken{Message: 2, Nonce: 1}},
		}}})...)
		failure := &siding.Failure{Outcome: siding.OutcomeTransient}
		out = append(out, c.step(2, newsEnded{call: 2, items: make([]itemEnd, 1), failure: failure},
			newsEnded{call: 1, items: make([]itemEnd, 1)})...)
		return append(out, c.step(3, newsSettled{err: errors.New("gone")})...)
	}
	require.Equal(t, run(7), run(7))
	require.NotEqual(t, run(7), run(8))
}

// loaded gives a core with two slots and two running messages, at time 1.
func loaded(t *testing.T) *core {
	t.Helper()
	cfg, err := Config{Queue: "q", Name: "w", Handler: siding.HandlerFunc(nil), Concurrency: 2, Drain: true}.withDefaults()
	require.NoError(t, err)
	c := newCore(cfg, 1)
	c.step(0)
	c.step(1, newsLeased{leased: siding.Leased{Deliveries: []*siding.Delivery{
		{Token: siding.LeaseToken{Message: 1, Nonce: 1}}, {Token: siding.LeaseToken{Message: 2, Nonce: 1}},
	}}})
	return c
}

func find[C command](out []command) (found []C) {
	for _, cmd := range out {
		if cmd, ok := cmd.(C); ok {
			found = append(found, cmd)
		}
	}
	return found
}

func TestCoreSettlesWhatEndedTogetherInOneWrite(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	out := c.step(2, newsEnded{call: 1, items: make([]itemEnd, 1)}, newsEnded{call: 2, items: make([]itemEnd, 1)})
	require.Len(t, find[cmdSettle](out), 1)
	require.Len(t, find[cmdSettle](out)[0].settlements, 2)
}

func TestCoreAsksAgainAtOnceWhenSomethingHappenedMeanwhile(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	c.step(2, newsEnded{call: 1, items: make([]itemEnd, 1)})
	require.Len(t, find[cmdLease](c.step(3, newsSettled{settled: make([]siding.Settled, 1)})), 1)
	require.Empty(t, find[cmdLease](c.step(4, newsWake{})), "one at a time")
	require.Len(t, find[cmdLease](c.step(5, newsLeased{})), 1, "the answer does not know what woke it")
	require.Empty(t, find[cmdLease](c.step(6, newsLeased{})), "this one does")
}

// The settlement under way may be what made the lease stale: it knows, the extension does not.
func TestCoreDoesNotTakeASettledMessageForALostOne(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	third := c.cfg.Lease / 3
	require.Len(t, find[cmdExtend](c.step(third, newsTime{})), 1)
	require.Len(t, find[cmdSettle](c.step(third+1, newsEnded{call: 1, items: make([]itemEnd, 1)})), 1)
	out := c.step(third+2, newsExtended{errs: []error{siding.ErrStaleLease, nil}})
	for _, told := range find[cmdNotify](out) {
		_, lost := told.event.(Lost)
		require.False(t, lost)
	}
	out = c.step(third+3, newsSettled{settled: make([]siding.Settled, 1)})
	require.IsType(t, Settled{}, find[cmdNotify](out)[0].event)
}

func TestCoreEndsWithTheFirstFault(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	held := &siding.Failure{Outcome: siding.OutcomeHeld, Scope: siding.ScopeAccount}
	c.step(2, newsEnded{call: 1, items: make([]itemEnd, 1), failure: held})
	c.step(3, newsSettled{err: siding.ErrClosed})
	end := find[cmdFinish](c.step(4, newsEnded{call: 2, items: make([]itemEnd, 1)}))
	require.Len(t, end, 1)
	require.ErrorIs(t, end[0].err, error(held))
	require.NotErrorIs(t, end[0].err, siding.ErrClosed)
	require.ErrorContains(t, end[0].err, "2 outcomes could not be written")
}

func TestRetriesHaveAQuarterOfTheSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ slots, retries, untried, want int }{
		{8, 0, 0, 2}, {8, 1, 0, 1}, {8, 2, 0, 0}, {8, 5, 0, 0}, {100, 10, 0, 15}, {4, 0, 0, 1}, {5, 0, 0, 1},
		{1, 0, 0, 0}, {1, 0, 2, 0}, {1, 0, 3, 1}, {3, 1, 3, 1},
	} {
		cfg, err := Config{Queue: "q", Handler: siding.HandlerFunc(nil), Concurrency: test.slots}.withDefaults()
		require.NoError(t, err)
		c := newCore(cfg, 1)
		c.retries, c.lease.untried = test.retries, test.untried
		require.Equal(t, test.want, c.maxRetries(test.slots), "%+v", test)
	}
}

// The core can be replayed because it knows no clock, starts nothing, and depends on nobody's order.
func TestCoreHasNoClockNoGoroutineAndNoIO(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("core*.go")
	require.NoError(t, err)
	files = append(files, "pace.go", "bucket.go", "adapt.go")
	allowed := map[string]bool{
		`"cmp"`: true, `"errors"`: true, `"fmt"`: true, `"maps"`: true, `"math"`: true, `"math/rand/v2"`: true, `"slices"`: true,
		`"time"`: true, `"github.com/siding-dev/siding"`: true,
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, i := range file.Imports {
			require.True(t, allowed[i.Path.Value], "%s imports %s", name, i.Path.Value)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				require.Fail(t, "a goroutine or a channel", "%s: %T", name, n)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" {
					require.NotContains(t, []string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "Tick"}, n.Sel.Name, name)
				}
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "rand" {
					require.Contains(t, []string{"New", "NewPCG", "Rand"}, n.Sel.Name, name)
				}
			}
			return true
		})
	}
	require.Greater(t, seen, 5)
}

func TestTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	require.Equal(t, forever, after(time.Second, forever))
	require.Equal(t, 3*time.Second, after(time.Second, 2*time.Second))
}
