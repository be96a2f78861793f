package claude

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a service can ask for: nobody waits a year for one header.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads retry-after-ms, and retry-after as seconds or as a date; 0: neither is there, or it makes no sense.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, ok := positive(h.Get("retry-after-ms")); ok {
		return bounded(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("retry-after"))
	if s, ok := positive(value); ok {
		return bounded(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return bounded(float64(at.Sub(now)))
	}
	return 0
}

func positive(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && n >= 0 && !math.IsNaN(n)
}

func bounded(d float64) time.Duration {
	if !(d > 0) {
		return 0
	}
	return time.Duration(min(d, float64(maxRetryAfter)))
}

var regain = regexp.MustCompile(`(?i)regain access on\s+(\d{4}-\d{2}-\d{2})(?:(?:\s+at\s+|[T ]\s*)(\d{2}:\d{2}))?`)

// regainAccess reads the date on which the service says that a limit ends, in UTC. A date that is not in the future, or
// more than a year away, counts as none.
func regainAccess(message string, now time.Time) time.Time {
	m := regain.FindStringSubmatch(message)
	if m == nil {
		return time.Time{}
	}
	clock := m[2]
	if clock == "" {
		clock = "00:00"
	}
	at, err := time.Parse("2006-01-02 15:04", m[1]+" "+clock)
	if err != nil || !at.After(now) || at.After(now.AddDate(1, 0, 1)) {
		return time.Time{}
	}
	return at
}

// nextMonth gives the first of the next month, UTC.
func nextMonth(now time.Time) time.Time {
	y, m, _ := now.UTC().Date()
	return time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
}
