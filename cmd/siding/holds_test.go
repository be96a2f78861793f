package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/siding-dev/siding/worker"
)

func TestHowLongAHoldIsWaitedFor(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	w := waitFlag{given: new(bool)}
	for kind, want := range map[siding.HoldKind]time.Duration{
		siding.HoldOutage: math.MaxInt64, siding.HoldFault: 0, siding.HoldSystemic: 0, siding.HoldBudget: 0, siding.HoldManual: 0,
	} {
		require.Equal(t, want, w.forHold(siding.Hold{Kind: kind}), kind)
	}
	require.Equal(t, 24*time.Hour, w.forHold(siding.Hold{Kind: siding.HoldFault, Until: later}))
	*w.given, w.d = true, time.Minute
	for _, h := range []siding.Hold{{Kind: siding.HoldOutage}, {Kind: siding.HoldManual}, {Kind: siding.HoldFault, Until: later}} {
		require.Equal(t, time.Minute, w.forHold(h))
	}
	require.NoError(t, w.check())
	w.d = -1
	require.Equal(t, exitUsage, exitCode(w.check()))
}

// holding makes a store with gates that are held by hand.
func holding(t *testing.T, keys ...siding.GateKey) *program {
	t.Helper()
	p := newProgram(t)
	store, err := sqlite.Open(t.Context(), p.file("siding.db"), sqlite.Options{})
	require.NoError(t, err)
	for _, k := range keys {
		require.NoError(t, store.HoldGate(t.Context(), k, "looking at \x1b[2J it", "ann"))
	}
	require.NoError(t, store.Close())
	return p
}

func TestHoldsAreListedMadeAndEnded(t *testing.T) {
	t.Parallel()
	account := siding.GateKey{Scope: siding.ScopeAccount, Name: "claude/1f2e3d4c"}
	lane := siding.GateKey{Scope: siding.ScopeLane, Name: "claude/claude-haiku-4-5@1f2e3d4c"}
	other := siding.GateKey{Scope: siding.ScopeLane, Name: "claude/claude-opus-4-8@1f2e3d4c"}
	p := holding(t, account, lane, other)

	for _, args := range [][]string{{"holds", "--json"}, {"holds", "list", "--json"}, {"status", "--json"}} {
		lines := objects(t, p.ok(t, args...))
		require.Len(t, lines, 3)
		require.Equal(t, "hold", lines[0]["type"])
		require.Equal(t, "account", lines[0]["scope"])
		require.Equal(t, "claude/1f2e3d4c", lines[0]["name"])
		require.Equal(t, "manual", lines[0]["kind"])
		require.Equal(t, `looking at \x1b[2J it`, lines[0]["text"])
		require.Equal(t, "ann", lines[0]["by"])
		require.NotNil(t, lines[0]["since"])
		for _, null := range []string{"until", "next_probe", "throttled_until"} {
			require.Contains(t, lines[0], null)
			require.Nil(t, lines[0][null])
		}
	}
	text := p.ok(t, "holds")
	require.Contains(t, text, "lane:claude/claude-haiku-4-5@1f2e3d4c")
	require.NotContains(t, text, "\x1b")
	require.Contains(t, p.ok(t, "status"), "held or at rest")

	for _, args := range [][]string{
		{"holds", "resume"}, {"holds", "resume", "--all", "account:"}, {"holds", "resume", "lane:"}, {"holds", "resume", "--all", "--as-poison"},
		{"holds", "resume", "account:", "--as-poison"}, {"holds", "nope"}, {"holds", "resume", ""}, {"holds", "hold", "", "--reason", "x"}, {"holds", "hold", "lane:x"}, {"holds", "hold", "nothing", "--reason", "x"},
	} {
		code, _ := p.run(t, "", args...)
		require.Equal(t, exitUsage, code, args)
	}
	code, _ := p.run(t, "", "holds", "resume", "recipe:x")
	require.Equal(t, exitError, code)
	require.Len(t, objects(t, p.ok(t, "holds", "--json")), 3, "and none of these did anything")

	p.ok(t, "holds", "resume", "lane:claude/claude-h")
	require.Contains(t, p.stderr.String(), "lane:claude/claude-haiku-4-5@1f2e3d4c is held no longer")
	made := objects(t, p.ok(t, "holds", "hold", "recipe:tags@0011", "--reason", "wait a moment", "--json"))
	require.Equal(t, "recipe", made[0]["scope"])
	require.Contains(t, p.stderr.String(), "nothing has been heard of recipe:tags@0011")
	ended := objects(t, p.ok(t, "holds", "resume", "--all", "--json"))
	require.Len(t, ended, 3)
	require.Equal(t, "resumed", ended[0]["type"])
	require.Empty(t, p.ok(t, "holds", "--json"))
	require.Empty(t, p.ok(t, "holds"))
	p.ok(t, "holds", "resume", "--all")
	require.Contains(t, p.stderr.String(), "nothing is held")
}

func TestWhatAHoldSays(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	say := func(key siding.GateKey, h siding.Hold) string {
		p := newProgram(t)
		p.app.env["SIDING_STORE"] = "x y.db"
		if h.Since.IsZero() {
			h.Since = since
		}
		p.app.sayHeld(&worker.HeldError{Holds: []siding.Gate{{Key: key, Hold: &h}}}, "x y.db")
		require.Contains(t, p.stderr.String(), "the same command goes on")
		return p.stderr.String()
	}
	account := siding.GateKey{Scope: siding.ScopeAccount, Name: "claude/1f2e3d4c"}
	recipe := siding.GateKey{Scope: siding.ScopeRecipe, Name: "tags@0011"}
	text := say(account, siding.Hold{Kind: siding.HoldFault, Cause: siding.CauseCredentials, Text: "401: invalid \x1b[1m key."})
	require.Contains(t, text, `held: the account claude/1f2e3d4c is at fault, not the messages (credentials): 401: invalid \x1b[1m key.`)
	require.Contains(t, text, "since 2026-12-01T10:00:00Z")
	require.Contains(t, text, "Set a valid ANTHROPIC_API_KEY")
	require.NotContains(t, text, "resume", "the next start finds out by itself")
	text = say(account, siding.Hold{Kind: siding.HoldFault, Cause: siding.CauseAccount, Until: since.AddDate(0, 1, 0)})
	require.Contains(t, text, "it ends at 2027-01-01T10:00:00Z")
	require.Contains(t, text, "siding holds resume account:claude/1f2e3d4c")
	require.Contains(t, say(recipe, siding.Hold{Kind: siding.HoldManual, Text: "look", By: "ann"}), "held by hand: look. (ann)")
	require.Contains(t, say(recipe, siding.Hold{Kind: siding.HoldSystemic, Cause: siding.CauseRefused}), "siding holds resume recipe:tags@0011 --as-poison")
	require.Contains(t, say(recipe, siding.Hold{Kind: siding.HoldBudget, Cause: siding.CauseBudget}), "Raise budget.usd")
}
