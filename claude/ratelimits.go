package claude

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// rateLimits reads the anthropic-ratelimit-* headers, which come with answers and with most errors; nil: there are none
// that make sense.
func rateLimits(h http.Header) *siding.RateLimits {
	l := siding.RateLimits{
		Requests: rateLimit(h, "requests"), InputTokens: rateLimit(h, "input-tokens"), OutputTokens: rateLimit(h, "output-tokens"),
	}
	if l == (siding.RateLimits{}) {
		return nil
	}
	return &l
}

// rateLimit reads one limit. What is half said counts as not said.
func rateLimit(h http.Header, what string) siding.RateLimit {
	get := func(last string) string { return strings.TrimSpace(h.Get("anthropic-ratelimit-" + what + "-" + last)) }
	limit, err := strconv.ParseInt(get("limit"), 10, 64)
	remaining, err2 := strconv.ParseInt(get("remaining"), 10, 64)
	if err != nil || err2 != nil || limit <= 0 || remaining < 0 {
		return siding.RateLimit{}
	}
	reset, _ := time.Parse(time.RFC3339, get("reset")) // zero where it is not said
	return siding.RateLimit{Limit: limit, Remaining: min(remaining, limit), Reset: reset}
}
