package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

func TestRetentionCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	past := time.Now().Add(-48 * time.Hour)
	store, err := sqlite.Open(t.Context(), p.file("siding.db"), sqlite.Options{Clock: func() time.Time { return past }})
	require.NoError(t, err)
	_, err = store.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{
		ID: "old", Body: []byte("secret"), Dead: &siding.Failure{Outcome: siding.OutcomePermanent, Cause: "refused", Err: errors.New("x")},
	})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	p.fails(t, "q", "refused", "new", "declined")

	require.Empty(t, objects(t, p.ok(t, "retention", "--json"))[0]["dead"])
	require.Contains(t, p.ok(t, "retention"), "for ever")
	p.ok(t, "retention", "apply")
	require.Contains(t, p.stderr.String(), "no retention is set")
	for _, args := range [][]string{
		{"q", "dead", "0"}, {"q", "dead", "-1h"}, {"q", "dead", "1s"}, {"q", "bodies", "1d"}, {"none", "dead", "1d"}, {"q", "dead"}, {"q", "dead", "soon"},
	} {
		code, _ := p.run(t, "", append([]string{"retention", "set"}, args...)...)
		require.Equal(t, exitUsage, code, args)
	}
	require.Equal(t, "24h0m0s", objects(t, p.ok(t, "retention", "set", "q", "dead", "1d", "--json"))[0]["dead"])
	p.ok(t, "retention", "set", "q", "history", "36h")
	require.Contains(t, p.ok(t, "retention", "show"), "1 day")
	dropped := objects(t, p.ok(t, "retention", "apply", "--json"))
	require.InDelta(t, 1, dropped[0]["dead"], 0)

	listed := objects(t, p.ok(t, "dlq", "list", "--json"))
	require.Equal(t, true, listed[0]["no_body"])
	require.Equal(t, false, listed[1]["no_body"])
	require.Contains(t, p.ok(t, "show", "old"), "dropped by retention")
	exported := objects(t, p.ok(t, "dlq", "export", "--bodies", "@bodies"))
	require.Nil(t, exported[0]["body"])
	require.NotContains(t, exported[0], "body_file")
	require.Contains(t, p.ok(t, "dlq", "diagnose", "old"), "enqueue the same record again")
	code, _ := p.run(t, "", "dlq", "edit", "old", "--stdin")
	require.Equal(t, exitError, code)
	for _, args := range [][]string{{}, {"--where", "true"}, {"--repair", "strip-invalid-utf8"}} {
		code, _ = p.run(t, "", append([]string{"redrive", "--id", "old"}, args...)...)
		require.Equal(t, exitSetAside, code, "%v: %s", args, p.stderr.String())
		require.Contains(t, p.stderr.String(), "1 message stays, whose body retention has dropped")
	}
	p.ok(t, "retention", "set", "q", "dead", "off")
	p.ok(t, "retention", "set", "q", "history", "off")
	require.Empty(t, objects(t, p.ok(t, "retention", "--json"))[0]["history"])
	var actions []any
	for _, e := range objects(t, p.ok(t, "audit", "--json", "--queue", "q")) {
		actions = append(actions, e["action"])
	}
	require.Contains(t, actions, "drop")
	p.ok(t, "doctor")
}
