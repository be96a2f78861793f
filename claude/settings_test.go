package claude

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// with gives a delivery with settings of its own: names without siding-, and values.
func with(id, body string, settings ...string) *siding.Delivery {
	d := delivery(id, body)
	d.Headers = map[string]string{}
	for i := 0; i < len(settings); i += 2 {
		d.Headers["siding-"+settings[i]] = settings[i+1]
	}
	return d
}

// A recorder keeps the bodies that are sent through it.
type recorder struct {
	http.RoundTripper
	bodies [][]byte
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.bodies = append(r.bodies, body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	return r.RoundTripper.RoundTrip(req)
}

// recorded is setup with a recorder in between.
func recorded(t *testing.T, change func(*Config), rules ...claudesim.Rule) (*Handler, *fakeJournal, *recorder) {
	t.Helper()
	r := &recorder{}
	h, j, _ := setup(t, func(c *Config) {
		if change != nil {
			change(c)
		}
		r.RoundTripper = c.HTTPClient.Transport
		c.HTTPClient = &http.Client{Transport: r}
	}, rules...)
	return h, j, r
}

// latest gives what was sent last.
func (r *recorder) latest(t *testing.T) (w wireRequest, text string) {
	t.Helper()
	require.NotEmpty(t, r.bodies)
	require.NoError(t, json.Unmarshal(r.bodies[len(r.bodies)-1], &w))
	content, _ := w.Messages[0].Content.([]any)
	block, _ := content[len(content)-1].(map[string]any)
	text, _ = block["text"].(string)
	return w, text
}

func TestAMessageHasSettingsOfItsOwn(t *testing.T) {
	t.Parallel()
	h, j, s := recorded(t, nil)
	d := with("a", dunes, "model", "claude-sonnet-4-5", "max-tokens", "2048", "instruction", "  Answer in German. ")
	res, f := deliver(t, h, j, d)
	require.Nil(t, f)
	require.True(t, res.OtherLane, "the worker's lane learns nothing of it")
	require.Nil(t, res.Limits)
	require.Equal(t, h.Digest(), res.Judged[0].Digest, "the answer is the recipe's")
	w, text := s.latest(t)
	require.Equal(t, "claude-sonnet-4-5", w.Model)
	require.EqualValues(t, 2048, w.MaxTokens)
	require.Equal(t, "Title: Dunes at dawn\n\nAnswer in German.", text)
	call := j.all()[0]
	require.Equal(t, "claude/claude-sonnet-4-5", call.Lane)
	require.Equal(t, h.Digest(), call.Digest)
	sonnet, _ := DefaultPrices().Cost("claude-sonnet-4-5", call.Usage, time.Now(), Multipliers{})
	require.Equal(t, sonnet, call.Cost)

	_, f = deliver(t, h, j, d)
	require.Nil(t, f)
	require.Len(t, s.bodies, 1, "the same request again makes no call")
	_, f = deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)
	require.Len(t, s.bodies, 2, "without the settings it is another request")
	w, _ = s.latest(t)
	require.Equal(t, "claude-haiku-4-5", w.Model, "and the handler is as it was")

	likely, worst, priced := h.Estimate(d.Message)
	require.True(t, priced)
	ownLikely, ownWorst, _ := h.Estimate(delivery("a", dunes).Message)
	require.Greater(t, likely, ownLikely)
	require.Greater(t, worst, ownWorst)
	_, _, priced = h.Estimate(with("a", dunes, "model", "claude-unheard-of").Message)
	require.False(t, priced)
}

func TestSettingsLikeTheRecipesAreNone(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil)
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)
	for _, d := range []*siding.Delivery{
		with("a", dunes, "model", "claude-haiku-4-5", "max-tokens", "1024", "instruction", " \n"), with("a", dunes, "model", "", "max-tokens", ""),
		with("a", dunes, "max-tokens", "4096"),
	} {
		res, f := deliver(t, h, j, d)
		require.Nil(t, f)
		require.False(t, res.OtherLane)
	}
	require.Len(t, s.Calls(), 1, "an acceptable answer to the same question is not asked for again, whatever its limit was")
}

func TestSettingsThatCannotBeHeededSetTheMessageAsideWithoutACall(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, func(c *Config) { c.Budget = siding.USD })
	for text, d := range map[string]*siding.Delivery{
		`siding-max-tokens is "0"; it must be a number from 1 to 64000`: with("a", dunes, "max-tokens", "0"),
		`is "-5"`:                          with("a", dunes, "max-tokens", "-5"),
		`is "many"`:                        with("a", dunes, "max-tokens", "many"),
		`is "1e3"`:                         with("a", dunes, "max-tokens", "1e3"),
		`is "64001"`:                       with("a", dunes, "max-tokens", "64001"),
		`from 1 to 128000`:                 with("a", dunes, "max-tokens", "128001", "model", "claude-sonnet-4-6"),
		`is "two words"`:                   with("a", dunes, "model", "two words"),
		"no price is known for this model": with("a", dunes, "model", "claude-unheard-of"),
	} {
		res, f := deliver(t, h, j, d)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.Equal(t, siding.CauseInvalidRequest, f.Cause)
		require.Contains(t, f.Error(), text)
		require.True(t, res.NoCall)
		require.Equal(t, f.Error(), h.Check(d.Message).Error())
		likely, worst, _ := h.Estimate(d.Message)
		require.Zero(t, likely+worst)
		_, _, ok, err := h.Rejudge(t.Context(), d.Message, nil)
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.Empty(t, s.Calls())
	_, f := deliver(t, h, j, with("a", dunes, "model", "claude-sonnet-4-6", "max-tokens", "128000"))
	require.Nil(t, f)
	require.Greater(t, j.all()[0].WorstCost, siding.USD, "another model's price counts against the budget")
}

func TestARecipesLimitIsCutToWhatTheMessagesModelGives(t *testing.T) {
	t.Parallel()
	h, j, s := recorded(t, func(c *Config) { c.Model, c.MaxTokens, c.Timeout = "claude-sonnet-4-6", 128_000, time.Hour })
	_, f := deliver(t, h, j, with("a", dunes, "model", "claude-haiku-4-5"))
	require.Nil(t, f)
	w, _ := s.latest(t)
	require.EqualValues(t, 64_000, w.MaxTokens)
}

func TestACutAnswerGoesOnFromTheMessagesOwnLimit(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, func(c *Config) { c.MaxTokens = 100; c.Limits.OutputTokens = 1000 }, always(claudesim.Do{Fault: "stop", Reason: "max_tokens"}))
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseTruncated, f.Cause)
	// Repaired with more than twice as much: that is what is asked for, and goes on from there.
	var limits []int64
	for range 2 {
		_, f = deliver(t, h, j, with("a", dunes, "max-tokens", "600"))
		require.Equal(t, siding.CauseTruncated, f.Cause)
	}
	require.Equal(t, siding.OutcomePermanent, f.Outcome)
	// With no more than was cut it is twice that, never the same again.
	h2, j2, _ := setup(t, func(c *Config) { c.MaxTokens = 100; c.Limits.OutputTokens = 1000 }, always(claudesim.Do{Fault: "stop", Reason: "max_tokens"}))
	for range 2 {
		_, f = deliver(t, h2, j2, with("a", dunes, "max-tokens", "50"))
		require.Equal(t, siding.CauseTruncated, f.Cause)
	}
	for _, call := range append(j.all(), j2.all()...) {
		limits = append(limits, call.OutputLimit)
	}
	require.Equal(t, []int64{100, 600, 1000, 50, 100}, limits)
	for _, row := range s.Meter().Rows {
		require.Equal(t, int64(1), row.Calls, "no request was sent twice")
	}
}

func TestAFaultOfTheMessagesOwnLaneReachesNobodyElse(t *testing.T) {
	t.Parallel()
	own := func() *siding.Delivery { return with("a", dunes, "model", "claude-sonnet-4-5") }
	for name, test := range map[string]struct {
		do    claudesim.Do
		alone bool
		cause siding.Cause
	}{
		"throttled":      {claudesim.Do{Fault: "error", ID: "rl"}, true, siding.CauseRateLimited},
		"overloaded":     {claudesim.Do{Fault: "error", ID: "529"}, true, siding.CauseOverloaded},
		"a server error": {claudesim.Do{Fault: "error", ID: "500"}, true, siding.CauseServerError},
		"maybe billed":   {claudesim.Do{Fault: "error", ID: "504"}, false, siding.CauseTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, _ := setup(t, nil, always(test.do))
			res, f := deliver(t, h, j, own())
			require.Equal(t, test.cause, f.Cause)
			require.True(t, res.OtherLane)
			require.Empty(t, f.Scope)
			if !test.alone {
				require.Equal(t, siding.OutcomeTransient, f.Outcome, "each may be on the bill, so each costs an attempt")
				return
			}
			require.Equal(t, siding.OutcomeHeld, f.Outcome)
			require.True(t, f.WaitCounts)
			require.GreaterOrEqual(t, f.RetryAfter, time.Second)
			require.Equal(t, "claude/claude-sonnet-4-5", f.Lane)
			require.Equal(t, siding.OutcomeHeld, j.all()[0].Error.Outcome, "the journal says the same")
			late := own()
			late.Waits = 19
			_, f = deliver(t, h, j, late)
			require.GreaterOrEqual(t, f.RetryAfter, time.Minute, "it waits longer each time")
		})
	}
}

func TestWhatTheMessagesOwnSettingsAskForIsItsOwnFault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		d     *siding.Delivery
		id    string
		scope siding.Scope // of the same answer to a message without settings
		cause siding.Cause
	}{
		"an unknown model":  {with("a", dunes, "model", "claude-sonnet-4-5"), "model404", siding.ScopeLane, siding.CauseModelNotFound},
		"a forbidden model": {with("a", dunes, "model", "claude-sonnet-4-5"), "perm", siding.ScopeAccount, siding.CauseCredentials},
		"no such thing":     {with("a", dunes, "model", "claude-sonnet-4-5"), "grammar", siding.ScopeRecipe, siding.CauseConfiguration},
		"too many tokens":   {with("a", dunes, "max-tokens", "64000"), "maxtok_cap", siding.ScopeRecipe, siding.CauseConfiguration},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, _ := setup(t, nil, always(claudesim.Do{Fault: "error", ID: test.id}))
			_, f := deliver(t, h, j, test.d)
			require.Equal(t, siding.OutcomePermanent, f.Outcome, f.Error())
			require.Equal(t, test.cause, f.Cause)
			require.Empty(t, f.Scope)
			require.Contains(t, f.Error(), "the message's own settings are refused")
			_, f = deliver(t, h, j, delivery("b", `{"title":"another"}`))
			require.Equal(t, siding.OutcomeHeld, f.Outcome)
			require.Equal(t, test.scope, f.Scope)
		})
	}
	// What has nothing to do with them is as ever.
	h, j, _ := setup(t, nil, always(claudesim.Do{Fault: "error", ID: "credit"}))
	res, f := deliver(t, h, j, with("a", dunes, "model", "claude-sonnet-4-5", "max-tokens", "7"))
	require.Equal(t, siding.ScopeAccount, f.Scope)
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.False(t, res.NoCall)
	h, j, _ = setup(t, nil, always(claudesim.Do{Fault: "error", ID: "grammar"}))
	_, f = deliver(t, h, j, with("a", dunes, "instruction", "Be brief.", "max-tokens", "7"))
	require.Equal(t, siding.ScopeRecipe, f.Scope)
}

func TestACorrectedSchemaTakesTheAnswerToAMessageWithSettings(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, func(c *Config) {
		c.Output.Schema = []byte(strings.Replace(tagsSchema, `"title": {"type": "string"}`, `"title": {"type": "string", "not": {}}`, 1))
	})
	d := with("a", dunes, "model", "claude-sonnet-4-5", "instruction", "Be brief.", "max-tokens", "999")
	_, f := deliver(t, h, j, d)
	require.Equal(t, siding.CauseSchemaMismatch, f.Cause)
	c := h.c
	c.Output.Schema = []byte(tagsSchema)
	mended := newHandler(t, c)
	_, result, ok, err := mended.Rejudge(t.Context(), d.Message, j.all())
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, json.Valid(result))
	_, _, ok, err = mended.Rejudge(t.Context(), delivery("a", dunes).Message, j.all())
	require.NoError(t, err)
	require.False(t, ok, "it is the answer to another question")
	res, f := deliver(t, mended, j, d)
	require.Nil(t, f)
	require.True(t, res.NoCall)
	require.False(t, res.OtherLane)
	require.Len(t, s.Calls(), 1)
}

func TestAFailingJournalIsEverybodysFaultAlsoWithSettings(t *testing.T) {
	t.Parallel()
	h, j, _ := setup(t, nil)
	j.failStart = func(int) error { return siding.ErrDiskFull }
	res, f := deliver(t, h, j, with("a", dunes, "model", "claude-sonnet-4-5"))
	require.Equal(t, siding.ScopeLane, f.Scope)
	require.Equal(t, h.Lane(), f.Lane)
	require.False(t, res.OtherLane)
}

func TestCountingForAMessageWithAModelOfItsOwnReachesNobodyElse(t *testing.T) {
	t.Parallel()
	h, j, _ := setup(t, func(c *Config) { c.CountTokens, c.MaxInputTokens = true, 100 },
		claudesim.Rule{When: claudesim.When{Path: "count_tokens"}, Do: claudesim.Do{Fault: "error", ID: "529"}})
	res, f := deliver(t, h, j, with("a", `{"title":"`+strings.Repeat("a long title ", 15)+`"}`, "model", "claude-sonnet-4-5"))
	require.Equal(t, siding.OutcomeHeld, f.Outcome, f.Error())
	require.Contains(t, f.Error(), "counting the tokens")
	require.Empty(t, f.Scope)
	require.True(t, f.WaitCounts)
	require.True(t, res.OtherLane)
	require.Empty(t, j.all())
}
