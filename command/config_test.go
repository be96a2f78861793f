package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestWhatIsWrongIsSaidAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Env: []string{"NO_SUCH_VARIABLE_HERE", "1x", "SIDING_QUEUE=q"}, Timeout: time.Millisecond, Grace: time.Hour, MaxOutput: -1,
		Permanent: []int{0, 3}, Gray: []int{3, 256}, OutputSchema: []byte(`{`), InputSchema: []byte(`{"$ref":"http://example.com/x"}`),
		Dir: "a\x00b",
	})
	for _, want := range []string{
		"argv: it is empty", "env: the environment has no variable NO_SUCH_VARIABLE_HERE; set it", `"1x" is no name`, "SIDING_QUEUE: names that begin",
		"timeout: it is 1ms", "grace: it is 1h0m0s", "max_output: it is -1", "gray: 0 is no exit status", "gray: exit status 3",
		"256 is no exit", "output.schema: the schema is not valid JSON", "input.schema: the schema cannot be used", "dir: it has a NUL",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = New(Config{Argv: []string{"a", "b\x00"}})
	require.ErrorContains(t, err, "argv: argument 1 has a NUL")
}

func TestTheDigestIsPinned(t *testing.T) {
	t.Parallel()
	digest := func(c Config) string {
		t.Helper()
		h, err := New(c)
		require.NoError(t, err)
		return h.Digest()
	}
	lookup := func(value string) func(string) (string, bool) {
		return func(string) (string, bool) { return value, true }
	}
	base := Config{Argv: []string{"python3", "tag.py"}, Env: []string{"TOKEN", "A=1"}, LookupEnv: lookup("one")}
	require.Equal(t, "d525284942010b25", digest(base), "stored digests must stay what they are")
	same := base
	same.LookupEnv, same.Timeout, same.Dir, same.MaxOutput = lookup("another"), time.Hour, "/", 7
	require.Equal(t, digest(base), digest(same))
	for _, change := range []func(*Config){
		func(c *Config) { c.Argv = []string{"python3", "tag.py", "v2"} },
		func(c *Config) { c.Env = []string{"TOKEN", "A=2"} },
		func(c *Config) { c.OutputSchema = []byte(`{}`) },
		func(c *Config) { c.InputSchema = []byte(`{}`) },
	} {
		other := base
		change(&other)
		require.NotEqual(t, digest(base), digest(other))
	}
}

func TestTheLaneIsTheProgram(t *testing.T) {
	t.Parallel()
	for argv0, want := range map[string]string{"python3": "command/python3", "./bin/tag.sh": "command/tag.sh", "/usr/bin/convert": "command/convert"} {
		h, err := New(Config{Argv: []string{argv0}})
		require.NoError(t, err)
		require.Equal(t, want, h.Lane())
	}
}

func TestItCostsNothingAndHasNothingToRejudge(t *testing.T) {
	t.Parallel()
	h, err := New(Config{Argv: []string{"x"}})
	require.NoError(t, err)
	likely, worst, priced := h.Estimate(siding.Message{})
	require.Zero(t, likely+worst)
	require.True(t, priced)
	_, _, ok, err := h.Rejudge(t.Context(), siding.Message{}, nil)
	require.NoError(t, err)
	require.False(t, ok)
}
