package claude

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/siding-dev/siding"
)

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 64 << 20

var (
	errCallTimeout = fmt.Errorf("the call took longer than its timeout: %w", context.DeadlineExceeded)
	errAnswerSize  = errors.New("the answer is larger than an answer can be")
)

// newHTTPClient makes a client for many calls to one host at once. How long a call may take is decided by its context.
func newHTTPClient(timeout time.Duration) *http.Client {
	return &http.Client{CheckRedirect: dontFollow, Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: min(30*time.Second, timeout), KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   15 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       90 * time.Second,
		ResponseHeaderTimeout: timeout,
	}}
}

// dontFollow gives a redirect as the answer: following it would send the request a second time.
func dontFollow(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// A reply is what came of sending a request once.
type reply struct {
	status int // 0: no answer began
	header http.Header
	body   []byte // exactly as it came; the beginning of it when err is not nil
	err    error  // nil: the body is whole
	sent   bool   // a byte of the request may have left
}

// send asks for a message once.
func (h *Handler) send(ctx context.Context, body []byte, eventID string) reply {
	return h.post(ctx, "v1/messages", body, eventID)
}

// post sends a request once. The SDK sends the bytes as they are, and does not try again.
func (h *Handler) post(ctx context.Context, path string, body []byte, eventID string) reply {
	ctx, cancel := context.WithTimeoutCause(ctx, h.c.Timeout, errCallTimeout)
	defer cancel()
	var r reply
	opts := []option.RequestOption{
		option.WithRequestBody("application/json", body),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return r.capture(req, next, h.maxAnswer)
		}),
	}
	if h.c.EventHeader != "" {
		opts = append(opts, option.WithHeader(h.c.EventHeader, eventID))
	}
	var trace wireTrace
	var ignored *http.Response
	err := h.client.Post(httptrace.WithClientTrace(ctx, trace.hooks()), path, nil, &ignored, opts...)
	if r.status != 0 {
		// The SDK's own error says the same as the captured answer, or that the context ended after it had come.
		r.sent = true
	} else if r.err == nil {
		r.err = err // nothing was captured: the SDK did not get as far as sending
		if err == nil {
			r.err = errors.New("the SDK gave no answer and no error")
		}
	}
	if r.status == 0 {
		r.sent = trace.maybeSent(r.err)
	}
	if r.err != nil && ctx.Err() != nil {
		r.err = context.Cause(ctx) // why it ended, not only that it did
	}
	return r
}

// capture keeps the exact bytes of the answer, however large the service means to make it.
func (r *reply) capture(req *http.Request, next option.MiddlewareNext, most int) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		r.err = err
		return nil, err
	}
	r.status, r.header = res.StatusCode, res.Header
	defer res.Body.Close()
	r.body, r.err = io.ReadAll(io.LimitReader(res.Body, int64(most)+1))
	if r.err == nil && len(r.body) > most {
		r.body, r.err = r.body[:most], errAnswerSize
	}
	res.Body = io.NopCloser(bytes.NewReader(r.body))
	return res, nil
}

// wireTrace follows one request down to its connection.
type wireTrace struct {
	asked, connected, wrote atomic.Bool
}

func (t *wireTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			// The transport goes for another connection only after the one before took nothing of the request.
			t.asked.Store(true)
			t.connected.Store(false)
			t.wrote.Store(false)
		},
		GotConn:          func(httptrace.GotConnInfo) { t.connected.Store(true) },
		WroteHeaderField: func(string, []string) { t.wrote.Store(true) },
		WroteHeaders:     func() { t.wrote.Store(true) },
		WroteRequest:     func(httptrace.WroteRequestInfo) { t.wrote.Store(true) },
	}
}

// maybeSent tells whether a request without an answer may have reached the service. A transport that is not net/http's
// calls no hooks; then only an error that cannot come after sending proves that nothing was sent.
func (t *wireTrace) maybeSent(err error) bool {
	if t.asked.Load() {
		return t.connected.Load() && t.wrote.Load()
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns), isTLS(err), errors.Is(err, syscall.ECONNREFUSED):
		return false
	case errors.As(err, &op):
		return op.Op != "dial"
	}
	return true
}

// conclude says how a call ended as far as money goes, and what that means for the message. nil: an answer came, and
// can be judged.
func (h *Handler) conclude(r reply, began time.Time) (siding.CallEnd, answer, *siding.Failure) {
	now := h.c.Clock()
	end := siding.CallEnd{Status: r.status, RequestID: h.hide(r.header.Get("request-id"))}
	var a answer
	var f *siding.Failure
	switch {
	case r.status == 0:
		end.Fate = siding.FateUnknown
		if !r.sent {
			end.Fate = siding.FateUnsent
		}
		f = classify(r.err, now)
	case r.status >= 200 && r.status < 300:
		var whole bool
		if a, whole = parseAnswer(r.body); whole && r.err == nil {
			end.Fate, end.Answer, end.Usage = siding.FateAnswered, r.body, a.Usage
			end.Cost, end.Priced = h.c.Prices.Cost(h.c.Model, a.Usage, began, Multipliers{Batch: a.Tier == "batch", USInference: a.Geo == "us"})
			return end, a, nil
		}
		end.Fate, f = siding.FateUnknown, h.broken(r, now)
	case r.err != nil && (r.status == http.StatusBadRequest || r.status == http.StatusUnprocessableEntity):
		// The text that is missing would have said which of many things it is.
		end.Fate, f = siding.FateUnknown, h.broken(r, now)
	default:
		f = classifyResponse(r.status, r.header, r.body, now)
		end.Fate = siding.FateRefused
		// Filtered: an answer was made, and may be on the bill.
		if f.Cause == siding.CauseContentFiltered || gaveUp(r) {
			end.Fate = siding.FateUnknown
		}
	}
	h.describe(f, r)
	end.RequestID, end.Failure = f.RequestID, f
	return end, answer{}, f
}

// describe completes a failure with what the reply says of itself, and takes the key out of it.
func (h *Handler) describe(f *siding.Failure, r reply) {
	if text := f.Error(); h.c.APIKey != "" && strings.Contains(text, h.c.APIKey) {
		f.Err = errors.New(h.hide(text))
	}
	f.Status, f.RequestID = r.status, h.hide(f.RequestID)
	if f.RequestID == "" {
		f.RequestID = h.hide(r.header.Get("request-id"))
	}
}

// gaveUp tells whether an answer of 500 and above comes from something that stopped waiting, and not from the service
// itself: then the service may have done the work, and bill it. A status of 504 or 524 says so whatever the body; else a
// body that is not an error of the service's own form does.
func gaveUp(r reply) bool {
	switch {
	case r.status < 500:
		return false
	case r.status == http.StatusGatewayTimeout, r.status == 524:
		return true
	}
	return r.err != nil || text(members(r.body)["type"]) != "error" || parseEnvelope(r.body).kind == ""
}

// broken is a failure for an answer that is not whole.
func (h *Handler) broken(r reply, now time.Time) *siding.Failure {
	if r.err == nil {
		return classifyResponse(r.status, r.header, r.body, now)
	}
	f := classify(r.err, now)
	if errors.Is(r.err, errAnswerSize) {
		f.Cause = siding.CauseBadResponse
	}
	return f
}

// hide takes the key out of a text, should the service repeat it.
func (h *Handler) hide(text string) string {
	if h.c.APIKey == "" {
		return text
	}
	return strings.ReplaceAll(text, h.c.APIKey, "[key]")
}
