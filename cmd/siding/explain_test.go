package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	kinds := map[string][]string{}
	for _, e := range explanations {
		require.False(t, seen[e.kind+e.code], "%s is explained twice", e.code)
		seen[e.kind+e.code] = true
		require.NotEmpty(t, e.meaning)
		kinds[e.kind] = append(kinds[e.kind], e.code)
	}
	require.Equal(t, texts(siding.Causes()), kinds[kindCause])
	require.Equal(t, texts(siding.Reasons()), kinds[kindReason])
	require.Equal(t, texts(siding.Outcomes()), kinds[kindOutcome])
	require.Equal(t, texts(siding.States()), kinds[kindState])
	require.Equal(t, texts(siding.HoldKinds()), kinds[kindHold])
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	require.Contains(t, p.ok(t, "explain", "invalid-utf8"), "not UTF-8")
	o := objects(t, p.ok(t, "explain", "Invalid-UTF8", "--json"))
	require.Equal(t, "invalid-utf8", o[0]["code"])
	require.Equal(t, []any{"strip-invalid-utf8", "replace-invalid-utf8"}, o[0]["suggested_repairs"])
	require.Len(t, objects(t, p.ok(t, "explain", "expired", "--json")), 2, "it is a cause and a reason")
	require.Len(t, objects(t, p.ok(t, "explain", "--json")), len(explanations))
	require.Contains(t, p.ok(t, "explain", "budget"), "Raise budget.usd")
	require.Contains(t, p.ok(t, "explain"), "attempts-exhausted")
	code, _ := p.run(t, "", "explain", "\x1b[2J")
	require.Equal(t, exitUsage, code)
	require.NotContains(t, p.stderr.String(), "\x1b")
}
