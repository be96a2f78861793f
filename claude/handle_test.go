package claude

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
			if f.Cause == siding.CauseContentFiltered || sample.ID == "504" || sample.ID == "502html" {
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
		"a page of a proxy":        {claudesim.Do{Fault: "html", Status: 502}, siding.FateUnknown, siding.CauseServerError, siding.OutcomeTransient},
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

func TestARequestUnderWayElsewhereIsWaitedFor(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil)
	d := delivery("a", dunes)
	j.busyUntil = d.StartedAt.Add(90 * time.Second)
	_, f := deliver(t, h, j, d)
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Empty(t, f.Scope, "only this message waits")
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
