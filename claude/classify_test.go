package claude

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

type sampleError struct {
	ID      string            `json:"id"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Outcome string            `json:"outcome"`
}

// bytes gives the body as it goes over the wire: JSON, or a page.
func (s sampleError) bytes() []byte {
	var page string
	if json.Unmarshal(s.Body, &page) == nil {
		return []byte(page)
	}
	return s.Body
}

func loadSamples(t *testing.T) (list []sampleError) {
	t.Helper()
	f, err := os.Open("testdata/claude-errors.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s sampleError
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		list = append(list, s)
	}
	require.NoError(t, lines.Err())
	require.Greater(t, len(list), 30)
	return list
}

// causes of the samples, so that a right outcome for a wrong reason shows.
var sampleCauses = map[string]siding.Cause{
	"credit": "account", "org_limit": "account", "ws_limit": "account", "tier_cap": "account", "org_disabled": "account", "auth": "credentials",
	"billing": "account", "perm": "credentials", "model404": "model-not-found", "thinking": "configuration", "maxtok_cap": "configuration",
	"grammar": "configuration", "toolong": "input-too-large", "toolong2": "input-too-large", "413": "input-too-large", "empty": "empty-input",
	"ws": "empty-input", "surrogate": "invalid-text", "img5": "invalid-media", "imgdim": "invalid-media", "imgtype": "invalid-media",
	"imgbad": "invalid-media", "pdf100": "invalid-media", "pdfbad": "invalid-media", "toolids": "invalid-request", "extra": "invalid-request",
	"generic400": "invalid-request", "filter": "content-filtered", "trunc400": "network", "conflict": "server-error", "rl": "rate-limited",
	"cf429": "rate-limited", "500": "server-error", "503": "server-error", "504": "timeout", "529": "overloaded", "413html": "input-too-large",
	"502html": "server-error",
}

func requireOutcome(t *testing.T, want string, f *siding.Failure) {
	t.Helper()
	require.NotNil(t, f)
	if want == "throttled" {
		require.Equal(t, siding.OutcomeHeld, f.Outcome, f)
		require.Equal(t, siding.ScopeLane, f.Scope)
		require.Contains(t, []siding.Cause{siding.CauseRateLimited, siding.CauseOverloaded}, f.Cause)
		return
	}
	require.Equal(t, siding.Outcome(want), f.Outcome, f)
	if f.Outcome == siding.OutcomeHeld {
		require.NotEmpty(t, f.Scope)
	}
}

// ask sends one request with the SDK to a server that answers with the sample.
func ask(t *testing.T, s sampleError) error {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "application/json")
		w.Header().Set("request-id", "req_header_"+s.ID)
		for k, v := range s.Headers {
			w.Header().Set(k, v)
		}
		w.WriteHeader(s.Status)
		_, _ = w.Write(s.bytes())
	}))
	defer srv.Close()
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithBaseURL(srv.URL),
		option.WithMaxRetries(0), option.WithHTTPClient(srv.Client()))
	_, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "claude-haiku-4-5", MaxTokens: 16, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
	})
	return err
}

func TestEverySampleGetsItsOutcomeThroughTheSDK(t *testing.T) {
	t.Parallel()
	for _, s := range loadSamples(t) {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			err := ask(t, s)
			require.Error(t, err)
			f := Classify(err)
			requireOutcome(t, s.Outcome, f)
			require.Equal(t, sampleCauses[s.ID], f.Cause)
			require.Equal(t, s.Status, f.Status)
			require.Equal(t, "req_header_"+s.ID, f.RequestID)
			if e := parseEnvelope(s.bytes()); e.message != "" {
				require.Contains(t, f.Error(), e.message, "what the service said is kept")
			}
			direct := ClassifyResponse(s.Status, header(s.Headers), s.bytes())
			require.Equal(t, f.Outcome, direct.Outcome)
			require.Equal(t, f.Cause, direct.Cause)
			require.Equal(t, f.RetryAfter, direct.RetryAfter)
		})
	}
}

func TestOtherWordsDoNotMatterWhereTypeOrCodeSaysEnough(t *testing.T) {
	t.Parallel()
	for _, s := range loadSamples(t) {
		e := parseEnvelope(s.bytes())
		if _, ok := byType[e.kind]; !ok && e.code == "" && s.Status < 402 {
			continue // an invalid request, which only its words tell apart
		}
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			for _, words := range []string{"", "Etwas ist schiefgegangen.", "prompt is too long, image, grammar", "\x00\xff{{"} {
				body := encode(map[string]any{"type": "error", "error": map[string]any{
					"type": e.kind, "message": words, "details": map[string]any{"error_code": e.code},
				}})
				requireOutcome(t, s.Outcome, ClassifyResponse(s.Status, header(s.Headers), body))
			}
		})
	}
}

func TestCapitalsAndSurroundingsOfAMessageDoNotMatter(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]siding.Cause{
		"YOUR CREDIT BALANCE IS TOO LOW":                                       siding.CauseAccount,
		"This organization has been temporarily disabled for review":           siding.CauseAccount,
		"This model requires that data retention is configured":                siding.CauseAccount,
		"Output was blocked by our content filter":                             siding.CauseContentFiltered,
		"tools.0.custom.input_schema.type: Field required":                     siding.CauseConfiguration,
		"output_config.format.schema: For 'object' type, set x":                siding.CauseConfiguration,
		"`max_tokens`: 900000 > 64000":                                         siding.CauseInvalidRequest, // not a place: quoted in the sentence
		"max_tokens: 900000 > 64000":                                           siding.CauseConfiguration,
		"system: text content blocks must be non-empty":                        siding.CauseConfiguration,
		"This model does not support assistant message prefill.":               siding.CauseConfiguration,
		"system prompts are nice":                                              siding.CauseInvalidRequest,
		"messages.3: all messages must have non-empty content except the last": siding.CauseEmptyInput,
		"messages.0.content.1.document.source: The PDF is encrypted":           siding.CauseInvalidMedia,
		"The request body is not valid JSON: invalid high surrogate in string": siding.CauseInvalidText,
		"The request exceeds the context window of this model":                 siding.CauseInputTooLarge,
		"messages: roles must alternate between \"user\" and \"assistant\"":    siding.CauseInvalidRequest,
	} {
		body := encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}})
		require.Equal(t, want, ClassifyResponse(400, nil, body).Cause, message)
	}
}

func TestCodesDecideBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]siding.Scope{
		"organization_on_hold": siding.ScopeAccount, "cmek_key_disabled": siding.ScopeAccount, "cmek_key_network_blocked": siding.ScopeAccount,
		"linked_organization_billing_unavailable": siding.ScopeAccount, "user_profile_not_billable": siding.ScopeAccount,
		"user_profile_something_new": siding.ScopeAccount, "ramp_limit_exceeded": siding.ScopeLane,
	} {
		body := encode(map[string]any{"error": map[string]any{"type": "invalid_request_error", "details": map[string]any{"error_code": code}}})
		f := ClassifyResponse(400, nil, body)
		require.Equal(t, siding.OutcomeHeld, f.Outcome, code)
		require.Equal(t, want, f.Scope, code)
	}
	body := encode(map[string]any{"error": map[string]any{"type": "invalid_request_error", "details": map[string]any{"error_code": "request_body_timeout"}}})
	require.Equal(t, siding.OutcomeTransient, ClassifyResponse(400, nil, body).Outcome)
}

func TestStatusesWithoutAnEnvelope(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]siding.Outcome{
		301: siding.OutcomeHeld, 308: siding.OutcomeHeld, 400: siding.OutcomePermanent, 401: siding.OutcomeHeld, 402: siding.OutcomeHeld,
		403: siding.OutcomeHeld, 404: siding.OutcomeHeld, 407: siding.OutcomeHeld, 408: siding.OutcomeTransient, 409: siding.OutcomeTransient,
		413: siding.OutcomePermanent, 418: siding.OutcomePermanent, 422: siding.OutcomePermanent, 429: siding.OutcomeHeld,
		500: siding.OutcomeTransient, 502: siding.OutcomeTransient, 503: siding.OutcomeTransient, 504: siding.OutcomeTransient,
		520: siding.OutcomeTransient, 521: siding.OutcomeTransient, 522: siding.OutcomeTransient, 523: siding.OutcomeTransient,
		524: siding.OutcomeTransient, 529: siding.OutcomeHeld, 599: siding.OutcomeTransient, 200: siding.OutcomeTransient, 0: siding.OutcomeTransient,
	} {
		f := ClassifyResponse(status, nil, []byte("<html><title>x</title></html>"))
		require.Equal(t, want, f.Outcome, strconv.Itoa(status))
	}
}

func header(m map[string]string) http.Header {
	h := http.Header{}
	for k, v := range m {
		h.Set(k, v)
	}
	return h
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"retry-after", "12", 12 * time.Second},
		{"retry-after", "171", 171 * time.Second},
		{"retry-after", "0.5", 500 * time.Millisecond},
		{"retry-after-ms", "1500", 1500 * time.Millisecond},
		{"retry-after", "Mon, 30 Nov 2026 12:01:00 GMT", time.Minute},
		{"retry-after", "Mon, 30 Nov 2026 11:00:00 GMT", 0},
		{"retry-after", "999999999999", maxRetryAfter},
		{"retry-after", "1e300", maxRetryAfter},
		{"retry-after", "Inf", maxRetryAfter},
		{"retry-after", "NaN", 0},
		{"retry-after", "-5", 0},
		{"retry-after", "soon", 0},
		{"retry-after", "", 0},
	} {
		require.Equal(t, c.want, retryAfter(header(map[string]string{c.name: c.value}), now), c.name+": "+c.value)
	}
	both := header(map[string]string{"retry-after": "2", "retry-after-ms": "1200"})
	require.Equal(t, 1200*time.Millisecond, retryAfter(both, now), "the finer one counts")
}

func TestADatedHoldEndsAtItsDate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	read := func(status int, message, code string) time.Time {
		body := encode(map[string]any{"error": map[string]any{
			"type": "invalid_request_error", "message": message, "details": map[string]any{"error_code": code},
		}})
		f := classifyResponse(status, nil, body, now)
		require.Equal(t, siding.ScopeAccount, f.Scope, message)
		return f.Until
	}
	september := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, september, read(400, "You will regain access on 2026-09-01 at 00:00 UTC.", ""))
	require.Equal(t, september.Add(6*time.Hour), read(400, "you will REGAIN ACCESS ON 2026-09-01 at 06:00 UTC.", ""))
	require.Equal(t, september, read(400, "You will regain access on 2026-09-01.", ""))
	require.Zero(t, read(400, "You will regain access on 2026-08-01 at 00:00 UTC.", ""), "a date in the past is none")
	require.Zero(t, read(400, "You will regain access on 2026-13-45 at 99:99 UTC.", ""))
	require.Zero(t, read(400, "You will regain access on 9999-01-01 at 00:00 UTC.", ""))
	require.Zero(t, read(400, "Your credit balance is too low", ""))
	require.Equal(t, september, read(429, "limit reached", "enforced_spend_limit_reached"), "without a date: the first of next month")
	require.Equal(t, september, read(429, "You will regain access on 2026-08-01 at 00:00 UTC.", "contract_spend_limit_reached"))
	require.Equal(t, september, read(429, "You have reached your API usage limits", ""), "a spend limit without its code")
	december := classifyResponse(429, nil, []byte(`{"error":{"details":{"error_code":"contract_spend_limit_reached"}}}`), time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC))
	require.Equal(t, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), december.Until)
}

func TestClassifyNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(-1, 700).Draw(t, "status")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		h := http.Header{"Retry-After": {string(rapid.SliceOf(rapid.Byte()).Draw(t, "retry"))}}
		f := ClassifyResponse(status, h, body)
		if f == nil || f.Outcome == "" || f.Outcome == siding.OutcomeDone || f.Cause == "" || f.RetryAfter < 0 || f.Error() == "" && status == 0 {
			t.Fatalf("not a failure: %+v", f)
		}
		if f.Outcome == siding.OutcomeHeld && f.Scope == "" {
			t.Fatalf("a hold without a scope: %+v", f)
		}
		f.Stored()
	})
}

func TestClassifyNeverPanicsOnEnvelopesOfTheWrongShape(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](7), rapid.Just[any]("x"), rapid.Just[any]([]any{1}), rapid.Just[any](map[string]any{"type": 1}),
		rapid.Map(rapid.String(), func(s string) any { return s }))
	rapid.Check(t, func(t *rapid.T) {
		body := encode(map[string]any{"type": part.Draw(t, "type"), "request_id": part.Draw(t, "id"), "error": map[string]any{
			"type": part.Draw(t, "kind"), "message": part.Draw(t, "message"), "details": part.Draw(t, "details"),
		}})
		ClassifyResponse(rapid.IntRange(0, 600).Draw(t, "status"), nil, body).Stored()
	})
}
