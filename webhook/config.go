package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// Config says where messages go, and what replies mean. URL is needed; everything else has a default.
type Config struct {
	// URL is an http or https address without user name or password. ${NAME} behind the host stands for a variable of the
	// environment, for addresses with a secret in them; $${ stands for ${.
	URL string
	// Method is POST, PUT, PATCH or DELETE; empty: POST.
	Method string
	// Headers go with each request. In a value, ${NAME} stands for a variable of the environment, which must be there when
	// the handler is made, and $${ for ${.
	Headers map[string]string
	// IdempotencyHeader names the header that carries the event ID; empty: Idempotency-Key. Whoever receives the same one
	// twice knows that it is the same event.
	IdempotencyHeader string
	// Timeout bounds one request with its reply; 0: 30 seconds. From 1 s to 1 h.
	Timeout time.Duration
	// Done, Transient, Permanent and Gray say what statuses mean, from 200 to 599, where it is not what [Handler.Handle]
	// says; for instance Done: 409 for a receiver that answers so to an event that it has seen.
	Done, Transient, Permanent, Gray []int
	// FollowRedirects follows redirects that keep method and body (307 and 308) to the same host, up to five.
	FollowRedirects bool
	// AllowPrivate connects to loopback, private, link-local and other addresses that are not of the public internet too,
	// and by way of the environment's proxy. Otherwise the address is checked on each connection, whatever its name
	// resolved to before, and no proxy is used: behind one nobody could check.
	AllowPrivate bool
	// MaxResponse is how much of a reply is kept, in bytes; 0: 1 MiB. Up to 64 MiB.
	MaxResponse int64
	// JSON takes every body for a JSON record, whatever the message's content type, and sends it as application/json.
	// Otherwise that is so for messages of a JSON type, and all others are sent as they are.
	JSON bool
	// InputSchema is a JSON Schema that every JSON record must fit; nil for none.
	InputSchema []byte
	// OnUnknown says what to do when an earlier request for the event may have been received although no reply came;
	// empty: resend. It needs a journal.
	OnUnknown siding.OnUnknown
	// Journal records the requests, so that an event which was received is not sent again. nil: they are not recorded.
	Journal siding.Journal
	// LookupEnv gives variables of the environment; nil: os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Resolver looks names up; nil: the system's.
	Resolver *net.Resolver
	// TLS is for certificates and authorities of one's own; nil: the system's.
	TLS *tls.Config
	// Clock gives the time that dates are compared with; nil: time.Now.
	Clock func() time.Time
}

const (
	defaultTimeout  = 30 * time.Second
	minTimeout      = time.Second
	maxTimeout      = time.Hour
	defaultResponse = 1 << 20
	maxResponse     = 64 << 20
)

// complete fills in the defaults and says what is wrong, all at once. Each error begins with the field's name as a
// recipe has it.
func (c Config) complete() (Config, error) {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if c.Method == "" {
		c.Method = "POST"
	}
	if !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, c.Method) {
		fail("method", "it is %q; it must be POST, PUT, PATCH or DELETE", siding.Scrub(c.Method, 64))
	}
	if c.IdempotencyHeader == "" {
		c.IdempotencyHeader = "Idempotency-Key"
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		fail("timeout", "it is %v; it must be from %v to %v", c.Timeout, minTimeout, maxTimeout)
	}
	if c.MaxResponse == 0 {
		c.MaxResponse = defaultResponse
	}
	if c.MaxResponse < 1 || c.MaxResponse > maxResponse {
		fail("max_response", "it is %d; it must be from 1 to %d bytes", c.MaxResponse, maxResponse)
	}
	switch c.OnUnknown {
	case "":
		c.OnUnknown = siding.UnknownResend
	case siding.UnknownResend, siding.UnknownQuarantine:
	default:
		fail("on_unknown", "it is %q; it must be resend or quarantine", siding.Scrub(string(c.OnUnknown), 64))
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.checkStatuses(fail)
	return c, errors.Join(errs...)
}

// checkStatuses refuses a status that is none, and one that should mean two things.
func (c Config) checkStatuses(fail func(field, format string, args ...any)) {
	seen := map[int]string{}
	for _, list := range []struct {
		field    string
		statuses []int
	}{{"done", c.Done}, {"transient", c.Transient}, {"permanent", c.Permanent}, {"gray", c.Gray}} {
		for _, s := range list.statuses {
			switch {
			case s < 200 || s > 599:
				fail(list.field, "%d is no status that a reply can have; they go from 200 to 599", s)
			case seen[s] != "" && seen[s] != list.field:
				fail(list.field, "status %d stands under %s too; it can mean only one of them", s, seen[s])
			}
			seen[s] = list.field
		}
	}
}

// parseURL checks the address, and puts the environment's values into it. No error repeats a value.
func (h *Handler) parseURL(text string) (*url.URL, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if strings.Contains(scheme+rest, "$") {
		return nil, errors.New("the host must be written out; a variable can stand behind it only")
	}
	resolved, err := h.secrets.expand(text)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(resolved)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return nil, errors.New("it is not an http or https address, for instance https://example.com/hook")
	case u.User != nil:
		return nil, errors.New("it has a user name or a password in it; send a header instead: Authorization, with ${NAME} for a variable of the environment")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
