package webhook

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
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const maxRedirects = 5

var (
	errTimeout  = fmt.Errorf("no whole reply within the timeout: %w", context.DeadlineExceeded)
	errRedirect = errors.New("the address redirects")
)

// newTransport makes what sends many requests to one host at once. How long one may take is decided by its context.
func (h *Handler) newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: min(15*time.Second, h.c.Timeout), KeepAlive: 30 * time.Second, Resolver: h.c.Resolver}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if h.c.TLS != nil {
		config = h.c.TLS.Clone()
	}
	t := &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: config, TLSHandshakeTimeout: 15 * time.Second, ForceAttemptHTTP2: true,
		MaxIdleConns: 128, MaxIdleConnsPerHost: 128, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 256 << 10,
		DisableCompression: true, // what was received must not count as lost because its reply cannot be unpacked
	}
	if h.c.AllowPrivate {
		t.Proxy = http.ProxyFromEnvironment
	} else {
		dialer.Control = h.control
	}
	return t
}

// Close closes idle connections. A handler that is not closed lets go of them by itself after a while.
func (h *Handler) Close() { h.transport.CloseIdleConnections() }

// A reply is what came of sending a request once.
type reply struct {
	status int // 0: no reply began
	header http.Header
	body   []byte // at most MaxResponse bytes
	cut    bool   // there was more of it
	err    error  // nil: the reply is whole, or as much of it as is kept
	sent   bool   // a byte of the request may have left
}

// send sends the request once, and to where it is redirected as far as that is allowed.
func (h *Handler) send(ctx context.Context, body []byte, contentType, eventID string) reply {
	ctx, cancel := context.WithTimeoutCause(ctx, h.c.Timeout, errTimeout)
	defer cancel()
	header := h.header.Clone()
	if header["Content-Type"] == nil {
		header["Content-Type"] = []string{contentType}
	}
	header[headerKey(http.CanonicalHeaderKey(h.c.IdempotencyHeader))] = []string{headerText(eventID)}
	var r reply
	for to, hops := h.target, 0; to != nil; hops++ {
		to = h.hop(ctx, &r, to, hops, header, body)
	}
	if r.err != nil && ctx.Err() != nil {
		r.err = context.Cause(ctx) // why it ended, not only that it did
	}
	return r
}

// hop sends the request to one address, and gives the next one; nil: that was the last.
func (h *Handler) hop(ctx context.Context, r *reply, to *url.URL, hops int, header http.Header, body []byte) *url.URL {
	// Without an http.Client in between: it follows redirects by rules of its own, and puts the address into its errors.
	var trace wireTrace
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace.hooks()), h.c.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		r.err = err
		return nil
	}
	req.Header = header
	res, err := h.transport.RoundTrip(req)
	if err != nil {
		*r = reply{err: err, sent: r.sent || trace.maybeSent()}
		return nil
	}
	defer res.Body.Close()
	r.sent, r.status, r.header = true, res.StatusCode, res.Header
	r.body, r.err = io.ReadAll(io.LimitReader(res.Body, h.c.MaxResponse+1))
	if int64(len(r.body)) > h.c.MaxResponse {
		r.body, r.cut = r.body[:h.c.MaxResponse], true
	}
	if _, ours := h.statuses[r.status]; ours || r.status < 300 || r.status > 399 {
		return nil
	}
	next, err := h.redirect(to, res, hops)
	r.err = err
	return next
}

// redirect gives where a redirect leads, if it may be followed. The body, and headers with secrets in them, are for the
// host that was configured and for no other.
func (h *Handler) redirect(from *url.URL, res *http.Response, hops int) (*url.URL, error) {
	to, err := from.Parse(res.Header.Get("Location"))
	if err != nil {
		return nil, fmt.Errorf("%w, and does not say where to", errRedirect)
	}
	where := cut(to.Scheme+"://"+to.Host, 200) // no path: it may hold a secret
	switch {
	case !h.c.FollowRedirects:
		return nil, fmt.Errorf("%w to %s; give the address that it means, or allow redirects", errRedirect, where)
	case res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusPermanentRedirect:
		return nil, fmt.Errorf("%w to %s without method and body; give the address that it means", errRedirect, where)
	case !strings.EqualFold(to.Hostname(), h.target.Hostname()) || to.User != nil:
		return nil, fmt.Errorf("%w to another host, %s; give that address, if it is right", errRedirect, where)
	case to.Scheme != "https" && to.Scheme != from.Scheme:
		return nil, fmt.Errorf("%w from https to %s; that is not followed", errRedirect, where)
	case hops >= maxRedirects:
		return nil, fmt.Errorf("%w more than %d times", errRedirect, maxRedirects)
	}
	return to, nil
}

// headerText writes an event ID so that any header can carry it: printable ASCII stays, anything else and % becomes %XX.
func headerText(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if c := id[i]; c > ' ' && c < 0x7f && c != '%' || c == ' ' && i > 0 && i < len(id)-1 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// wireTrace follows one request down to its connection.
type wireTrace struct{ connected, wrote atomic.Bool }

func (t *wireTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { // another one only after the one before took nothing of the request
			t.connected.Store(false)
			t.wrote.Store(false)
		},
		GotConn:          func(httptrace.GotConnInfo) { t.connected.Store(true) },
		WroteHeaderField: func(string, []string) { t.wrote.Store(true) },
		WroteHeaders:     func() { t.wrote.Store(true) },
		WroteRequest:     func(httptrace.WroteRequestInfo) { t.wrote.Store(true) },
	}
}

// maybeSent tells whether a request without a reply may have reached the service.
func (t *wireTrace) maybeSent() bool { return t.connected.Load() && t.wrote.Load() }
