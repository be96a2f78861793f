package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestWhatIsWrongIsSaidAllAtOnce(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"EMPTY": "", "BROKEN": "top\nsecret"}
	_, err := New(Config{
		URL: "https://example.com/${HOOK_PATH}", Method: "TRACE", Timeout: time.Hour * 2, MaxResponse: -1, OnUnknown: "perhaps",
		Done: []int{409, 99}, Gray: []int{409}, InputSchema: []byte("{"), IdempotencyHeader: "Content-Length",
		Headers: map[string]string{
			"A": "${NO_SUCH}", "B": "${EMPTY}", "C": "${BROKEN}", "D": "${not a name}", "E": "x\r\nY: z", "no header": "x", "host": "x",
			"F": "${", "X-Twice": "1", "x-twice": "2",
		},
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	})
	for _, want := range []string{
		"url: the environment has no variable HOOK_PATH; set it", `method: it is "TRACE"`, "timeout: it is 2h0m0s", "max_response: it is -1",
		`on_unknown: it is "perhaps"`, "done: 99 is no status", "gray: status 409 stands under done too", "input.schema: the schema is not valid JSON",
		`idempotency_header: "Content-Length" cannot`, "A: the environment has no variable NO_SUCH; set it", "B: the environment's variable EMPTY is empty",
		"C: the environment's variable BROKEN has a line break", `D: "${not a name}" is no variable`, "E: the value has a line break",
		`"no header" is no name`, "Host cannot be set", `F: "${" is no variable`, "X-Twice is there twice",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "secret")

	_, err = New(Config{URL: "https://example.com/", Headers: map[string]string{"idempotency-key": "x"}})
	require.ErrorContains(t, err, "Idempotency-Key carries the event ID")
}

func TestWhichAddressesAreAddresses(t *testing.T) {
	t.Parallel()
	lookup := func(string) (string, bool) { return "some\x7fsecret", true }
	for url, want := range map[string]string{
		"": "it is not an http or https address", "example.com/x": "it is not", "ftp://example.com/": "it is not", "http:///x": "it is not",
		"http://:80/": "it is not", "https:x": "it is not", "http://[::1": "it is not", "https://me:pass-word@example.com/": "a user name or a password",
		"https://${HOST}/": "the host must be written out", "${URL}": "the host must be written out", "https://a.example/${X}": "control character", "https://a.example/%zz": "it is not",
	} {
		_, err := New(Config{URL: url, LookupEnv: lookup})
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "pass-word")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestTheLaneIsTheHost(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://Hooks.Example.com/a/b": "webhook/hooks.example.com", "https://example.com:443/": "webhook/example.com",
		"http://example.com:80": "webhook/example.com", "https://example.com:80/": "webhook/example.com:80", "http://[2001:DB8::1]:8080/": "webhook/[2001:db8::1]:8080",
	} {
		require.Equal(t, want, newHandler(t, Config{URL: url}).Lane(), url)
	}
}

func TestTheDigestIsPinned(t *testing.T) {
	t.Parallel()
	lookup := func(value string) func(string) (string, bool) {
		return func(string) (string, bool) { return value, true }
	}
	base := Config{URL: "https://example.com/hook/${KEY}", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}, LookupEnv: lookup("one-secret")}
	digest := func(c Config) string { return newHandler(t, c).Digest() }
	require.Equal(t, "06a7d07cb8cdb599", digest(base), "stored digests must stay what they are")
	same := base
	same.LookupEnv, same.Timeout, same.AllowPrivate, same.Gray = lookup("two-secret"), time.Hour, true, []int{400}
	require.Equal(t, digest(base), digest(same))
	require.Equal(t, newHandler(t, base).requestHash([]byte("x")), newHandler(t, same).requestHash([]byte("x")), "a changed secret sends nothing again")
	for _, change := range []func(*Config){
		func(c *Config) { c.Method = "PUT" },
		func(c *Config) { c.URL = "https://example.com/" },
		func(c *Config) { c.Headers = nil },
		func(c *Config) { c.Done = []int{409} },
		func(c *Config) { c.InputSchema = []byte(`{}`) },
	} {
		other := base
		change(&other)
		require.NotEqual(t, digest(base), digest(other))
	}
}

func TestItCostsNothing(t *testing.T) {
	t.Parallel()
	likely, worst, priced := newHandler(t, Config{URL: "https://example.com/"}).Estimate(siding.Message{})
	require.Zero(t, likely+worst)
	require.True(t, priced)
}
