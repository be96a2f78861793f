package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// Handler sends each message to one address. It is a [siding.Handler], and may be used by many goroutines at once.
type Handler struct {
	c         Config
	target    *url.URL
	header    http.Header // with the environment's values
	secrets   secrets
	schema    *schema // nil: any record
	statuses  map[int]siding.Outcome
	transport *http.Transport
	public    func(netip.Addr) bool // which addresses may be connected to
	digest    string
	lane      string
}

var _ siding.Handler = (*Handler)(nil)

// New checks a configuration, all of it at once, and makes a handler. Each error begins with the field's name as a
// recipe has it. A variable that the environment lacks is an error that names it.
func New(c Config) (*Handler, error) {
	c, err := c.complete()
	errs := []error{err}
	fail := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	h := &Handler{c: c, public: isPublic, statuses: map[int]siding.Outcome{}}
	h.secrets.lookup = c.LookupEnv
	h.target, err = h.parseURL(c.URL)
	fail("url", err)
	fail("headers", h.completeHeaders())
	if c.InputSchema != nil {
		h.schema, err = compileSchema(c.InputSchema)
		fail("input.schema", err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for outcome, list := range map[siding.Outcome][]int{
		siding.OutcomeDone: c.Done, siding.OutcomeTransient: c.Transient, siding.OutcomePermanent: c.Permanent, siding.OutcomeGray: c.Gray,
	} {
		for _, status := range list {
			h.statuses[status] = outcome
		}
	}
	h.lane = "webhook/" + laneHost(h.target)
	h.digest = h.digestOf()
	h.transport = h.newTransport()
	return h, nil
}

// reserved are headers that are not the user's to set: HTTP itself needs them.
var reserved = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer", "Expect", "Proxy-Authorization"}

func (h *Handler) completeHeaders() error {
	var errs []error
	h.header = http.Header{"User-Agent": {"siding"}}
	event := http.CanonicalHeaderKey(h.c.IdempotencyHeader)
	if !isToken(event) || slices.Contains(reserved, event) {
		errs = append(errs, fmt.Errorf("idempotency_header: %q cannot carry the event ID", cut(h.c.IdempotencyHeader, 64)))
	}
	names := make([]string, 0, len(h.c.Headers))
	for name := range h.c.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		key := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			errs = append(errs, fmt.Errorf("%q is no name of a header", cut(name, 64)))
			continue
		case slices.Contains(reserved, key):
			errs = append(errs, fmt.Errorf("%s cannot be set: it is made with each request", key))
			continue
		case key == event:
			errs = append(errs, fmt.Errorf("%s carries the event ID; take it out, or name another one under idempotency_header", key))
			continue
		case h.header[headerKey(key)] != nil && key != "User-Agent":
			errs = append(errs, fmt.Errorf("%s is there twice", key))
			continue
		}
		value, err := h.secrets.expand(h.c.Headers[name])
		if err == nil && strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			err = errors.New("the value has a line break or another control character in it")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
			continue
		}
		h.header[headerKey(key)] = []string{strings.TrimSpace(value)}
	}
	return errors.Join(errs...)
}

// headerKey gives the key under which a header stands in a request. To net/http a request with one of these two, so
// written, is one that it may send again by itself after some of it was received. Names of headers have no case.
func headerKey(canonical string) string {
	if canonical == "Idempotency-Key" || canonical == "X-Idempotency-Key" {
		return strings.ToLower(canonical)
	}
	return canonical
}

// isToken tells whether s can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// laneHost names a host, with its port where that is not the usual one.
func laneHost(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return strings.TrimSuffix(siding.Scrub(host, 255), ":")
}

// digestOf hashes what shapes the request and what counts as received. Variables are in it by their names. It is stored
// with each answer, so this form never changes: what is added later must be left out when empty.
func (h *Handler) digestOf() string {
	var input json.RawMessage
	if h.schema != nil {
		input = h.schema.raw
	}
	done := slices.Clone(h.c.Done)
	slices.Sort(done)
	text, _ := json.Marshal(struct { //nolint:errchkjson // strings, and a schema that has been parsed
		Version int               `json:"v"`
		Kind    string            `json:"kind"`
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
		Done    []int             `json:"done,omitempty"`
		Input   json.RawMessage   `json:"input,omitempty"`
	}{1, "webhook", h.c.Method, h.c.URL, h.c.Headers, done, input})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// requestHash names what is sent: method, address and body. A variable counts by its name, so that a secret that was
// changed sends nothing again.
func (h *Handler) requestHash(body []byte) (sum siding.Hash) {
	w := sha256.New()
	w.Write([]byte(h.c.Method + "\n" + h.c.URL + "\n"))
	w.Write(body)
	w.Sum(sum[:0])
	return sum
}

// Digest gives the recipe digest: a short hash of everything that shapes the request. It is the same in every version of
// this package, and has no value of the environment in it.
func (h *Handler) Digest() string { return h.digest }

// Lane names what fails together: the handler and the host.
func (h *Handler) Lane() string { return h.lane }

// Estimate says that a request costs nothing.
func (h *Handler) Estimate(siding.Message) (likely, worst siding.Money, priced bool) {
	return 0, 0, true
}

// Check says what would be found wrong with a message before it is sent; nil: nothing.
func (h *Handler) Check(m siding.Message) *siding.Failure {
	_, f := check(m, h.c.JSON, h.schema)
	return f
}

// Rejudge looks for a journaled reply that says that the event was received as it is now, without sending anything. ok is
// false when there is none. The error is the journal's. calls are the message's, as [siding.Journal] lists them.
func (h *Handler) Rejudge(ctx context.Context, m siding.Message, calls []siding.Call) (j siding.Judgement, result []byte, ok bool, err error) {
	if h.c.Journal == nil {
		return j, nil, false, errors.New("the handler has no journal")
	}
	want := h.requestHash(m.Body)
	for _, call := range slices.Backward(calls) {
		if call.Fate != siding.FateAnswered || call.RequestHash != want {
			continue
		}
		body, err := h.c.Journal.Answer(ctx, call.ID)
		if errors.Is(err, siding.ErrNotFound) {
			continue
		}
		if err != nil {
			return j, nil, false, err
		}
		return siding.Judgement{Call: call.ID, Accepted: true, Digest: h.digest}, resultOf(body), true, nil
	}
	return j, nil, false, nil
}
