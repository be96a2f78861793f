package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

// fails makes dead letters with one error text each.
func (p *program) fails(t *testing.T, queue string, cause siding.Cause, prefix string, texts ...string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), p.file("siding.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	msgs := make([]siding.NewMessage, len(texts))
	for i, text := range texts {
		msgs[i] = siding.NewMessage{
			ID: fmt.Sprintf("%s%d", prefix, i), Body: fmt.Appendf(nil, "{\"n\":\"\xff%d\"}", i),
			Dead: &siding.Failure{Outcome: siding.OutcomePermanent, Cause: cause, NoCall: true, Err: errors.New(text)},
		}
	}
	_, err = store.Enqueue(context.Background(), queue, siding.EnqueueOptions{}, msgs...)
	require.NoError(t, err)
}

func TestGroups(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.fails(t, "q", "invalid-utf8", "u", "byte 0xff at offset 6", "byte 0xff at offset 7", "byte 0xff at offset 8")
	p.fails(t, "q", "refused", "r", "the model \x1b[2J declined")
	p.fails(t, "other", "invalid-utf8", "u", "byte 0xff at offset 9")

	lines := objects(t, p.ok(t, "dlq", "groups", "--json"))
	require.Len(t, lines, 3)
	first := lines[0]
	require.Equal(t, "group", first["type"])
	require.Equal(t, "q", first["queue"])
	require.Equal(t, "invalid-utf8", first["cause"])
	require.InDelta(t, 3, first["dead"], 0)
	require.InDelta(t, 3, first["arrived"], 0)
	require.Equal(t, "new", first["state"])
	require.Equal(t, []any{"strip-invalid-utf8"}, first["suggested_repairs"])
	require.NotEmpty(t, first["trend"])
	fingerprint, ok := first["fingerprint"].(string)
	require.True(t, ok)
	text := p.ok(t, "dlq", "groups")
	require.NotContains(t, text, "\x1b")
	require.Contains(t, text, "strip-invalid-utf8")
	require.Contains(t, text, "byte 0xff")
	require.Len(t, objects(t, p.ok(t, "dlq", "groups", "--json", "--queue", "other")), 1)

	// A group is named by its beginning, and where two queues have it, with the queue.
	code, _ := p.run(t, "", "dlq", "groups", "mark", fingerprint, "known")
	require.Equal(t, exitUsage, code)
	require.Contains(t, p.stderr.String(), "in queue other")
	marked := objects(t, p.ok(t, "dlq", "groups", "mark", fingerprint[:len(fingerprint)-2], "resolved", "--queue", "q", "--note", "see \x1b ticket", "--as", "ann", "--json"))
	require.Equal(t, "resolved", marked[0]["state"])
	require.Equal(t, "ann", marked[0]["by"])
	require.Equal(t, `see \x1b ticket`, marked[0]["note"])
	for _, args := range [][]string{{"nope", "known"}, {fingerprint, "finished"}, {fingerprint}, {"", "known"}} {
		code, _ := p.run(t, "", append([]string{"dlq", "groups", "mark"}, args...)...)
		require.Contains(t, []int{exitUsage, exitError}, code, args)
	}

	p.fails(t, "q", "invalid-utf8", "again", "byte 0xfe at offset 100")
	again := objects(t, p.ok(t, "dlq", "groups", "--json", "--queue", "q", "--state", "new"))
	require.Equal(t, true, again[0]["regression"])
	require.Contains(t, p.ok(t, "dlq", "groups"), "REGRESSION")
	p.ok(t, "dlq", "groups", "mark", fingerprint, "ignored", "--queue", "q")
	require.Len(t, objects(t, p.ok(t, "dlq", "groups", "--json")), 2)
	p.ok(t, "dlq", "groups")
	require.Contains(t, p.stderr.String(), "ignored, and not shown: 1 group with 4 dead letters")
	require.Len(t, objects(t, p.ok(t, "dlq", "groups", "--json", "--all")), 3)

	p.ok(t, "redrive", "--fingerprint", fingerprint, "--repair", "strip-invalid-utf8")
	require.Contains(t, p.stderr.String(), "5 messages sent back")
	require.Len(t, objects(t, p.ok(t, "dlq", "groups", "--json")), 1)
	require.Len(t, objects(t, p.ok(t, "dlq", "groups", "--json", "--all")), 3, "a group is remembered")
	actions := []any{}
	for _, e := range objects(t, p.ok(t, "audit", "--json")) {
		actions = append(actions, e["action"])
	}
	require.Equal(t, []any{"repair", "repair", "mark-group", "mark-group"}, actions, "one for each queue")
	require.Len(t, objects(t, p.ok(t, "audit", "--json", "--action", "mark-group", "--limit", "1")), 1)
	p.ok(t, "doctor")
}
