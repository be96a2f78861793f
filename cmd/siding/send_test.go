package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSend(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.ok(t, "send", "reminders", "--id", "evt-1", "--body", `{"to":"ada"}`, "--header", "x=y", "--priority", "3", "--not-before", "1h")
	shown := objects(t, p.ok(t, "show", "evt-1", "--json"))[0]
	require.Equal(t, `{"to":"ada"}`, shown["body"])
	require.Equal(t, map[string]any{"x": "y"}, shown["headers"])
	require.InDelta(t, 3, shown["priority"], 0)

	sent := objects(t, p.ok(t, "send", "reminders", "--id", "evt-1", "--body", `{"to":"ada"}`, "--json"))
	require.Equal(t, "unchanged", sent[0]["status"])
	code, out := p.run(t, "", "send", "reminders", "--id", "evt-1", "--body", `{"to":"eve"}`, "--json")
	require.Equal(t, exitError, code)
	require.Equal(t, "refused", objects(t, out)[0]["status"])
	require.Contains(t, p.stderr.String(), "--supersede")
	p.ok(t, "send", "reminders", "--id", "evt-1", "--body", `{"to":"eve"}`, "--supersede")
	require.Contains(t, p.ok(t, "show", "evt-1"), "ada", "the old body is in the history")

	code, out = p.run(t, "\xff\x00", "send", "reminders", "--id", "raw", "--json")
	require.Equal(t, 0, code)
	require.Equal(t, "new", objects(t, out)[0]["status"])
	require.Contains(t, p.ok(t, "show", "raw"), `\xff\x00`)

	code, out = p.run(t, "{\"a\":1}\n{\"a\":2}\n{\"a\":1}\n", "send", "lines", "--json")
	require.Equal(t, 0, code, p.stderr.String())
	require.Len(t, objects(t, out), 3)
	require.Contains(t, p.stderr.String(), "2 new")
	status := objects(t, p.ok(t, "status", "--json"))
	require.Len(t, status, 2)
	require.Equal(t, "lines", status[0]["queue"])
	require.InDelta(t, 2, status[0]["ready"], 0)
	require.Contains(t, p.ok(t, "status"), "reminders")

	for _, args := range [][]string{
		{"send"}, {"send", ""}, {"send", "q", "--body", "x"}, {"send", "q", "--id", "a\nb"}, {"send", "q", "--id", "a", "--header", "x"},
		{"send", "q", "--id", "a", "--body", "x", "--body-file", "y"}, {"send", "q", "--id", "a", "--not-before", "soon"},
		{"send", "q", "--format", "xml"}, {"send", "none.yaml", "--id", "a"}, {"send", "q", "--id", "a", "--max-depth", "-1"},
		{"send", "q", "--id", "a", "--body-file", "/no/such/file"},
	} {
		code, _ := p.run(t, "", args...)
		require.Equal(t, exitUsage, code, args)
	}
	code, _ = p.run(t, "", "send", "lines", "--id", "more", "--body", "x", "--max-depth", "2")
	require.Equal(t, exitError, code)
	require.Contains(t, p.stderr.String(), "full")
	p.ok(t, "doctor")
}
