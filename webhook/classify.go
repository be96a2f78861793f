package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// A verdict is what a reply means for the message and for others.
type verdict struct {
	outcome siding.Outcome
	cause   siding.Cause
	scope   siding.Scope
}

var (
	received      = verdict{outcome: siding.OutcomeDone}
	rateLimited   = verdict{siding.OutcomeHeld, siding.CauseRateLimited, siding.ScopeLane}
	overloaded    = verdict{siding.OutcomeHeld, siding.CauseOverloaded, siding.ScopeLane}
	credentials   = verdict{siding.OutcomeHeld, siding.CauseCredentials, siding.ScopeRecipe}
	account       = verdict{siding.OutcomeHeld, siding.CauseAccount, siding.ScopeRecipe}
	misconfigured = verdict{siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe}
	tooLarge      = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseInputTooLarge}
	refused       = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseInvalidRequest}
	serverError   = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseServerError}
	timedOut      = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseTimeout}
	network       = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseNetwork}
	badResponse   = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseBadResponse}
)

// byStatus says what a status means. asked: the reply says how long to wait.
func byStatus(status int, asked bool) verdict {
	switch {
	case status >= 200 && status < 300:
		return received
	case status >= 300 && status < 400, status == http.StatusProxyAuthRequired:
		return misconfigured
	case status == http.StatusTooManyRequests:
		return rateLimited
	case asked && (status == http.StatusServiceUnavailable || status == 529):
		return overloaded
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return credentials
	case status == http.StatusPaymentRequired:
		return account
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout, status == 522, status == 524:
		return timedOut
	case status == http.StatusConflict, status == http.StatusTooEarly, status >= 500 && status < 600:
		return serverError
	case status == http.StatusRequestEntityTooLarge:
		return tooLarge
	case status >= 400 && status < 500:
		return refused
	}
	return badResponse
}

// judge says what a reply means, by the configuration first.
func (h *Handler) judge(status int, asked bool) verdict {
	v := byStatus(status, asked)
	o, ours := h.statuses[status]
	if !ours || o == v.outcome {
		return v
	}
	switch {
	case o == siding.OutcomeDone:
		return received
	case v.outcome == siding.OutcomeDone:
		v.cause = siding.CauseBadResponse
	}
	return verdict{outcome: o, cause: v.cause}
}

// byGateway are statuses that a gateway gives when it does not know what the service behind it did.
func byGateway(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, 520, 524:
		return true
	}
	return false
}

// conclude says how a request ended, and what that means for the message. A nil failure: it was received.
func (h *Handler) conclude(r reply) (siding.CallEnd, *siding.Failure) {
	end := siding.CallEnd{Status: r.status, RequestID: h.secrets.hideText(requestID(r.header)), Priced: true}
	wait := retryAfter(r.header, h.c.Clock())
	var v verdict
	var text string
	switch {
	case r.status == 0:
		end.Fate = siding.FateUnknown
		if !r.sent {
			end.Fate = siding.FateUnsent
		}
		v, text = transport(r.err)
	case errors.Is(r.err, errRedirect):
		end.Fate = siding.FateRefused
		v, text = misconfigured, fmt.Sprintf("%d: %v", r.status, r.err)
	default:
		v = h.judge(r.status, wait > 0)
		switch {
		case v == received && r.err == nil:
			end.Fate, end.Answer = siding.FateAnswered, h.answer(r)
			return end, nil
		case v == received: // nobody knows what the rest would have said
			end.Fate = siding.FateUnknown
			v, text = transport(r.err)
		default:
			end.Fate = siding.FateRefused
			if byGateway(r.status) {
				end.Fate = siding.FateUnknown
			}
			text = describe(r.status, r.body)
		}
	}
	f := &siding.Failure{
		Outcome: v.outcome, Cause: v.cause, Scope: v.scope, RetryAfter: wait, Status: r.status, RequestID: end.RequestID,
		NoCall: errors.Is(r.err, errPrivate), Err: errors.New(siding.Scrub(h.secrets.hideText(text), siding.MaxErrorText)),
	}
	if f.Scope == siding.ScopeLane {
		f.Lane = h.lane
	}
	if v.scope == siding.ScopeRecipe {
		f.RetryAfter = 0 // waiting mends nothing
	}
	end.Failure = f
	return end, f
}

// describe gives a refusal in words: its status, and the beginning of what came with it.
func describe(status int, body []byte) string {
	head := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	const shown = 300
	if rest := strings.Join(strings.Fields(cut(string(body[:min(len(body), 4*shown)]), shown)), " "); rest != "" {
		return head + ": " + rest
	}
	return head
}

// transport says what an error means that came in place of a whole reply.
func transport(err error) (verdict, string) {
	var dns *net.DNSError
	var netErr net.Error
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	say := func(v verdict, what string) (verdict, string) { return v, fmt.Sprintf("%s: %v", what, err) }
	switch {
	case errors.Is(err, siding.ErrLeaseLost):
		return verdict{outcome: siding.OutcomeInterrupted, cause: siding.CauseLeaseLost}, "the lease was lost during the request"
	case errors.Is(err, siding.ErrShutdown), errors.Is(err, context.Canceled):
		return verdict{outcome: siding.OutcomeInterrupted, cause: siding.CauseShutdown}, "the request was cancelled"
	case errors.Is(err, errPrivate):
		return say(misconfigured, "the connection is refused on this side; if the address is meant, allow private addresses")
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return say(misconfigured, "the address says https, and the service does not speak it")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return say(timedOut, "no reply in time")
	case errors.As(err, &dns):
		return say(network, "the name was not found")
	case errors.As(err, &verify), errors.As(err, &record):
		return say(network, "the service has no good certificate")
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return say(network, "the connection failed")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return say(badResponse, "what came is no reply")
	}
	return say(verdict{outcome: siding.OutcomeTransient, cause: siding.CauseUnknown}, "the request failed")
}

// maxRetryAfter bounds what a service can ask for: nobody waits a year for one header.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads Retry-After as seconds or as a date (RFC 9110, 10.2.3); 0: it is not there, or makes no sense.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	seconds, err := strconv.ParseFloat(value, 64)
	if at, dateErr := http.ParseTime(value); err != nil && dateErr == nil {
		seconds, err = at.Sub(now).Seconds(), nil
	}
	if err != nil || math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// requestID gives the service's own name for a request, by the usual headers.
func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Correlation-Id"} {
		if id := h.Get(name); id != "" {
			return siding.Scrub(id, 256)
		}
	}
	return ""
}
