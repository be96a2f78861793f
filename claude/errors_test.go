package claude

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestClassifyOfErrorsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	require.Nil(t, Classify(nil))
	wrap := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://user:secret@host/v1/messages", Err: err}
	}
	for _, c := range []struct {
		err     error
		outcome siding.Outcome
		cause   siding.Cause
	}{
		{context.Canceled, siding.OutcomeInterrupted, siding.CauseShutdown},
		{siding.ErrLeaseLost, siding.OutcomeInterrupted, siding.CauseLeaseLost},
		{context.DeadlineExceeded, siding.OutcomeTransient, siding.CauseTimeout},
		{wrap(&net.DNSError{Err: "no such host", Name: "x"}), siding.OutcomeTransient, siding.CauseNetwork},
		{wrap(&net.DNSError{Err: "slow", IsTimeout: true}), siding.OutcomeTransient, siding.CauseTimeout},
		{wrap(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), siding.OutcomeTransient, siding.CauseNetwork},
		{wrap(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), siding.OutcomeTransient, siding.CauseNetwork},
		{wrap(&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}), siding.OutcomeHeld, siding.CauseNetwork},
		{wrap(&net.OpError{Op: "dial", Err: syscall.EADDRNOTAVAIL}), siding.OutcomeHeld, siding.CauseNetwork},
		{wrap(x509.UnknownAuthorityError{}), siding.OutcomeTransient, siding.CauseNetwork},
		{wrap(io.EOF), siding.OutcomeTransient, siding.CauseNetwork},
		{io.ErrUnexpectedEOF, siding.OutcomeTransient, siding.CauseNetwork},
		{fmt.Errorf("error parsing response json: %w", &json.SyntaxError{}), siding.OutcomeTransient, siding.CauseBadResponse},
		{errors.New("streaming is required for operations that may take longer than 10 minutes"), siding.OutcomeHeld, siding.CauseConfiguration},
		{errors.New("what is this"), siding.OutcomeTransient, siding.CauseUnknown},
		{siding.Permanent(errors.New("mine")), siding.OutcomePermanent, siding.CauseHandlerError},
	} {
		f := Classify(fmt.Errorf("asking: %w", c.err))
		require.Equal(t, c.outcome, f.Outcome, c.err)
		require.Equal(t, c.cause, f.Cause, c.err)
		require.NotContains(t, f.Error(), "secret")
	}
	for _, f := range []*siding.Failure{
		Classify(wrap(&net.OpError{Op: "dial", Err: syscall.ENFILE})), fileFault("image 1", &fs.PathError{Op: "open", Err: syscall.EMFILE}),
	} {
		require.Equal(t, siding.OutcomeHeld, f.Outcome, "it is not the message's fault")
		require.Equal(t, siding.ScopeLane, f.Scope)
		require.Positive(t, f.RetryAfter, "it passes by itself")
		require.ErrorContains(t, f, "this machine")
	}
	require.ErrorIs(t, Classify(context.DeadlineExceeded), context.DeadlineExceeded, "what is wrapped stays findable")
}

// client makes an SDK client for a handler function, and counts the requests that reach it.
func client(t *testing.T, handle http.HandlerFunc) (anthropic.Client, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		handle(w, r)
	}))
	t.Cleanup(srv.Close)
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithBaseURL(srv.URL),
		option.WithMaxRetries(0), option.WithHTTPClient(srv.Client())), &n
}

var hi = anthropic.MessageNewParams{
	Model: "claude-haiku-4-5", MaxTokens: 16, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
}

func event(kind string, data string) string { return "event: " + kind + "\ndata: " + data + "\n\n" }

const streamStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`

func TestAnErrorInsideAStreamIsReadByItsType(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"overloaded_error": "throttled", "api_error": "transient", "authentication_error": "held", "rate_limit_error": "throttled", "future_error": "transient",
	} {
		c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("content-type", "text/event-stream")
			w.Header().Set("request-id", "req_stream")
			_, _ = io.WriteString(w, event("message_start", streamStart)+event("error", `{"type":"error","error":{"type":"`+kind+`","message":"Overloaded"}}`))
		})
		stream := c.Messages.NewStreaming(t.Context(), hi)
		for stream.Next() {
		}
		require.NoError(t, stream.Close())
		var api *anthropic.Error
		require.ErrorAs(t, stream.Err(), &api)
		require.Equal(t, 200, api.StatusCode, "the trap: the status says that all is well")
		requireOutcome(t, want, Classify(stream.Err()))
	}
}

func TestAStreamCutShortIsNotAccepted(t *testing.T) {
	t.Parallel()
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		_, _ = io.WriteString(w, event("message_start", streamStart)+
			event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)+
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half an ans"}}`))
	})
	stream := c.Messages.NewStreaming(t.Context(), hi)
	var m anthropic.Message
	for stream.Next() {
		require.NoError(t, m.Accumulate(stream.Current()))
	}
	require.NoError(t, stream.Close())
	require.NoError(t, stream.Err(), "the trap: no error")
	f := siding.FailureOf(Accept(&m))
	require.NotNil(t, f)
	require.Equal(t, siding.CauseUnknownStopReason, f.Cause)
}

func TestAnErrorBodyUnderStatus200IsNotAccepted(t *testing.T) {
	t.Parallel()
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "application/json")
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	})
	m, err := c.Messages.New(t.Context(), hi)
	require.NoError(t, err, "the trap: no error")
	f := siding.FailureOf(Accept(m))
	require.NotNil(t, f)
	require.Equal(t, siding.CauseBadResponse, f.Cause)
	require.Error(t, Accept(nil))
}

func TestTheSDKIsNotLeftToRetryOrToWait(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 429, 500, 529} {
		var n atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			w.Header().Set("retry-after", "999999999")
			w.WriteHeader(status)
		}))
		j := newJournal()
		c := config(j, srv.Client())
		c.BaseURL = srv.URL
		_, f := deliver(t, newHandler(t, c), j, delivery("a", `{"title":"x"}`))
		require.NotNil(t, f)
		require.Equal(t, maxRetryAfter, f.RetryAfter, "absurd waits are bounded, and not waited for")
		require.Equal(t, int64(1), n.Load(), "one attempt is one request")
		srv.Close()
	}
}

func TestCancellationByTheClientIsNotAnError(t *testing.T) {
	t.Parallel()
	c, _ := client(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := c.Messages.New(ctx, hi)
	var api *anthropic.Error
	require.NotErrorAs(t, err, &api, "the trap: the context's error, not the SDK's")
	require.Equal(t, siding.CauseTimeout, Classify(err).Cause)
}
