package webhook

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	r := serve(t, says(204, ""))
	c := to(r)
	vars := map[string]string{"TOKEN": "tok-123456", "PATH_SECRET": "xyz-987654"}
	c.URL += "/${PATH_SECRET}?a=b"
	c.Headers = map[string]string{"authorization": "Bearer ${TOKEN}", "X-Literal": "$${TOKEN} costs $5"}
	c.LookupEnv = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	res, f := handle(t, c)
	require.Nil(t, f)
	require.Nil(t, res.Body, "no content is no result")
	got := r.requests()[0]
	require.Equal(t, "POST", got.method)
	require.Equal(t, "/hook/xyz-987654?a=b", got.path)
	require.Equal(t, body, got.body, "the bytes as they are")
	require.Equal(t, "Bearer tok-123456", got.header.Get("Authorization"))
	require.Equal(t, "${TOKEN} costs $5", got.header.Get("X-Literal"))
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Equal(t, "evt-1", got.header.Get("Idempotency-Key"))
	require.Equal(t, "siding", got.header.Get("User-Agent"))

	c.Method, c.IdempotencyHeader, c.Headers = "PUT", "X-Event", map[string]string{"User-Agent": "me", "Content-Type": "application/cloudevents+json"}
	d := delivery("wörld %41")
	d.ContentType = "application/vnd.x+json; charset=utf-8"
	h := newHandler(t, c)
	_, err := h.Handle(t.Context(), d)
	require.NoError(t, err)
	got = r.requests()[1]
	require.Equal(t, "PUT", got.method)
	require.Equal(t, "me", got.header.Get("User-Agent"))
	require.Equal(t, "w%C3%B6rld %2541", got.header.Get("X-Event"))
	require.Equal(t, "application/cloudevents+json", got.header.Get("Content-Type"))
	require.Empty(t, got.header.Get("Idempotency-Key"))

	c.Headers = nil
	d.Body, d.ContentType = []byte{0xff, 0}, "application/octet-stream"
	_, err = newHandler(t, c).Handle(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "\xff\x00", r.requests()[2].body)
	require.Equal(t, "application/octet-stream", r.requests()[2].header.Get("Content-Type"))
}

func TestEventIDsStayDifferentInHeaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		require.Equal(t, a == b, headerText(a) == headerText(b))
		for _, c := range []byte(headerText(a)) {
			require.True(t, c >= ' ' && c < 0x7f)
		}
		require.Equal(t, headerText(a), strings.TrimSpace(headerText(a)))
	})
}

func TestTheReplyIsTheResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ reply, want string }{
		"JSON":                 {"{\"a\": [1,\n 2]}\n", `{"a":[1,2]}`},
		"text":                 {"ok\n", `"ok"`},
		"bytes that are none":  {"\xff\x00", "\"\ufffd\\u0000\""},
		"nothing":              {" ", ""},
		"what is too long":     {strings.Repeat("1", 98) + "éé", `"` + strings.Repeat("1", 98) + "é" + cutMark + `"`},
		"half a character cut": {strings.Repeat("1", 99) + "éé", `"` + strings.Repeat("1", 99) + cutMark + `"`},
		"a number that is cut": {strings.Repeat("1", 101), `"` + strings.Repeat("1", 100) + cutMark + `"`},
		"as long as it may be": {strings.Repeat("1", 100), strings.Repeat("1", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := to(serve(t, says(200, c.reply)))
			conf.MaxResponse = 100
			res, f := handle(t, conf)
			require.Nil(t, f)
			require.Equal(t, c.want, string(res.Body))
		})
	}
}

func TestWhatStatusesMean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		header  []string
		want    verdict
		waiting time.Duration
	}{
		{200, nil, received, 0},
		{202, nil, received, 0},
		{302, []string{"Location", "http://example.com/"}, misconfigured, 0},
		{304, nil, misconfigured, 0},
		{400, nil, refused, 0},
		{401, []string{"Retry-After", "7"}, credentials, 0},
		{402, nil, account, 0},
		{403, nil, credentials, 0},
		{404, nil, refused, 0},
		{407, nil, misconfigured, 0},
		{408, nil, timedOut, 0},
		{409, []string{"Retry-After", "7"}, serverError, 7 * time.Second},
		{410, nil, refused, 0},
		{413, nil, tooLarge, 0},
		{422, nil, refused, 0},
		{425, nil, serverError, 0},
		{429, nil, rateLimited, 0},
		{429, []string{"Retry-After", "171"}, rateLimited, 171 * time.Second},
		{500, nil, serverError, 0},
		{500, []string{"Retry-After", "3"}, serverError, 3 * time.Second},
		{503, nil, serverError, 0},
		{503, []string{"Retry-After", "Fri, 01 Jan 2100 00:01:00 GMT"}, overloaded, time.Minute},
		{504, nil, timedOut, 0},
		{529, []string{"Retry-After", "2"}, overloaded, 2 * time.Second},
		{599, nil, serverError, 0},
	} {
		t.Run(strconv.Itoa(c.status)+" "+strings.Join(c.header, " "), func(t *testing.T) {
			t.Parallel()
			conf := to(serve(t, says(c.status, "why it\n is so", c.header...)))
			conf.Clock = func() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }
			res, f := handle(t, conf)
			if c.want == received {
				require.Nil(t, f)
				return
			}
			require.Equal(t, c.want, verdict{f.Outcome, f.Cause, f.Scope})
			require.Equal(t, c.waiting, f.RetryAfter)
			require.Equal(t, c.status, f.Status)
			require.Contains(t, f.Error(), strconv.Itoa(c.status))
			require.False(t, f.NoCall)
			require.False(t, res.NoCall)
			require.Equal(t, f.Scope == siding.ScopeLane, strings.HasPrefix(f.Lane, "webhook/127.0.0.1:"))
			if c.status >= 400 {
				require.Contains(t, f.Error(), ": why it is so")
			}
		})
	}
}

// Every status has one meaning; the configuration's comes first; only what may end by itself rests the lane.
func TestAnyStatusHasAMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(100, 999).Draw(t, "status")
		asked := rapid.Bool().Draw(t, "asked")
		v := byStatus(status, asked)
		require.Contains(t, siding.Outcomes(), v.outcome)
		require.Equal(t, v.outcome == siding.OutcomeDone, status/100 == 2)
		require.Equal(t, v.outcome == siding.OutcomeHeld, v.scope != "")
		require.Equal(t, v.scope == siding.ScopeLane, v.cause == siding.CauseRateLimited || v.cause == siding.CauseOverloaded)
		require.Equal(t, v.cause == "", v.outcome == siding.OutcomeDone)
		if v.outcome == siding.OutcomePermanent {
			require.Equal(t, 4, status/100)
		}
		o := rapid.SampledFrom([]siding.Outcome{"done", "transient", "permanent", "gray"}).Draw(t, "outcome")
		h := &Handler{statuses: map[int]siding.Outcome{status: o}}
		w := h.judge(status, asked)
		require.Equal(t, o, w.outcome)
		require.Empty(t, w.scope)
		require.Equal(t, o == siding.OutcomeDone, w.cause == "")
	})
}

func TestTheConfigurationSaysWhatAStatusMeans(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]siding.Outcome{409: siding.OutcomeDone, 302: siding.OutcomeDone, 202: siding.OutcomeTransient, 403: siding.OutcomePermanent, 422: siding.OutcomeGray} {
		c := to(serve(t, says(status, `{"ok":1}`, "Location", "http://example.com/")))
		c.Done, c.Transient, c.Permanent, c.Gray = []int{409, 302}, []int{202}, []int{403}, []int{422}
		c.Journal = newJournal()
		res, f := handle(t, c)
		if want == siding.OutcomeDone {
			require.Nil(t, f, "%v", f)
			require.Equal(t, `{"ok":1}`, string(res.Body))
			continue
		}
		require.Equal(t, want, f.Outcome)
	}
}

func TestRetryAfterIsReadWithCare(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "NaN": 0, "soon": 0, " 30 ": 30 * time.Second, "1.5": 1500 * time.Millisecond, "1e300": maxRetryAfter, "+Inf": maxRetryAfter,
		"99999999999999999999": maxRetryAfter, "Tue, 01 Jan 2030 00:00:10 GMT": 10 * time.Second, "Tue, 01 Jan 2030 00:00:00 GMT": 0,
		"Sat, 01 Jan 2000 00:00:00 GMT": 0, "Fri, 01 Jan 2100 00:00:00 GMT": maxRetryAfter,
	} {
		require.Equal(t, want, retryAfter(http.Header{"Retry-After": {value}}, now), value)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := retryAfter(http.Header{"Retry-After": {rapid.String().Draw(t, "value")}}, now)
		require.True(t, d >= 0 && d <= maxRetryAfter)
	})
}

func TestABrokenRecordIsNotSent(t *testing.T) {
	t.Parallel()
	r := serve(t, says(200, ""))
	c := to(r)
	c.JSON, c.InputSchema = true, []byte(`{"required": ["id"]}`)
	h := newHandler(t, c)
	for text, want := range map[string]siding.Cause{
		"{\"id\": \"\xff\"}": siding.CauseInvalidUTF8, `{"id":`: siding.CauseInvalidJSON, "": siding.CauseInvalidJSON, `{}`: siding.CauseSchemaViolation,
	} {
		d := delivery("x")
		d.Body, d.ContentType = []byte(text), "text/csv"
		res, err := h.Handle(t.Context(), d)
		f := siding.FailureOf(err)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.Equal(t, want, f.Cause)
		require.True(t, f.NoCall && res.NoCall)
		require.Equal(t, want != siding.CauseSchemaViolation, f.FaultOffset != nil)
	}
	d := delivery("x")
	d.ContentType = "text/csv" // of a row that was repaired
	_, err := h.Handle(t.Context(), d)
	require.NoError(t, err)
	require.Len(t, r.requests(), 1)
	require.Equal(t, "application/json", r.requests()[0].header.Get("Content-Type"))

	d.ContentType = "a\nb"
	_, err = newHandler(t, to(r)).Handle(t.Context(), d)
	require.Equal(t, siding.CauseInvalidRequest, siding.FailureOf(err).Cause)
}

func TestARequestThatTakesTooLongIsTransient(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	r := serve(t, func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-over:
		case <-req.Context().Done():
		}
	})
	defer close(over)
	c := to(r)
	c.Timeout, c.Journal = time.Second, newJournal()
	_, f := handle(t, c)
	require.Equal(t, siding.OutcomeTransient, f.Outcome)
	require.Equal(t, siding.CauseTimeout, f.Cause)

	for cause, want := range map[error]siding.Cause{siding.ErrShutdown: siding.CauseShutdown, siding.ErrLeaseLost: siding.CauseLeaseLost} {
		before := len(r.requests())
		ctx, cancel := context.WithCancelCause(t.Context())
		j := newJournal()
		c.Timeout, c.Journal = time.Minute, j
		ended := make(chan error)
		h := newHandler(t, c)
		go func() {
			_, err := h.Handle(ctx, delivery("x"))
			ended <- err
		}()
		require.Eventually(t, func() bool { return len(r.requests()) > before }, 20*time.Second, time.Millisecond)
		cancel(cause)
		f = siding.FailureOf(<-ended)
		require.Equal(t, siding.OutcomeInterrupted, f.Outcome)
		require.Equal(t, want, f.Cause)
		require.Equal(t, []siding.Fate{siding.FateUnknown}, j.fates(), "it may have been received")
	}
}

func TestNoValueOfTheEnvironmentComesOut(t *testing.T) {
	t.Parallel()
	const secret = `top"secret/123`
	for _, status := range []int{200, 400} {
		r := serve(t, func(w http.ResponseWriter, req *http.Request) {
			says(status, `{"raw": "top\"secret/123"} `+req.Header.Get("Authorization")+" "+req.URL.Path, "X-Request-Id", secret)(w, req)
		})
		j := newJournal()
		c := to(r)
		c.URL += "/${HOOK}"
		c.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Mode": "${MODE}"}
		c.LookupEnv = func(name string) (string, bool) {
			return map[string]string{"TOKEN": secret, "HOOK": "hook-secret", "MODE": "raw"}[name], true
		}
		c.Journal = j
		res, f := handle(t, c)
		text := string(res.Body) + string(j.answers[1]) + j.calls[0].RequestID
		if f != nil {
			text += f.Error() + f.RequestID + j.calls[0].Error.Text
		}
		require.NotContains(t, text, "secret")
		require.Contains(t, text, "[TOKEN]")
		require.Contains(t, text, "[HOOK]")
		require.Contains(t, text, "raw", "a short value is no secret, and would be found everywhere")
	}
}

func TestHostileRepliesAreHarmless(t *testing.T) {
	t.Parallel()
	text := "\x1b[31m\x00\xff\u202e" + strings.Repeat("x", 4<<20)
	_, f := handle(t, to(serve(t, says(400, text))))
	for _, bad := range []string{"\x1b", "\x00", "\xff", "\u202e"} {
		require.NotContains(t, f.Error(), bad)
	}
	require.Less(t, len(f.Error()), 1000)
}
