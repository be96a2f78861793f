package claude

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// setup gives a handler on a simulator, with what changes.
func setup(t *testing.T, change func(*Config), rules ...claudesim.Rule) (*Handler, *fakeJournal, *claudesim.Server) {
	t.Helper()
	s, j := sim(t, rules...), newJournal()
	c := config(j, s.Client())
	c.Output.Schema = []byte(tagsSchema)
	if change != nil {
		change(&c)
	}
	return newHandler(t, c), j, s
}

const dunes = `{"title":"Dunes at dawn"}`

// requireBill compares the journal with the meter.
func requireBill(t *testing.T, j *fakeJournal, s *claudesim.Server) {
	t.Helper()
	cost, unknown := j.bill()
	billed := siding.Money(s.Meter().Totals.CostPico)
	require.LessOrEqual(t, cost, billed, "what is reported was billed")
	require.LessOrEqual(t, billed, cost.Add(unknown), "and the bill is bounded")
	if unknown == 0 {
		require.Equal(t, billed, cost)
	}
}

func TestAHealthyMessageIsAskedOnceAndDone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"by schema": nil,
		"by tool":   func(c *Config) { c.Output.Via = ViaTool },
		"as text":   func(c *Config) { c.Output = Output{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, s := setup(t, change)
			res, f := deliver(t, h, j, delivery("a", dunes))
			require.Nil(t, f)
			require.True(t, json.Valid(res.Body))
			require.Equal(t, []siding.Judgement{{Call: 1, Accepted: true, Digest: h.Digest()}}, res.Judged)
			call := j.all()[0]
			require.Equal(t, siding.FateAnswered, call.Fate)
			require.Equal(t, 200, call.Status)
			require.NotEmpty(t, call.RequestID)
			require.True(t, call.Priced)
			require.Positive(t, call.Cost)
			require.LessOrEqual(t, call.Cost, call.WorstCost)
			require.Equal(t, h.Lane(), call.Lane)
			requireBill(t, j, s)
			require.Equal(t, hex.EncodeToString(call.RequestHash[:]), s.Calls()[0].Hash, "the hash is of the bytes that were sent")
			require.Equal(t, "a", s.Calls()[0].Event)

			// Again, as after a crash before the settlement, and after a redrive: the answer is there.
			again, f := deliver(t, h, j, delivery("a", dunes))
			require.Nil(t, f)
			require.Equal(t, res.Body, again.Body)
			require.Len(t, s.Calls(), 1)
		})
	}
}

func TestFaultsOfTheRecordMakeNoCall(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil)
	for _, body := range []string{"\xff", "{", `{"title":"\ud800"}`, `{}`, `{"title":null}`} {
		_, f := deliver(t, h, j, delivery("a", body))
		require.NotNil(t, f)
		require.True(t, f.NoCall)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
	}
	require.Empty(t, j.all())
	require.Empty(t, s.Calls())
}

func TestEveryErrorOfTheServiceThroughTheHandler(t *testing.T) {
	t.Parallel()
	for _, sample := range loadSamples(t) {
		t.Run(sample.ID, func(t *testing.T) {
			t.Parallel()
			h, j, s := setup(t, nil, always(claudesim.Do{Fault: "error", ID: sample.ID}))
			res, f := deliver(t, h, j, delivery("a", dunes))
			requireOutcome(t, sample.Outcome, f)
			require.Equal(t, sampleCauses[sample.ID], f.Cause)
			require.Empty(t, res.Judged)
			require.False(t, f.NoCall)
			if f.Scope == siding.ScopeLane {
				require.Equal(t, h.Lane(), f.Lane)
			}
			call := j.all()[0]
			want := siding.FateRefused
			if f.Cause == siding.CauseContentFiltered {
				want = siding.FateUnknown
			}
			require.Equal(t, want, call.Fate)
			require.Equal(t, f.Status, call.Status)
			require.Equal(t, f.RequestID, call.RequestID)
			require.Equal(t, f.Cause, call.Error.Cause)
			requireBill(t, j, s)
		})
	}
}

func TestFaultsOfTheConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      claudesim.Do
		fate    siding.Fate
		cause   siding.Cause
		outcome siding.Outcome
	}{
		"refused":                  {claudesim.Do{Fault: "refuse"}, siding.FateUnsent, siding.CauseNetwork, siding.OutcomeTransient},
		"cut before the work":      {claudesim.Do{Fault: "cut", At: "before"}, siding.FateUnknown, siding.CauseNetwork, siding.OutcomeTransient},
		"cut inside the answer":    {claudesim.Do{Fault: "cut", At: "inside"}, siding.FateUnknown, siding.CauseNetwork, siding.OutcomeTransient},
		"cut after the work":       {claudesim.Do{Fault: "cut", At: "after"}, siding.FateUnknown, siding.CauseNetwork, siding.OutcomeTransient},
		"broken JSON under 200":    {claudesim.Do{Fault: "broken-json"}, siding.FateUnknown, siding.CauseBadResponse, siding.OutcomeTransient},
		"overloaded under 200":     {claudesim.Do{Fault: "error-body", ID: "529"}, siding.FateUnknown, siding.CauseOverloaded, siding.OutcomeHeld},
		"an invalid key under 200": {claudesim.Do{Fault: "error-body", ID: "auth"}, siding.FateUnknown, siding.CauseCredentials, siding.OutcomeHeld},
		"a page of a proxy":        {claudesim.Do{Fault: "html", Status: 502}, siding.FateRefused, siding.CauseServerError, siding.OutcomeTransient},
		"a page under 200":         {claudesim.Do{Fault: "html", Status: 200}, siding.FateUnknown, siding.CauseBadResponse, siding.OutcomeTransient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, s := setup(t, nil, once(c.do))
			_, f := deliver(t, h, j, delivery("a", dunes))
			require.NotNil(t, f)
			require.Equal(t, c.cause, f.Cause, f.Error())
			require.Equal(t, c.outcome, f.Outcome)
			require.Equal(t, c.fate, j.all()[0].Fate)
			requireBill(t, j, s)
			_, f = deliver(t, h, j, delivery("a", dunes))
			require.Nil(t, f, "the next delivery sends it again")
			require.Len(t, j.all(), 2)
			requireBill(t, j, s)
		})
	}
}

func TestAnUnknownCallIsNotSentAgainWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, func(c *Config) { c.OnUnknown = siding.UnknownQuarantine }, once(claudesim.Do{Fault: "cut", At: "after"}))
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomeTransient, f.Outcome)
	_, f = deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomePermanent, f.Outcome)
	require.Equal(t, siding.ReasonUnknownCall, f.Reason)
	require.True(t, f.NoCall)
	require.Len(t, s.Calls(), 1)
	requireBill(t, j, s)
}

func TestAnswersThatAreNotWhatWasAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      claudesim.Do
		outcome siding.Outcome
		cause   siding.Cause
	}{
		"a refusal":         {claudesim.Do{Fault: "stop", Reason: "refusal", Category: "cyber"}, siding.OutcomePermanent, siding.CauseRefused},
		"a partial refusal": {claudesim.Do{Fault: "stop", Reason: "refusal", Partial: true}, siding.OutcomePermanent, siding.CauseRefused},
		"the window":        {claudesim.Do{Fault: "stop", Reason: "model_context_window_exceeded"}, siding.OutcomePermanent, siding.CauseInputTooLarge},
		"a new reason":      {claudesim.Do{Fault: "stop", Reason: "eclipse"}, siding.OutcomeGray, siding.CauseUnknownStopReason},
		"nothing":           {claudesim.Do{Fault: "empty"}, siding.OutcomeGray, siding.CauseEmptyAnswer},
		"off the schema":    {claudesim.Do{Fault: "off-schema"}, siding.OutcomePermanent, siding.CauseSchemaMismatch},
		"prose":             {claudesim.Do{Fault: "prose"}, siding.OutcomePermanent, siding.CauseSchemaMismatch},
		"a cut answer":      {claudesim.Do{Fault: "stop", Reason: "max_tokens"}, siding.OutcomeGray, siding.CauseTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j, s := setup(t, nil, once(c.do))
			res, f := deliver(t, h, j, delivery("a", dunes))
			require.NotNil(t, f)
			require.Equal(t, c.outcome, f.Outcome, f.Error())
			require.Equal(t, c.cause, f.Cause)
			require.NotEmpty(t, f.RequestID)
			require.Equal(t, 200, f.Status)
			require.Equal(t, []siding.Judgement{{Call: 1, Digest: h.Digest(), Cause: c.cause}}, res.Judged)
			require.Equal(t, siding.FateAnswered, j.all()[0].Fate)
			requireBill(t, j, s)
			_, f = deliver(t, h, j, delivery("a", dunes))
			require.Nil(t, f, "a gray retry, or a redrive, asks again")
			require.Len(t, s.Calls(), 2)
			requireBill(t, j, s)
		})
	}
}

func TestAnswersInOtherCapitalsAreTaken(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil, always(claudesim.Do{Fault: "enum-case"}))
	res, f := deliver(t, h, j, delivery("a", dunes))
	require.Nil(t, f)
	var got struct{ Mood string }
	require.NoError(t, json.Unmarshal(res.Body, &got))
	require.Contains(t, []string{"Calm", "Bright", "Dark"}, got.Mood)
	requireBill(t, j, s)
}

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
	c.Output.Schema, c.MaxTokens = []byte(`{"type":"object","required":["title"]}`), 2048
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

func TestARequestUnderWayElsewhereIsWaitedFor(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil)
	d := delivery("a", dunes)
	j.busyUntil = d.StartedAt.Add(90 * time.Second)
	_, f := deliver(t, h, j, d)
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Equal(t, siding.ScopeLane, f.Scope)
	require.Equal(t, h.Lane(), f.Lane)
	require.Equal(t, 90*time.Second, f.RetryAfter)
	require.True(t, f.NoCall)
	j.busyUntil = d.StartedAt.Add(-time.Hour)
	_, f = deliver(t, h, j, d)
	require.Equal(t, time.Second, f.RetryAfter)
	require.Empty(t, s.Calls())
}

func TestTheJournalsErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		outcome siding.Outcome
		cause   siding.Cause
		waits   bool
	}{
		{siding.ErrDiskFull, siding.OutcomeHeld, siding.CauseHandlerError, false},
		{siding.ErrStaleLease, siding.OutcomeInterrupted, siding.CauseLeaseLost, false},
		{siding.ErrClosed, siding.OutcomeInterrupted, siding.CauseShutdown, false},
		{errors.New("connection lost"), siding.OutcomeHeld, siding.CauseHandlerError, true},
	} {
		h, j, s := setup(t, nil)
		j.failStart = func(int) error { return fmt.Errorf("starting: %w", c.err) }
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.Equal(t, c.outcome, f.Outcome)
		require.Equal(t, c.cause, f.Cause)
		require.Equal(t, c.waits, f.WaitCounts)
		require.ErrorIs(t, f, c.err)
		require.Empty(t, s.Calls(), "nothing is sent that is not in the journal")
		if f.Outcome == siding.OutcomeHeld {
			require.Positive(t, f.RetryAfter)
		}
	}
	h, j, s := setup(t, nil)
	j.failCalls = errors.New("cannot be read")
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Empty(t, s.Calls())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(siding.ErrShutdown)
	j.failCalls = nil
	_, err := h.Handle(ctx, delivery("a", dunes))
	require.Equal(t, siding.CauseShutdown, siding.FailureOf(err).Cause)
}

func TestTheBillIsWhatTheJournalSays(t *testing.T) {
	t.Parallel()
	faults := []claudesim.Do{
		{Fault: "error", ID: "529"}, {Fault: "error", ID: "500"}, {Fault: "error", ID: "rl"}, {Fault: "error", ID: "filter"}, {Fault: "refuse"},
		{Fault: "cut", At: "before"}, {Fault: "cut", At: "inside"}, {Fault: "cut", At: "after"}, {Fault: "broken-json"}, {Fault: "error-body", ID: "529"},
		{Fault: "stop", Reason: "refusal"}, {Fault: "stop", Reason: "max_tokens"}, {Fault: "stop", Reason: "pause_turn"}, {Fault: "empty"}, {Fault: "off-schema"},
		{Fault: "prose"}, {Fault: "enum-case"}, {Fault: "html", Status: 502},
	}
	models := []string{"claude-haiku-4-5", "claude-haiku-5-5", "claude-opus-5", "claude-sonnet-5-5", "claude-fable-5-1"}
	rapid.Check(t, func(rt *rapid.T) {
		share := 0.15
		var rules []claudesim.Rule
		for i, do := range faults {
			rules = append(rules, claudesim.Rule{Name: fmt.Sprint(i), When: claudesim.When{Share: &share}, Do: do})
		}
		s, err := claudesim.New(&claudesim.Profile{Seed: rapid.Uint64().Draw(rt, "seed"), Faults: rules}, claudesim.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		j := newJournal()
		c := config(j, s.Client())
		c.Model = rapid.SampledFrom(models).Draw(rt, "model")
		c.MaxTokens = rapid.Int64Range(1, 4000).Draw(rt, "max tokens")
		c.Output.Schema = []byte(tagsSchema)
		c.Output.Via = rapid.SampledFrom([]string{ViaSchema, ViaTool}).Draw(rt, "via")
		h, err := New(c)
		if err != nil {
			rt.Fatal(err)
		}
		title, _ := json.Marshal(rapid.StringN(1, 400, -1).Draw(rt, "title") + "x")
		for range 8 {
			res, err := h.Handle(context.Background(), delivery("a", `{"title":`+string(title)+`}`))
			j.settle(res.Judged)
			if err == nil || siding.FailureOf(err).Outcome == siding.OutcomePermanent {
				break
			}
		}
		cost, unknown := j.bill()
		billed := siding.Money(s.Meter().Totals.CostPico)
		if cost > billed || billed > cost.Add(unknown) || unknown == 0 && cost != billed {
			rt.Fatalf("billed %d, reported %d, and at most %d unknown", billed, cost, unknown)
		}
		for _, call := range j.all() {
			if call.Cost > call.WorstCost {
				rt.Fatalf("a call cost %d, and %d was reserved", call.Cost, call.WorstCost)
			}
		}
		for _, row := range s.Meter().Rows {
			if row.PaidAgain > 0 {
				unknownBefore := false
				for _, call := range j.all() {
					unknownBefore = unknownBefore || call.Maybe()
				}
				if !unknownBefore {
					rt.Fatalf("an acceptable answer was paid again: %+v", row)
				}
			}
		}
	})
}
