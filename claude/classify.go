package claude

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/siding-dev/siding"
)

// Classify says what an error of the SDK means for the message that was asked about: try again, hold everything, or
// set this one aside. It serves in any loop around the SDK; nil gives nil.
//
// It looks at the error's type and code first, at its status, and at its wording only where these say too little. A
// failure that is one already stays as it is. Whoever uses it switches the SDK's own retries off
// (option.WithMaxRetries(0)): each of them may be billed.
//
// The failure's scope is account for credit, limits and keys; lane for throttling, overload and a model that does not
// exist; recipe for what every request of the same kind would get. RetryAfter and Until say when, as far as the service
// did.
func Classify(err error) *siding.Failure {
	return classify(err, time.Now())
}

func classify(err error, now time.Time) (f *siding.Failure) {
	if err == nil {
		return nil
	}
	if f, ok := asFailure(err); ok {
		return siding.FailureOf(f)
	}
	var api *anthropic.Error
	if errors.As(err, &api) && api != nil {
		return classifyAPI(api, now)
	}
	if lacksResources(err) {
		return machineFault(siding.CauseNetwork, bare(err))
	}
	v, what := transport(err)
	return &siding.Failure{Outcome: v.outcome, Cause: v.cause, Scope: v.scope, Err: fmt.Errorf("%s: %w", what, bare(err))}
}

func classifyAPI(api *anthropic.Error, now time.Time) *siding.Failure {
	var header http.Header
	if api.Response != nil {
		header = api.Response.Header
	}
	f := classifyResponse(api.StatusCode, header, []byte(api.RawJSON()), now)
	if f.RequestID == "" {
		f.RequestID = api.RequestID
	}
	return f
}

// ClassifyResponse says what an HTTP answer means that is not a success, from its status, headers and body. Under a
// status below 400 it reads the body as an error event of a stream, or as something that is no answer.
func ClassifyResponse(status int, header http.Header, body []byte) *siding.Failure {
	return classifyResponse(status, header, body, time.Now())
}

func classifyResponse(status int, header http.Header, body []byte, now time.Time) *siding.Failure {
	e := parseEnvelope(body)
	v := judgeResponse(status, e)
	f := &siding.Failure{
		Outcome: v.outcome, Cause: v.cause, Scope: v.scope, Status: status, RequestID: header.Get("request-id"),
		RetryAfter: retryAfter(header, now), Err: errors.New(e.describe(status, body)),
	}
	if f.RequestID == "" {
		f.RequestID = e.requestID
	}
	if v.scope == siding.ScopeAccount {
		f.Until = regainAccess(e.message, now)
		if f.Until.IsZero() && v.monthly {
			f.Until = nextMonth(now)
		}
	}
	if v.scope == siding.ScopeLane && v.cause == siding.CauseModelNotFound {
		if _, model, ok := strings.Cut(e.message, "model: "); ok && printable(model) {
			f.Lane = "claude/" + cut(model, shown)
		}
	}
	return f
}

// judgeResponse decides: first by code, then by what the status alone says, by type, by status, and by text last.
func judgeResponse(status int, e envelope) verdict {
	if v, ok := codeVerdict(e.code); ok {
		return v
	}
	switch status {
	case http.StatusTooManyRequests, 529:
		// A spend limit comes as 429 too; waiting a little does not end it.
		if byText(e.message) == accountFault {
			return spendLimit
		}
		if status == 529 || e.kind == "overloaded_error" {
			return overloaded
		}
		return rateLimited
	}
	if v, ok := byType[e.kind]; ok {
		if v == noModel && status != 0 && status != http.StatusOK && status != http.StatusNotFound {
			return byStatus(status, e)
		}
		return v
	}
	return byStatus(status, e)
}

func byStatus(status int, e envelope) verdict {
	switch {
	case status >= 300 && status < 400:
		return misconfigured // the address is another one; requests are not sent on
	case status < 400:
		if e.kind == "invalid_request_error" {
			return byText(e.message)
		}
		return badResponse
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return credentials
	case status == http.StatusPaymentRequired:
		return accountFault
	case status == http.StatusNotFound, status == http.StatusProxyAuthRequired, status == http.StatusMethodNotAllowed:
		return misconfigured // a wrong address, or a proxy that wants a password
	case status == http.StatusRequestEntityTooLarge:
		return tooLarge
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout, status == 522, status == 524:
		return timedOut
	case status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return serverError
	}
	return byText(e.message)
}

// An envelope is the service's form of an error.
type envelope struct {
	kind, message, code, requestID string
}

// parseEnvelope reads an error body; anything that is none gives empty fields.
func parseEnvelope(body []byte) envelope {
	top := members(body)
	inner := members(top["error"])
	return envelope{
		kind: text(inner["type"]), message: text(inner["message"]), code: text(members(inner["details"])["error_code"]),
		requestID: text(top["request_id"]),
	}
}

// describe gives the failure in words: what the service said, or the beginning of what came instead.
func (e envelope) describe(status int, body []byte) string {
	parts := []string{}
	if status != 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))))
	}
	if e.kind != "" {
		parts = append(parts, e.kind)
	}
	if e.code != "" {
		parts = append(parts, "("+e.code+")")
	}
	head := strings.Join(parts, " ")
	rest := e.message
	if e.kind == "" && rest == "" {
		rest = strings.Join(strings.Fields(cut(string(body), 300)), " ")
	}
	switch {
	case head == "" && rest == "":
		return "an empty answer"
	case rest == "":
		return head
	case head == "":
		return cut(rest, siding.MaxErrorText)
	}
	return head + ": " + cut(rest, siding.MaxErrorText)
}

// transport says what an error means that came without an answer.
func transport(err error) (verdict, string) {
	var dns *net.DNSError
	var op *net.OpError
	var netErr net.Error
	text := err.Error()
	switch {
	case errors.Is(err, siding.ErrLeaseLost):
		return verdict{outcome: siding.OutcomeInterrupted, cause: siding.CauseLeaseLost}, "the lease was lost during the call"
	case errors.Is(err, siding.ErrShutdown), errors.Is(err, context.Canceled):
		return verdict{outcome: siding.OutcomeInterrupted, cause: siding.CauseShutdown}, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return timedOut, "no answer in time"
	case errors.As(err, &dns), isTLS(err), errors.Is(err, syscall.ECONNREFUSED):
		return cutInTransit, "no connection"
	case errors.As(err, &op), errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return cutInTransit, "the connection failed"
	case isJSON(err), strings.Contains(text, "expected destination type of"):
		return badResponse, "what came is not an answer"
	case strings.Contains(text, "streaming is required"):
		return misconfigured, "the SDK refuses this request"
	case strings.Contains(text, "ANTHROPIC_API_KEY"):
		return credentials, "there is no key"
	}
	return verdict{outcome: siding.OutcomeTransient, cause: siding.CauseUnknown}, "the call failed"
}

func isJSON(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || strings.Contains(err.Error(), "error parsing response json")
}

func isTLS(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid) || errors.As(err, &verify) ||
		errors.As(err, &record) || errors.As(err, &alert)
}

// bare takes the address off an error of the HTTP client: it may hold a password, and it is the same every time.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) && u.Err != nil {
		return u.Err
	}
	return err
}
