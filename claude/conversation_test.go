package claude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

func TestACutAnswerIsAskedForWithMoreAndNeverTheSameAgain(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, func(c *Config) { c.MaxTokens = 100; c.Limits.OutputTokens = 700 }, always(claudesim.Do{Fault: "stop", Reason: "max_tokens"}))
	var limits []int64
	for i := range 4 {
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.Equal(t, siding.CauseTruncated, f.Cause)
		want := siding.OutcomeGray
		if i == 3 {
			want = siding.OutcomePermanent
		}
		require.Equal(t, want, f.Outcome, f.Error())
		require.False(t, f.NoCall)
		limits = append(limits, j.all()[i].OutputLimit)
	}
	require.Equal(t, []int64{100, 200, 400, 700}, limits)
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomePermanent, f.Outcome)
	require.True(t, f.NoCall, "there is no more to give, so nothing is sent")
	for _, row := range s.Meter().Rows {
		require.Equal(t, int64(1), row.Calls, "no request was sent twice")
	}
	require.Len(t, s.Calls(), 4)
	requireBill(t, j, s)
}

func TestACutAnswerIsNotAskedAgainUnderAnotherRecipeThatSendsTheSame(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, func(c *Config) { c.MaxTokens = 100 }, once(claudesim.Do{Fault: "stop", Reason: "max_tokens"}))
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseTruncated, f.Cause)
	c := h.c
	c.InputSchema = []byte(`{"type":"object"}`)
	other := newHandler(t, c)
	require.NotEqual(t, h.Digest(), other.Digest())
	_, f = deliver(t, other, j, delivery("a", dunes))
	require.Nil(t, f)
	require.Equal(t, int64(200), j.all()[1].OutputLimit)
	for _, row := range s.Meter().Rows {
		require.Equal(t, int64(1), row.Calls)
	}
}

func TestAModelThatGivesLessThanWasThoughtHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	cutFirst := once(claudesim.Do{Fault: "stop", Reason: "max_tokens"})
	h, j, s := setup(t, func(c *Config) { c.MaxTokens = 64_000; c.Limits.OutputTokens = 1_000_000; c.Timeout = time.Hour }, cutFirst)
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseTruncated, f.Cause)
	_, f = deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomePermanent, f.Outcome, f.Error())
	require.Equal(t, siding.CauseTruncated, f.Cause)
	require.Empty(t, f.Scope)
	require.Contains(t, f.Error(), "64000", "what the service said is kept")
	requireBill(t, j, s)

	h, j, _ = setup(t, func(c *Config) { c.MaxTokens = 128_000; c.Timeout = time.Hour })
	_, f = deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.ScopeRecipe, f.Scope, "but the recipe's own max_tokens is the recipe's fault")
}

func TestAPausedTurnGoesOn(t *testing.T) {
	t.Parallel()
	pause := always(claudesim.Do{Fault: "stop", Reason: "pause_turn"})
	for name, change := range map[string]func(*Config){"by schema": nil, "as text": func(c *Config) { c.Output = Output{} }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, s := setup(t, change, pause)
			res, f := deliver(t, h, j, delivery("a", dunes))
			require.Nil(t, f)
			require.True(t, json.Valid(res.Body))
			require.Len(t, j.all(), 2)
			require.Len(t, res.Judged, 2)
			for _, call := range j.all() {
				require.Equal(t, siding.VerdictAccepted, call.Verdict)
			}
			requireBill(t, j, s)
			again, f := deliver(t, h, j, delivery("a", dunes))
			require.Nil(t, f)
			require.Equal(t, res.Body, again.Body)
			require.Len(t, s.Calls(), 2, "the whole conversation is in the journal")
			judgement, body, ok, err := h.Rejudge(t.Context(), delivery("a", dunes).Message, j.all())
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, siding.CallID(2), judgement.Call)
			require.Equal(t, res.Body, body)
		})
	}
}

// endless answers every request with a paused turn.
type endless struct{ n int }

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	e.n++
	return response(200, string(message("pause_turn", textBlock(fmt.Sprint("thought ", e.n))))), nil
}

func TestATurnThatPausesForEverIsGivenUp(t *testing.T) {
	t.Parallel()
	j, e := newJournal(), &endless{}
	h := newHandler(t, config(j, &http.Client{Transport: e}))
	res, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomeGray, f.Outcome)
	require.Equal(t, siding.CauseUnknownStopReason, f.Cause)
	require.Equal(t, maxPauses+1, e.n)
	require.Len(t, res.Judged, maxPauses+1)
}

func TestAConversationThatBreaksGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	pause := once(claudesim.Do{Fault: "stop", Reason: "pause_turn"})
	fail := claudesim.Rule{When: claudesim.When{Times: 1, Pattern: "."}, Do: claudesim.Do{Fault: "error", ID: "500"}}
	h, j, s := setup(t, nil, pause, fail)
	res, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseServerError, f.Cause)
	require.Empty(t, res.Judged, "the paused turn is not judged yet")
	_, f = deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)
	require.Len(t, s.Calls(), 3, "the first turn was not asked again")
	requireBill(t, j, s)
}

func TestAChangedSchemaJudgesTheAnswersThatAreThere(t *testing.T) {
	t.Parallel()
	strict := `{"type":"object","properties":{"title":{"type":"string"},"mood":{"type":"string"},"tags":{"type":"array"},"more":{"type":"string"}},"required":["more"],"additionalProperties":false}`
	h, j, s := setup(t, nil)
	res, f := deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)

	c := h.c
	c.Output.Schema, c.MaxTokens = []byte(`{"type":"object","required":["title"],"additionalProperties":true}`), 2048
	wider := newHandler(t, c)
	judgement, body, ok, err := wider.Rejudge(t.Context(), delivery("a", dunes).Message, j.all())
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, siding.Judgement{Call: 1, Accepted: true, Digest: wider.Digest()}, judgement)
	require.JSONEq(t, string(res.Body), string(body))
	again, f := deliver(t, wider, j, delivery("a", dunes))
	require.Nil(t, f)
	require.JSONEq(t, string(res.Body), string(again.Body))
	require.Len(t, s.Calls(), 1)

	c.Output.Schema = []byte(strict)
	narrower := newHandler(t, c)
	_, _, ok, err = narrower.Rejudge(t.Context(), delivery("a", dunes).Message, j.all())
	require.NoError(t, err)
	require.False(t, ok)
	res, f = deliver(t, narrower, j, delivery("a", dunes))
	require.Nil(t, f)
	require.Len(t, s.Calls(), 2, "the old answer does not serve, so it is asked again")
	require.Equal(t, siding.CauseSchemaMismatch, res.Judged[0].Cause)
	require.True(t, res.Judged[1].Accepted)
	requireBill(t, j, s)
}

func TestRejudgeNeedsAMessageThatCanBeAsked(t *testing.T) {
	t.Parallel()
	h, j, _ := setup(t, nil)
	_, _, ok, err := h.Rejudge(t.Context(), siding.Message{Body: []byte("{")}, nil)
	require.NoError(t, err)
	require.False(t, ok)
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)
	_, _, ok, err = h.Rejudge(t.Context(), siding.Message{Body: []byte(`{"title":"other"}`)}, j.all())
	require.NoError(t, err)
	require.False(t, ok, "answers to another question do not count")
}

func TestAnUnjudgedAnswerSettlesTheNextDelivery(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil, always(claudesim.Do{Fault: "stop", Reason: "refusal"}))
	_, err := h.Handle(t.Context(), delivery("a", dunes))
	require.Equal(t, siding.CauseRefused, siding.FailureOf(err).Cause)
	// The process dies before the settlement: nobody has judged.
	res, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseRefused, f.Cause)
	require.Len(t, res.Judged, 1)
	require.Len(t, s.Calls(), 1, "it costs exactly one call")
}

func TestAVerdictWithoutItsCauseIsStillACutAnswer(t *testing.T) {
	t.Parallel()
	h, j, _ := setup(t, func(c *Config) { c.MaxTokens = 100 }, once(claudesim.Do{Fault: "stop", Reason: "max_tokens"}))
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseTruncated, f.Cause)
	j.calls[0].JudgedCause = "" // the process died after the journal had noted the rejection, before the settlement
	_, f = deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)
	require.Equal(t, int64(200), j.all()[1].OutputLimit)
}
