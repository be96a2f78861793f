package quarantine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// mostTokens bounds what max_tokens may be set to; the recipe's model has its own, lower bound.
const mostTokens = 1 << 30

// requestHeaders are the headers that the arguments of request set.
var requestHeaders = map[string]string{
	"max_tokens": HeaderMaxTokens, "model": HeaderModel, "instruction": HeaderInstruction,
}

// request changes the settings with which a message's request is made.
type request struct{ args arguments }

// newRequest reads the arguments of request: max_tokens, model and instruction, at least one of them. An empty one takes
// the message's own setting away, so that the recipe's counts.
func newRequest(text string) (Repair, error) {
	a, err := parseArguments(text, "max_tokens", "model", "instruction")
	if err != nil {
		return nil, err
	}
	if len(a) == 0 {
		return nil, errors.New("give max_tokens=…, model=… or instruction=…")
	}
	for _, each := range a {
		if err := checkSetting(each); each.value != "" && err != nil {
			return nil, fmt.Errorf("%s: %w", each.key, err)
		}
	}
	return request{a}, nil
}

func checkSetting(a argument) error {
	switch a.key {
	case "max_tokens":
		if n, err := strconv.ParseInt(a.value, 10, 64); err != nil || n < 1 || n > mostTokens || strconv.FormatInt(n, 10) != a.value {
			return fmt.Errorf("%q is no number of tokens; it is from 1 to %d", shorten(a.value), mostTokens)
		}
	case "model":
		if strings.ContainsFunc(a.value, func(r rune) bool { return r <= ' ' || r > '~' }) || len(a.value) > 256 {
			return fmt.Errorf("%q is no name of a model, for instance claude-haiku-4-5", shorten(a.value))
		}
	default:
		switch {
		case len(a.value) > siding.MaxHeader:
			return fmt.Errorf("it has %d bytes, and may have %d", len(a.value), siding.MaxHeader)
		case !utf8.ValidString(a.value) || siding.Scrub(a.value, siding.MaxHeader) != a.value:
			return errors.New("it has control characters or invisible signs; write plain text")
		case strings.TrimSpace(a.value) == "":
			return errors.New("it has only white space")
		}
	}
	return nil
}

func (r request) String() string { return nameRequest + ":" + r.args.String() }

func (r request) Apply(_ context.Context, d Draft) (Draft, error) {
	headers := maps.Clone(d.Headers)
	for _, a := range r.args {
		name := requestHeaders[a.key]
		if a.value == "" {
			delete(headers, name)
			continue
		}
		if headers == nil {
			headers = map[string]string{}
		}
		headers[name] = a.value
	}
	d.Headers = headers
	return d, nil
}

// settingsChanged tells whether two drafts differ in their request settings.
func settingsChanged(a, b Draft) bool {
	for _, name := range requestHeaders {
		if a.Headers[name] != b.Headers[name] {
			return true
		}
	}
	return false
}
