package claude

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHostileAnswersTakeBoundedTime has answers that are large in every way that a schema can be met with. The bound is
// far above what they take, also on a busy machine.
func TestHostileAnswersTakeBoundedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	t.Parallel()
	schema, err := CompileSchema([]byte(`{"type":"object","properties":{"moods":{"type":"array","items":{"enum":["Calm","Dark"]}}},"required":["moods"]}`))
	require.NoError(t, err)
	moods := func(one string, n int) string { return `{"moods":[` + strings.Repeat(one+",", n) + `"Calm"]}` }
	for name, c := range map[string]struct {
		text string
		fits bool
	}{
		"many faults":           {moods(`"sad"`, 100_000), false},
		"many faults of case":   {moods(`"calm"`, 100_000), true},
		"one long text":         {strings.Repeat("x", 8<<20), false},
		"one long value":        {moods(`"`+strings.Repeat("x", 8<<20)+`"`, 1), false},
		"10,000 levels":         {`{"moods":` + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990) + "}", false},
		"more levels than JSON": {strings.Repeat("[", 1<<20), false},
	} {
		began := time.Now()
		_, err := schema.conform([]byte(c.text))
		require.Less(t, time.Since(began), 30*time.Second, name)
		require.Equal(t, c.fits, err == nil, name)
		if err != nil {
			require.Less(t, len(err.Error()), 2_000, name)
		}
	}
}
