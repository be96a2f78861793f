package claudesim_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// The faults of connections look alike over a socket and in the process, and cost the same.
func TestConnectionFaultsFailAsPlannedAndAreBilledAsTheyShould(t *testing.T) {
	cases := []struct {
		name, do string
		billed   bool
		check    func(t *testing.T, e exchange)
	}{
		{"cut before", `{fault: cut, at: before}`, false, isCut},
		{"cut before, billed", `{fault: cut, at: before, billed: true}`, true, isCut},
		{"cut inside", `{fault: cut, at: inside}`, true, func(t *testing.T, e exchange) {
			require.ErrorIs(t, e.err, io.ErrUnexpectedEOF)
			require.Equal(t, 200, e.status)
			require.NotEmpty(t, e.body)
			require.False(t, json.Valid([]byte(e.body)))
		}},
		{"cut after", `{fault: cut, at: after}`, true, isCut},
		{"cut after, free", `{fault: cut, at: after, billed: false}`, false, isCut},
		{"refused", `{fault: refuse}`, false, func(t *testing.T, e exchange) {
			require.Error(t, e.err)
			require.True(t, errors.Is(e.err, syscall.ECONNREFUSED) || errors.Is(e.err, syscall.ECONNRESET) || errors.Is(e.err, syscall.EPIPE), "%v", e.err)
		}},
		{"stall and cut", `{fault: stall, for: 20ms}`, false, isCut},
		{"stall and cut, billed", `{fault: stall, for: 20ms, billed: true}`, true, isCut},
		{"stall and answer", `{fault: stall, for: 20ms, then: answer}`, true, isAnswer},
		{"slow", `{fault: slow, for: 20ms}`, true, isAnswer},
		{"broken JSON", `{fault: broken-json}`, true, func(t *testing.T, e exchange) {
			require.NoError(t, e.err)
			require.Equal(t, 200, e.status)
			require.False(t, json.Valid([]byte(e.body)))
		}},
		{"error under 200", `{fault: error-body, id: "529"}`, false, func(t *testing.T, e exchange) {
			require.Equal(t, 200, e.status)
			require.Equal(t, "overloaded_error", e.failure(t).Error.Type)
		}},
		{"HTML", `{fault: html, status: 502}`, false, func(t *testing.T, e exchange) {
			require.Equal(t, 502, e.status)
			require.Contains(t, e.header.Get("Content-Type"), "text/html")
			require.Empty(t, e.header.Get("request-id"))
		}},
		{"content filter, billed", `{fault: error, id: filter, billed: true}`, true, func(t *testing.T, e exchange) {
			require.Equal(t, 400, e.status)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways(t, "faults: [{name: planned, when: {calls: 1}, do: "+c.do+"}]") {
				c.check(t, w.post(askFor("a harbor at night", 500, asSchema)))
				row := w.server.Meter().Totals
				require.Equal(t, c.billed, row.Billed == 1, w.name)
				require.Equal(t, c.billed, row.CostPico > 0, w.name)
				require.Equal(t, int64(1), w.server.Meter().Faults["planned"])
				isAnswer(t, w.post(askFor("a harbor at night", 500, asSchema)))
			}
		})
	}
}

func isCut(t *testing.T, e exchange) {
	t.Helper()
	require.Error(t, e.err)
	require.True(t, errors.Is(e.err, io.EOF) || errors.Is(e.err, io.ErrUnexpectedEOF), "%v", e.err)
	require.Zero(t, e.status)
}

func isAnswer(t *testing.T, e exchange) {
	t.Helper()
	require.True(t, json.Valid([]byte(e.text(t))))
}

// The answer faults change what is said, not how.
func TestAnswerFaults(t *testing.T) {
	fits := func(text string) bool {
		var v struct {
			Tags []string
			Mood string
		}
		return json.Unmarshal([]byte(text), &v) == nil && len(v.Tags) > 0 && (v.Mood == "calm" || v.Mood == "wild")
	}
	cases := []struct {
		name, do   string
		acceptable bool
		check      func(t *testing.T, m message)
	}{
		{"off schema", `{fault: off-schema}`, false, func(t *testing.T, m message) {
			require.Equal(t, "end_turn", m.StopReason)
			require.True(t, json.Valid([]byte(m.Content[0].Text)))
			require.False(t, fits(m.Content[0].Text))
		}},
		{"prose", `{fault: prose}`, false, func(t *testing.T, m message) { require.False(t, json.Valid([]byte(m.Content[0].Text))) }},
		{"enum case", `{fault: enum-case}`, true, func(t *testing.T, m message) {
			require.False(t, fits(m.Content[0].Text))
			require.True(t, fits(strings.NewReplacer("CALM", "calm", "WILD", "wild").Replace(m.Content[0].Text)))
		}},
		{"empty", `{fault: empty}`, false, func(t *testing.T, m message) {
			require.Equal(t, "end_turn", m.StopReason)
			require.Empty(t, m.Content)
			require.Zero(t, m.Usage.Output)
		}},
		{"refusal", `{fault: stop, reason: refusal, category: cyber}`, false, func(t *testing.T, m message) {
			require.Equal(t, "refusal", m.StopReason)
			require.Equal(t, "cyber", m.StopDetails.Category)
			require.Empty(t, m.Content)
			require.Zero(t, m.Usage.Input+m.Usage.Output)
		}},
		{"refusal in the middle", `{fault: stop, reason: refusal, partial: true}`, false, func(t *testing.T, m message) {
			require.NotEmpty(t, m.Content)
			require.NotZero(t, m.Usage.Output)
		}},
		{"max_tokens", `{fault: stop, reason: max_tokens}`, false, func(t *testing.T, m message) {
			require.Equal(t, "max_tokens", m.StopReason)
			require.Equal(t, int64(500), m.Usage.Output)
			require.False(t, json.Valid([]byte(m.Content[0].Text)))
		}},
		{"context window", `{fault: stop, reason: model_context_window_exceeded}`, false, func(t *testing.T, m message) {
			require.Equal(t, "model_context_window_exceeded", m.StopReason)
			require.NotEmpty(t, m.Content)
		}},
		{"unknown", `{fault: stop, reason: tired}`, false, func(t *testing.T, m message) { require.Equal(t, "tired", m.StopReason) }},
		{"long enough", `{fault: long, tokens: 400}`, true, func(t *testing.T, m message) {
			require.True(t, fits(m.Content[0].Text))
			require.InDelta(t, 400, m.Usage.Output, 1)
		}},
		{"too long", `{fault: long, tokens: 501}`, false, func(t *testing.T, m message) {
			require.Equal(t, "max_tokens", m.StopReason)
			require.Equal(t, int64(500), m.Usage.Output)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := inProcess(t, "faults: [{do: "+c.do+"}]")
			m := w.post(askFor("a harbor at night", 500, asSchema)).message(t)
			c.check(t, m)
			row := w.server.Meter().Totals
			require.Equal(t, c.acceptable, row.Acceptable == 1)
			require.Equal(t, claudesim.Usage{Input: m.Usage.Input, Output: m.Usage.Output}, row.Usage, "what is reported is what is billed")
			require.Equal(t, m.Usage.Input > 0, row.Billed == 1)
		})
	}
}

func TestAPausedAnswerGoesOnWhenItIsSentBack(t *testing.T) {
	w := inProcess(t, "faults: [{do: {fault: stop, reason: pause_turn}}]")
	body := strings.Replace(ask("a harbor at night"), "haiku-4-5", "sonnet-5", 1)
	first := w.post(body).message(t)
	require.Equal(t, "pause_turn", first.StopReason)
	back, _ := json.Marshal(first.Content[0].Text)
	rest := w.post(strings.Replace(body, `]}`, `,{"role":"assistant","content":`+string(back)+`}]}`, 1)).message(t)
	require.Equal(t, "end_turn", rest.StopReason)
	whole := inProcess(t, "").post(body).text(t)
	require.Equal(t, whole, first.Content[0].Text+rest.Content[0].Text)
}

func TestAStallForEverEndsWhenTheClientLeaves(t *testing.T) {
	for _, billed := range []bool{false, true} {
		for _, w := range ways(t, "faults: [{do: {fault: stall, billed: "+map[bool]string{true: "true", false: "false"}[billed]+"}}]") {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/messages", strings.NewReader(ask("a harbor")))
			require.NoError(t, err)
			req.Header.Set("x-api-key", "k")
			req.Header.Set("anthropic-version", "2026-10-21")
			_, err = w.client.Do(req)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, w.name)
			require.Eventually(t, func() bool { return len(w.server.Calls()) == 1 }, 5*time.Second, time.Millisecond)
			call := w.server.Calls()[0]
			require.Equal(t, billed, call.Billed, w.name)
			require.False(t, call.Complete)
		}
	}
}

func TestAClientThatLeavesBeforeTheAnswerIsBilledAsTheProfileSays(t *testing.T) {
	for _, word := range []string{"billed", "unbilled"} {
		w := inProcess(t, "abandoned: "+word+"\nlatency: {fixed: 10s}")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/messages", strings.NewReader(ask("a harbor")))
		require.NoError(t, err)
		req.Header.Set("x-api-key", "k")
		req.Header.Set("anthropic-version", "2026-10-21")
		_, err = w.client.Do(req)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, word == "billed", w.server.Meter().Totals.Billed == 1)
		require.Zero(t, w.server.Meter().Totals.Acceptable)
	}
}

func TestSpendLimitsNameADateFromTheCallOn(t *testing.T) {
	w := inProcess(t, "faults: [{do: {fault: error, id: org_limit, regain: 48h}}]")
	want := time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02")
	require.Contains(t, w.post(ask("x")).failure(t).Error.Message, "You will regain access on "+want+" at ")
}
