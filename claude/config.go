package claude

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// Config says what to ask, and how. Model, MaxTokens and Prompt are needed; everything else has a default.
type Config struct {
	// Model is the name that is sent, for instance claude-haiku-4-5.
	Model string
	// MaxTokens is the longest answer, in tokens; at least 1. An answer that is cut there is asked for again with twice as
	// much, up to the model's maximum.
	MaxTokens int64
	// System is the system prompt; empty for none.
	System string
	// Prompt is a Go text/template over the record. A missing or null field that is printed or handed to a function is an
	// error that names it. {{opt .x}} prints nothing instead, {{json .x}} prints any value as JSON; if, with, range, and, or
	// and not take a missing field as empty.
	Prompt string
	// Images are local files that go before the text; none by default.
	Images Images
	// Output is what the answer must be; plain text by default.
	Output Output
	// StopSequences end the answer; none by default.
	StopSequences []string
	// MaxInputTokens is how many tokens a prompt may have, by an estimate that errs on the high side, or by the service's
	// count (CountTokens). What has more is too large, and not sent. 0: only what surely does not fit the model's own context
	// window is.
	MaxInputTokens int64
	// CountTokens has the service count the tokens of a prompt, which costs nothing, where the bounds of the estimate leave
	// open whether it is too large. False: the estimate decides, and what it leaves open about the model's own context
	// window is sent.
	CountTokens bool
	// Oversize is the queue to which records go that are too large, to come back smaller ([siding.Forward]); empty: they are
	// set aside.
	Oversize string
	// InputSchema is a JSON Schema that every record must fit; nil for none.
	InputSchema []byte
	// APIKey; empty: the environment's ANTHROPIC_API_KEY. It is in no error, log or store.
	APIKey string
	// BaseURL; empty: the environment's ANTHROPIC_BASE_URL, and else the public service.
	BaseURL string
	// HTTPClient sends; nil: one of its own. Redirects are never followed: the body would be sent twice.
	HTTPClient *http.Client
	// Timeout bounds one call; 0: 10 minutes. From 1 s to 1 h.
	Timeout time.Duration
	// OnUnknown says what to do when an earlier call of the same request may have been billed without an answer; empty:
	// resend.
	OnUnknown siding.OnUnknown
	// Prices is the price list; nil: [DefaultPrices]. The first row that fits counts, so that own rows go in front.
	Prices Prices
	// Limits replaces what is known of the model where its fields are not 0.
	Limits Limits
	// EventHeader names a request header that carries the event ID, for a simulator's meter; empty: none is sent.
	EventHeader string
	// Budget is the most that the calls of the message's queue may cost together, whatever asked for them: what was billed,
	// and what those of open or unknown fate cost at most. A call that could exceed it is not made, and its message is held
	// with the recipe (cause budget). 0: no limit. A model without a known price cannot have one.
	Budget siding.Money
	// StoreID is the ID of the store that the messages are in ([siding.StoreInfo]); it keys the account's name in
	// [Handler.Gates] and [Handler.Lane]. Empty: the account has no name.
	StoreID string
	// Journal records the calls. Without one the handler tells its digest and its estimates, needs no key, and asks nothing.
	Journal siding.Journal
	// Clock gives the time for prices and dates; nil: time.Now.
	Clock func() time.Time
}

// Images are local files named by the record.
type Images struct {
	// Fields are JSON Pointers (RFC 6901) to a file name or a list of file names. A field that is missing or null is no
	// image.
	Fields []string
	// Root is the directory that the names are relative to. Nothing outside it is opened, also not through links.
	Root string
}

// The ways to get an answer that fits a schema.
const (
	ViaSchema = "schema" // structured output; the default
	ViaTool   = "tool"   // a tool that must be called, for schemas that structured output does not support
)

// Output is what the answer must be.
type Output struct {
	// Schema is a JSON Schema; nil: the answer is plain text. Every answer is checked against all of it. What structured
	// output does not support of it is sent as part of the descriptions; a schema that contains itself, or whose objects do
	// not say what they have, is an error with [ViaSchema].
	Schema []byte
	// Via is how the service is told the schema; empty: [ViaSchema].
	Via string
}

const (
	defaultTimeout = 10 * time.Minute
	minTimeout     = time.Second
	maxTimeout     = time.Hour
	defaultBaseURL = "https://api.anthropic.com/"
)

// complete fills in the defaults and says what is wrong, all at once.
func (c Config) complete() (Config, error) {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if strings.TrimSpace(c.Model) == "" || !printable(c.Model) {
		fail("model", "it is %q; give the name of a model, for instance claude-haiku-4-5", siding.Scrub(c.Model, 64))
	}
	if c.MaxTokens < 1 {
		fail("max_tokens", "it is %d; it must be at least 1", c.MaxTokens)
	}
	if c.MaxInputTokens < 0 {
		fail("max_input_tokens", "it is %d; it must not be negative", c.MaxInputTokens)
	}
	if !utf8.ValidString(c.System) {
		fail("system", "it is not valid UTF-8")
	}
	if c.System != "" && strings.TrimSpace(c.System) == "" {
		fail("system", "it has only white space; leave it out")
	}
	for i, s := range c.StopSequences {
		if strings.TrimSpace(s) == "" || !utf8.ValidString(s) {
			fail("stop_sequences", "entry %d has no text; the service refuses that", i+1)
		}
	}
	if c.Limits.ContextTokens < 0 || c.Limits.OutputTokens < 0 {
		fail("limits", "they must not be negative")
	}
	if err := c.Prices.validate(); err != nil {
		fail("prices", "%v", err)
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		fail("timeout", "it is %v; it must be from %v to %v", c.Timeout, minTimeout, maxTimeout)
	}
	switch c.OnUnknown {
	case "":
		c.OnUnknown = siding.UnknownResend
	case siding.UnknownResend, siding.UnknownQuarantine:
	default:
		fail("on_unknown", "it is %q; it must be resend or quarantine", siding.Scrub(string(c.OnUnknown), 64))
	}
	if c.Prices == nil {
		c.Prices = DefaultPrices()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.completeConnection(fail)
	return c, errors.Join(errs...)
}

func (c *Config) completeConnection(fail func(field, format string, args ...any)) {
	if c.APIKey == "" {
		c.APIKey = os.Getenv("ANTHROPIC_API_KEY")
	}
	c.APIKey = strings.TrimSpace(c.APIKey)
	if c.APIKey == "" && c.Journal != nil {
		fail("api_key", "there is none; set ANTHROPIC_API_KEY")
	}
	if !printable(c.APIKey) {
		fail("api_key", "it has characters that no key has; look for a line break or a quote copied along")
	}
	if c.BaseURL == "" {
		c.BaseURL = os.Getenv("ANTHROPIC_BASE_URL")
	}
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	// The text of a URL that does not parse is not repeated: it may hold a password.
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		fail("base_url", "it is not an http or https address, for instance https://api.anthropic.com")
	}
	if c.HTTPClient == nil {
		c.HTTPClient = newHTTPClient(c.Timeout)
	} else {
		own := *c.HTTPClient
		own.CheckRedirect = dontFollow
		c.HTTPClient = &own
	}
}

// printable tells whether s is ASCII that can stand in a header.
func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }) < 0
}
