package claudesim

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the calls and the pauses between them: in no stretch of time is more admitted than a full bucket and its
// refill, the headers tell the truth, and who waits as told is admitted.
func TestALimitIsNeverExceeded(t *testing.T) {
	units := []time.Duration{time.Second, time.Minute, time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int64) *Rate {
			r := &Rate{Amount: rapid.Int64Range(1, most).Draw(t, name), Per: rapid.SampledFrom(units).Draw(t, name+" per")}
			r.Burst = rapid.Int64Range(1, most).Draw(t, name+" burst")
			return r
		}
		limits := Limits{Requests: draw("requests", 100), InputTokens: draw("input", 5000), OutputTokens: draw("output", 5000)}
		now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		b := newBuckets(limits, now)
		type taken struct {
			at            time.Time
			input, output int64
		}
		var log []taken
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			input, output := rapid.Int64Range(1, 3000).Draw(t, "in"), rapid.Int64Range(0, 3000).Draw(t, "out")
			refused := b.admit(input, now)
			if refused != nil {
				wait, err := strconv.Atoi(refused.header.Get("retry-after"))
				if err != nil || wait < 1 {
					t.Fatalf("retry-after is %q", refused.header.Get("retry-after"))
				}
				if input <= limits.InputTokens.Burst && rapid.Bool().Draw(t, "obey") {
					// Several limits may be short; each refusal names one, so that a few waits are enough.
					for range 3 {
						if refused == nil {
							break
						}
						wait, _ = strconv.Atoi(refused.header.Get("retry-after"))
						now = now.Add(time.Duration(wait) * time.Second)
						refused = b.admit(input, now)
					}
					if refused != nil {
						t.Fatalf("refused after waiting as told: %s", refused.message)
					}
				}
			}
			if refused == nil {
				b.spend(output)
				log = append(log, taken{now, input, output})
			}
			h := http.Header{}
			b.headers(h, now)
			left, _ := strconv.ParseInt(h.Get("anthropic-ratelimit-requests-remaining"), 10, 64)
			if left < 0 || left > limits.Requests.Burst {
				t.Fatalf("%d requests remaining of %d", left, limits.Requests.Burst)
			}
			reset, err := time.Parse(time.RFC3339, h.Get("anthropic-ratelimit-requests-reset"))
			if err != nil || reset.Before(now.Truncate(time.Second)) {
				t.Fatalf("reset %q at %v", h.Get("anthropic-ratelimit-requests-reset"), now)
			}
		}
		for i := range log {
			var requests, input, output float64
			for j := i; j < len(log); j++ {
				requests++
				input += float64(log[j].input)
				span := log[j].at.Sub(log[i].at).Seconds()
				allowed := func(r *Rate) float64 { return float64(r.Burst) + span*float64(r.Amount)/r.Per.Seconds() + 0.01 }
				if requests > allowed(limits.Requests) || input > allowed(limits.InputTokens) {
					t.Fatalf("%v requests and %v tokens within %v s", requests, input, span)
				}
				if output > allowed(limits.OutputTokens) { // the last answer may overdraw, and only the last
					t.Fatalf("%v output tokens within %v s before the last answer", output, span)
				}
				output += float64(log[j].output)
			}
		}
	})
}

func TestLimitHeadersSayWhatIsLeft(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	b := newBuckets(Limits{Requests: &Rate{60, time.Minute, 60}, InputTokens: &Rate{600, time.Minute, 600}, OutputTokens: &Rate{300, time.Minute, 300}}, now)
	require.Nil(t, b.admit(90, now))
	b.spend(30)
	h := http.Header{}
	b.headers(h, now)
	for name, want := range map[string]string{
		"requests-limit": "60", "requests-remaining": "59", "requests-reset": "2026-12-01T00:00:01Z",
		"input-tokens-limit": "600", "input-tokens-remaining": "510", "input-tokens-reset": "2026-12-01T00:00:09Z",
		"output-tokens-limit": "300", "output-tokens-remaining": "270", "output-tokens-reset": "2026-12-01T00:00:06Z",
		"tokens-limit": "900", "tokens-remaining": "780", "tokens-reset": "2026-12-01T00:00:09Z",
	} {
		require.Equal(t, want, h.Get("anthropic-ratelimit-"+name), name)
	}
	refused := b.admit(601, now)
	require.NotNil(t, refused, "a request larger than the bucket is never admitted")
	require.Equal(t, http.StatusTooManyRequests, refused.status)
	require.Equal(t, "9", refused.header.Get("retry-after"))
	require.Equal(t, 510.0, math.Round(b.input.level), "a refused request takes nothing")
}
