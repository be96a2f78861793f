package claude

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/memory"
)

func TestTheAccountIsNamedAndTheKeyIsNotTold(t *testing.T) {
	t.Parallel()
	gates := func(change func(*Config)) siding.GateKeys {
		c := config(nil, nil)
		c.StoreID = "store-1"
		change(&c)
		return newHandler(t, c).Gates()
	}
	same := func(*Config) {}
	one := gates(same)
	require.Regexp(t, `^account:claude/[0-9a-f]{8}$`, one.Account.String())
	require.Regexp(t, `^lane:claude/claude-haiku-4-5@[0-9a-f]{8}$`, one.Lane.String())
	require.Equal(t, one.Account.Name[len("claude/"):], one.Lane.Name[len("claude/claude-haiku-4-5@"):])
	require.Empty(t, one.Recipe.Name, "what a recipe is, the handler does not know")
	require.Equal(t, one, gates(same))
	require.Equal(t, one, gates(func(c *Config) { c.BaseURL += "/" }))
	require.NotContains(t, one.Account.Name, "sk-test-key")

	other := gates(func(c *Config) { c.Model = "claude-opus-4-8" })
	require.Equal(t, one.Account, other.Account, "another model is another lane of the same account")
	require.NotEqual(t, one.Lane, other.Lane)
	for name, change := range map[string]func(*Config){
		"key": func(c *Config) { c.APIKey = "sk-other" }, "address": func(c *Config) { c.BaseURL = "http://other.test" },
		"store": func(c *Config) { c.StoreID = "store-2" },
	} {
		require.NotEqual(t, one.Account, gates(change).Account, "another %s is another account", name)
	}

	nameless := gates(func(c *Config) { c.StoreID = "" })
	require.Empty(t, nameless.Account.Name)
	require.Equal(t, "claude/claude-haiku-4-5", nameless.Lane.Name)
}

func TestLimitsAreToldWithAnswersAndWithErrors(t *testing.T) {
	t.Parallel()
	profile := &claudesim.Profile{
		Limits: claudesim.Limits{Requests: perMinute(t, "50/min"), InputTokens: perMinute(t, "10000/min")},
		Faults: []claudesim.Rule{once(claudesim.Do{Fault: "error", ID: "529"})},
	}
	s, err := claudesim.New(profile, claudesim.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	j := newJournal()
	h := newHandler(t, config(j, s.Client()))
	res, f := deliver(t, h, j, delivery("a", `{"title":"x"}`))
	require.NotNil(t, f)
	require.Equal(t, siding.CauseOverloaded, f.Cause)
	require.False(t, res.NoCall)
	for range 2 {
		res, f = deliver(t, h, j, delivery("a", `{"title":"x"}`))
		require.Nil(t, f)
		if res.NoCall {
			require.Nil(t, res.Limits, "nothing was asked")
			continue
		}
		require.NotNil(t, res.Limits)
		require.EqualValues(t, 50, res.Limits.Requests.Limit)
		require.Positive(t, res.Limits.Requests.Remaining)
		require.EqualValues(t, 10_000, res.Limits.InputTokens.Limit)
		require.False(t, res.Limits.InputTokens.Reset.IsZero())
		require.Zero(t, res.Limits.OutputTokens.Limit, "what is not said is not known")
	}
}

func perMinute(t *testing.T, text string) *claudesim.Rate {
	t.Helper()
	r, err := claudesim.ParseRate(text)
	require.NoError(t, err)
	return r
}

func TestHeadersOfLimitsThatMakeNoSenseAreLeftOut(t *testing.T) {
	t.Parallel()
	header := func(limit, remaining, reset string) http.Header {
		h := http.Header{}
		h.Set("anthropic-ratelimit-requests-limit", limit)
		h.Set("anthropic-ratelimit-requests-remaining", remaining)
		h.Set("anthropic-ratelimit-requests-reset", reset)
		return h
	}
	require.Nil(t, rateLimits(nil))
	require.Nil(t, rateLimits(http.Header{}))
	for _, bad := range [][2]string{{"", "4"}, {"x", "4"}, {"0", "0"}, {"-5", "1"}, {"50", ""}, {"50", "-1"}, {"1e3", "4"}, {"99999999999999999999", "1"}} {
		require.Nil(t, rateLimits(header(bad[0], bad[1], "2026-11-30T00:00:00Z")), "%v", bad)
	}
	require.Equal(t, siding.RateLimit{Limit: 50, Remaining: 50}, rateLimits(header(" 50", "60 ", "soon")).Requests)
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	require.Equal(t, siding.RateLimit{Limit: 50, Remaining: 0, Reset: at}, rateLimits(header("50", "0", "2026-11-30T01:02:03Z")).Requests)
}

func TestADeliveryWithoutACallSaysSo(t *testing.T) {
	t.Parallel()
	s := sim(t)
	j := newJournal()
	h := newHandler(t, config(j, s.Client()))
	res, f := deliver(t, h, j, delivery("a", `{"title":`))
	require.NotNil(t, f)
	require.True(t, res.NoCall, "a broken body")
	res, f = deliver(t, h, j, delivery("a", `{"title":"x"}`))
	require.Nil(t, f)
	require.False(t, res.NoCall, "a call")
	res, f = deliver(t, h, j, delivery("a", `{"title":"x"}`))
	require.Nil(t, f)
	require.True(t, res.NoCall, "the journal's answer")
	require.NotEmpty(t, res.Body)
	j.busyUntil = time.Now().Add(time.Minute)
	res, f = deliver(t, h, j, delivery("b", `{"title":"y"}`))
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.True(t, res.NoCall, "another has the same request under way")

	j.busyUntil = time.Time{}
	j.failStart = func(int) error { return siding.ErrDiskFull }
	res, f = deliver(t, h, j, delivery("b", `{"title":"y"}`))
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.False(t, res.NoCall, "the lane has to hear of a journal that cannot be written")
	c := config(nil, s.Client())
	res, err := newHandler(t, c).Handle(t.Context(), delivery("b", `{"title":"y"}`))
	require.Equal(t, siding.ScopeRecipe, siding.FailureOf(err).Scope)
	require.False(t, res.NoCall, "and the recipe of a handler that can do nothing")
}

func TestABudgetHoldsTheRecipeBeforeItIsExceeded(t *testing.T) {
	t.Parallel()
	s := sim(t)
	store := memory.Open(memory.Options{})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	c := config(store, s.Client())
	c.Budget = siding.USD / 100 // a call of 1024 tokens of output costs half a cent at most, and far less in fact
	h := newHandler(t, c)
	_, err := store.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, many(60)...)
	require.NoError(t, err)
	var spent siding.Money
	held := 0
	for range 60 {
		leased, err := store.Lease(t.Context(), siding.LeaseRequest{Queue: "q", Worker: "w", Max: 1, MaxRetries: -1, Duration: time.Minute, Policy: siding.DefaultPolicy()})
		require.NoError(t, err)
		require.Len(t, leased.Deliveries, 1)
		d := leased.Deliveries[0]
		res, err := h.Handle(t.Context(), d)
		f := siding.FailureOf(err)
		if f != nil {
			held++
			require.Equal(t, siding.OutcomeHeld, f.Outcome)
			require.Equal(t, siding.CauseBudget, f.Cause)
			require.Equal(t, siding.ScopeRecipe, f.Scope)
			require.Contains(t, f.Error(), "$0.010000")
			require.False(t, res.NoCall, "the recipe's gate has to hear of it")
			continue // it stays leased, so that each is tried once
		}
		_, err = store.Settle(t.Context(), siding.Settlement{Token: d.Token, Result: res.Body, Judged: res.Judged, Policy: siding.DefaultPolicy()})
		require.NoError(t, err)
	}
	stats, err := store.Stats(t.Context(), "q")
	require.NoError(t, err)
	spent = stats[0].Cost
	require.Positive(t, held)
	require.Positive(t, stats[0].Done)
	require.LessOrEqual(t, spent, c.Budget)
	require.EqualValues(t, spent, s.Meter().Totals.CostPico)
	require.Equal(t, stats[0].Done, s.Meter().Totals.Calls)
}

func many(n int) []siding.NewMessage {
	msgs := make([]siding.NewMessage, n)
	for i := range msgs {
		id := string(rune('a'+i/26)) + string(rune('a'+i%26))
		msgs[i] = siding.NewMessage{ID: id, Body: []byte(`{"title":"` + id + `"}`)}
	}
	return msgs
}

func TestABudgetThatNobodyCouldKeepIsRefused(t *testing.T) {
	t.Parallel()
	c := config(nil, nil)
	c.Budget = -1
	_, err := New(c)
	require.ErrorContains(t, err, "budget: it is negative")
	c.Budget, c.Model = 1, "claude-mythos-5-2"
	_, err = New(c)
	require.ErrorContains(t, err, "budget: no price is known")
	c.Prices = append(Prices{{Model: "mythos-5-2", Input: 1, Output: 1}}, DefaultPrices()...)
	_, err = New(c)
	require.NoError(t, err)
}
