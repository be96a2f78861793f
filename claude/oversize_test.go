package claude

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// words gives a record of so many words, each of which is about two tokens.
func words(n int) string { return `{"title":"` + strings.Repeat("wide dunes ", n/2) + `"}` }

func TestWhatIsTooLargeGoesElsewhere(t *testing.T) {
	t.Parallel()
	refusal := always(claudesim.Do{Fault: "error", Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"})
	for name, c := range map[string]struct {
		change func(*Config)
		body   string
		rules  []claudesim.Rule
		calls  int64
	}{
		"by the recipe's limit":                  {func(c *Config) { c.MaxInputTokens = 1000 }, words(2000), nil, 0},
		"by the model's window":                  {func(*Config) {}, words(2_000_000), nil, 0},
		"by the bytes of a request":              {func(c *Config) { c.Model = "claude-new-1"; c.Prompt = strings.Repeat("{{.title}}", 40) }, words(1_500_000), nil, 0},
		"by what the service says of the prompt": {func(*Config) {}, words(10), []claudesim.Rule{refusal}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, queue := range []string{"", "summaries"} {
				h, j, s := setup(t, func(conf *Config) { c.change(conf); conf.Oversize = queue }, c.rules...)
				_, f := deliver(t, h, j, delivery("a", c.body))
				require.NotNil(t, f)
				require.Equal(t, siding.CauseInputTooLarge, f.Cause)
				require.Equal(t, c.calls, s.Meter().Totals.Calls)
				require.Zero(t, s.Meter().Totals.CostPico)
				if queue == "" {
					require.Equal(t, siding.OutcomePermanent, f.Outcome)
					continue
				}
				require.Equal(t, siding.OutcomeForwarded, f.Outcome)
				require.Equal(t, queue, f.Queue)
				require.True(t, f.NoCall)
			}
		})
	}
	t.Run("and nothing else does", func(t *testing.T) {
		t.Parallel()
		h, j, _ := setup(t, func(c *Config) { c.Oversize = "summaries" }, always(claudesim.Do{Fault: "stop", Reason: "refusal"}))
		_, f := deliver(t, h, j, delivery("a", words(10)))
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		_, f = deliver(t, h, j, delivery("b", `{"title":`))
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
	})
	t.Run("nor is the recipe another one for it", func(t *testing.T) {
		t.Parallel()
		a, b := config(nil, nil), config(nil, nil)
		b.Oversize, b.CountTokens = "summaries", true
		require.Equal(t, newHandler(t, a).Digest(), newHandler(t, b).Digest())
	})
}

func TestTheServiceCountsWhatTheEstimateLeavesOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  int64
		words  int
		counts int  // calls of the counter
		fits   bool // and is asked
	}{
		"surely under the limit":          {5000, 20, 0, true},
		"surely over it":                  {100, 20_000, 0, false},
		"over the estimate, and under it": {0, 0, 1, true},
		"counted to be over it":           {0, 0, 1, false},
		"without any limit":               {-1, 20, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, s := setup(t, func(conf *Config) {
				conf.CountTokens, conf.Oversize = true, "summaries"
				conf.StopSequences = []string{"END"}
				conf.Output.Schema = []byte(tagsSchema)
				if conf.MaxInputTokens = max(c.limit, 0); c.limit < 0 {
					conf.Model = "claude-new-1"
				}
			})
			body := words(cmp.Or(c.words, 2000))
			if c.limit == 0 {
				p, f := h.prepare([]byte(body))
				require.Nil(t, f)
				n, f := h.counted(h.post(t.Context(), "v1/messages/count_tokens", h.countable(p), ""))
				require.Nil(t, f)
				h.c.MaxInputTokens = n
				if !c.fits {
					h.c.MaxInputTokens--
				}
				s.Reset()
			}
			_, f := deliver(t, h, j, delivery("a", body))
			counts := 0
			for _, call := range s.Calls() {
				if call.Path == "count_tokens" {
					require.Equal(t, 200, call.Status)
					counts++
				}
			}
			require.Equal(t, c.counts, counts)
			if c.fits {
				require.Len(t, j.all(), 1)
				return
			}
			require.Equal(t, siding.OutcomeForwarded, f.Outcome)
			require.Equal(t, siding.CauseInputTooLarge, f.Cause)
			require.Empty(t, j.all(), "counting is free, and stands in no journal")
			require.Zero(t, s.Meter().Totals.Calls)
		})
	}
}

func TestACounterThatFailsIsAFailureLikeThatOfACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      claudesim.Do
		outcome siding.Outcome
		cause   siding.Cause
		scope   siding.Scope
	}{
		"throttled":    {claudesim.Do{Fault: "error", ID: "rl"}, siding.OutcomeHeld, siding.CauseRateLimited, siding.ScopeLane},
		"overloaded":   {claudesim.Do{Fault: "error", ID: "529"}, siding.OutcomeHeld, siding.CauseOverloaded, siding.ScopeLane},
		"broken":       {claudesim.Do{Fault: "error", ID: "500"}, siding.OutcomeTransient, siding.CauseServerError, ""},
		"wrong key":    {claudesim.Do{Fault: "error", ID: "auth"}, siding.OutcomeHeld, siding.CauseCredentials, siding.ScopeAccount},
		"cut off":      {claudesim.Do{Fault: "cut", At: "before"}, siding.OutcomeTransient, siding.CauseNetwork, ""},
		"not a number": {claudesim.Do{Fault: "html", Message: "<html>hello</html>", Status: 200}, siding.OutcomeTransient, siding.CauseBadResponse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := claudesim.Rule{When: claudesim.When{Path: "count_tokens", Times: 1}, Do: c.do}
			h, j, s := setup(t, func(conf *Config) { conf.CountTokens, conf.MaxInputTokens, conf.Oversize = true, 5000, "summaries" }, rule)
			res, f := deliver(t, h, j, delivery("a", words(2000)))
			require.NotNil(t, f)
			require.Equal(t, c.outcome, f.Outcome, "%v", f)
			require.Equal(t, c.cause, f.Cause)
			require.Equal(t, c.scope, f.Scope)
			require.ErrorContains(t, f, "counting the tokens")
			require.False(t, res.NoCall, "the gates learn from it")
			require.Empty(t, j.all())
			require.Zero(t, s.Meter().Totals.Calls)

			_, f = deliver(t, h, j, delivery("a", words(2000)))
			require.Nil(t, f, "it is asked again, and then it is asked")
			require.Len(t, j.all(), 1)
		})
	}
}
