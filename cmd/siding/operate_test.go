package main

import (
	"context"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

// dead makes a store with dead letters: for each body one in the queue, under the IDs d0, d1 and so on.
func (p *program) dead(t *testing.T, queue string, cause siding.Cause, bodies ...string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), p.file("siding.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	msgs := make([]siding.NewMessage, len(bodies))
	for i, b := range bodies {
		offset := int64(i)
		msgs[i] = siding.NewMessage{
			ID: fmt.Sprintf("d%d", i), Body: []byte(b), Source: &siding.Source{File: "in.jsonl", Line: int64(i + 1)},
			Dead: &siding.Failure{Outcome: siding.OutcomePermanent, Cause: cause, FaultOffset: &offset, NoCall: true,
				Err: fmt.Errorf("fault \x1b[31m in %q", b)},
		}
	}
	_, err = store.Enqueue(context.Background(), queue, siding.EnqueueOptions{}, msgs...)
	require.NoError(t, err)
}

func (p *program) states(t *testing.T, queue string) map[string]string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), p.file("siding.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	states := map[string]string{}
	for l, err := range store.List(t.Context(), siding.Selection{Queue: queue}) {
		require.NoError(t, err)
		states[l.ID] = string(l.State)
	}
	return states
}

func TestRedrive(t *testing.T) {
	t.Parallel()
	t.Run("without a selection is wrong usage and does nothing", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "refused", "1", "2")
		for _, args := range [][]string{{"redrive"}, {"redrive", "--dry-run"}, {"redrive", "--all", "--queue", "q"}, {"dlq", "discard", "--note", "x"}} {
			code, _ := p.run(t, "", args...)
			require.Equal(t, exitUsage, code, args)
		}
		require.Equal(t, map[string]string{"d0": "dead", "d1": "dead"}, p.states(t, "q"))
	})
	t.Run("of what matches nothing does nothing and says so", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "refused", "1")
		for _, args := range [][]string{
			{"--cause", "timeout"}, {"--queue", "other"}, {"--where", ".body == 7"}, {"--until", "1h"}, {"--fingerprint", "x"},
		} {
			p.ok(t, append([]string{"redrive"}, args...)...)
			require.Contains(t, p.stderr.String(), "nothing matches")
		}
		require.Equal(t, map[string]string{"d0": "dead"}, p.states(t, "q"))
	})
	t.Run("sends back what is selected, and keeps its ID", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "refused", `{"n":1}`, `{"n":2}`, "\xff", `{"n":3}`)
		out := p.ok(t, "redrive", "--where", ".body.n > 1", "--dry-run", "--json")
		lines := objects(t, out)
		require.Len(t, lines, 3)
		require.Equal(t, "d1", lines[0]["id"])
		require.InDelta(t, 2, lines[2]["matched"], 0)
		require.InDelta(t, 0, lines[2]["changed"], 0)
		require.Equal(t, "dead", p.states(t, "q")["d1"])

		p.ok(t, "redrive", "--where", ".body.n > 1")
		require.Contains(t, p.stderr.String(), "2 messages sent back")
		require.Equal(t, map[string]string{"d0": "dead", "d1": "ready", "d2": "dead", "d3": "ready"}, p.states(t, "q"))
		shown := objects(t, p.ok(t, "show", "d1", "--json"))[0]
		require.InDelta(t, 0, shown["attempt"], 0)
		require.InDelta(t, 1, shown["redrives"], 0)
		require.Nil(t, shown["last_error"])

		p.ok(t, "redrive", "--id", "d1", "--id", "d0")
		require.Contains(t, p.stderr.String(), "d1 in queue q is ready, not set aside")
		require.Equal(t, "ready", p.states(t, "q")["d0"])
		code, _ := p.run(t, "", "redrive", "--id", "d2", "--id", "nope")
		require.Equal(t, exitError, code)
		require.Equal(t, "dead", p.states(t, "q")["d2"], "an ID that is wrong stops all")
		p.ok(t, "redrive", "--all")
		require.Equal(t, "ready", p.states(t, "q")["d2"])
	})
	t.Run("of an ID in several queues needs the queue", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "one", "refused", "1")
		p.dead(t, "two", "refused", "1")
		code, _ := p.run(t, "", "redrive", "--id", "d0")
		require.Equal(t, exitUsage, code)
		require.Contains(t, p.stderr.String(), "--queue: one, two")
		code, _ = p.run(t, "", "show", "d0")
		require.Equal(t, exitUsage, code)
		p.ok(t, "redrive", "--id", "d0", "--queue", "two")
		require.Equal(t, "dead", p.states(t, "one")["d0"])
		require.Equal(t, "ready", p.states(t, "two")["d0"])
	})
	t.Run("at a pace sends back, and a dry run does not wait for it", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "refused", "1", "2", "3", "4")
		p.ok(t, "redrive", "--all", "--rate", "1/h", "--dry-run")
		p.ok(t, "redrive", "--all", "--rate", "200/s")
		for id, state := range p.states(t, "q") {
			require.Equal(t, "ready", state, id)
		}
	})
	t.Run("of many takes them all", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		bodies := make([]string, 3*operateBatch+7)
		for i := range bodies {
			bodies[i] = fmt.Sprint(i)
		}
		p.dead(t, "q", "refused", bodies...)
		p.ok(t, "redrive", "--cause", "refused")
		require.Contains(t, p.stderr.String(), fmt.Sprintf("%d messages sent back", len(bodies)))
		for id, s := range p.states(t, "q") {
			require.Equal(t, "ready", s, id)
		}
	})
	t.Run("leaves out what an expression fails on, and stops at one without an end", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "refused", `{"n":1}`, `"text"`)
		p.ok(t, "redrive", "--where", ".body.n == 1")
		require.Contains(t, p.stderr.String(), "gave an error for 1 message")
		require.Equal(t, map[string]string{"d0": "ready", "d1": "dead"}, p.states(t, "q"))
		code, _ := p.run(t, "", "redrive", "--where", "last(repeat(1))")
		require.Equal(t, exitUsage, code)
		require.Equal(t, "dead", p.states(t, "q")["d1"])
	})
}

func TestWhatFailsAnewWhileItIsSentBackIsNotTakenAgain(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.dead(t, "q", "refused", make([]string, 3*operateBatch+7)...)
	store, err := sqlite.Open(t.Context(), p.file("siding.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	sel, err := (&selectFlags{queue: "q"}).resolve(time.Now())
	require.NoError(t, err)
	turns := 0
	require.NoError(t, p.app.operateOn(t.Context(), store, sel, false, operation{
		verb: "sent back",
		do: func(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error) {
			if turns++; turns > 8 {
				return nil, errors.New("it goes on for ever")
			}
			errs, err := s.Redrive(ctx, queue, ids...)
			require.NoError(t, err)
			leased, err := store.Lease(ctx, siding.LeaseRequest{
				Queue: queue, Max: len(ids), MaxRetries: -1, Duration: time.Minute, Policy: siding.DefaultPolicy(),
			})
			require.NoError(t, err)
			require.Len(t, leased.Deliveries, len(ids))
			ends := make([]siding.Settlement, len(ids))
			for i, d := range leased.Deliveries {
				ends[i] = siding.Settlement{
					Token: d.Token, Policy: siding.DefaultPolicy(), Failure: siding.FailureOf(siding.Permanent(errors.New("again"))),
				}
			}
			_, err = store.Settle(ctx, ends...)
			return errs, err
		},
	}))
	require.Equal(t, 4, turns)
	require.Contains(t, p.stderr.String(), fmt.Sprintf("%d messages sent back", 3*operateBatch+7))
}

func TestGivingUp(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.dead(t, "q", "refused", "1", "2", "3")
	code, _ := p.run(t, "", "dlq", "discard", "--id", "d0")
	require.Equal(t, exitUsage, code, "it needs a reason")
	p.ok(t, "dlq", "discard", "--id", "d0", "--note", "not wanted")
	p.ok(t, "cancel", "d1", "--note", "gone")
	require.Equal(t, map[string]string{"d0": "discarded", "d1": "discarded", "d2": "dead"}, p.states(t, "q"))
	require.Contains(t, p.ok(t, "show", "d1"), "discarded: gone")
	code, _ = p.run(t, "", "cancel", "d1")
	require.Equal(t, exitError, code)
	code, _ = p.run(t, "", "cancel", "nope")
	require.Equal(t, exitError, code)
	p.ok(t, "doctor")
}

func TestListAndExport(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.dead(t, "q", "invalid-utf8", `{"a":1}`, "=1+1", "\xff\x00", "@SUM(A1)", "\tx", "-1", "+1", "plain")
	listed := objects(t, p.ok(t, "dlq", "list", "--json"))
	require.Len(t, listed, 8)
	require.Equal(t, "d0", listed[0]["id"])
	require.Len(t, objects(t, p.ok(t, "dlq", "list", "--json", "--limit", "3")), 3)
	require.Len(t, objects(t, p.ok(t, "dlq", "list", "--json", "--limit", "2", "--where", ".line > 4")), 2)
	text := p.ok(t, "dlq", "list")
	require.NotContains(t, text, "\x1b")
	require.Equal(t, 9, strings.Count(text, "\n"))
	require.Empty(t, p.ok(t, "dlq", "list", "--cause", "timeout"))

	exported := objects(t, p.ok(t, "dlq", "export"))
	require.Len(t, exported, 8)
	require.Equal(t, `{"a":1}`, exported[0]["body"])
	require.Nil(t, exported[2]["body"])
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte("\xff\x00")), exported[2]["body_base64"])

	p.ok(t, "dlq", "export", "--format", "csv", "--out", p.file("dead.csv"))
	rows, err := csv.NewReader(strings.NewReader(content(t, p.file("dead.csv")))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 9)
	body := slices.Index(exportHead, "body")
	require.Equal(t, "body", rows[0][body])
	for i, want := range []string{`{"a":1}`, "'=1+1", "", "'@SUM(A1)", "'\tx", "'-1", "'+1", "plain"} {
		require.Equal(t, want, rows[i+1][body])
	}
	require.Equal(t, "'＝1", noFormula("＝1"), "some take full-width signs for the same")
	require.Equal(t, "'\n=1", noFormula("\n=1"))
	require.Equal(t, "' =1", noFormula(" =1"), "some take spaces away first")
	require.Equal(t, "'\ufeff=1", noFormula("\ufeff=1"))
	require.Empty(t, noFormula(""))
	require.Equal(t, `'=\x1b[2J`, shownCell("=\x1b[2J"), "a terminal gets no control characters")
	p.ok(t, "dlq", "export", "--format", "csv", "--json", "--out", p.file("dead.csv"), "--force")
	code, _ := p.run(t, "", "dlq", "export", "--format", "csv", "--json")
	require.Equal(t, exitUsage, code, "JSON lines and CSV do not mix")
	code, _ = p.run(t, "", "dlq", "export", "--out", p.file("dead.csv"))
	require.Equal(t, exitUsage, code, "a file that is there is not replaced")
	p.ok(t, "dlq", "export", "--out", p.file("dead.csv"), "--force")

	shown := p.ok(t, "dlq", "show", "d2")
	require.Contains(t, shown, `\xff\x00`)
	require.Contains(t, shown, "in.jsonl, line 3")
	require.Contains(t, p.ok(t, "dlq", "show", "d2", "--hex"), "ff 00")
	require.Contains(t, p.ok(t, "show", "d2", "--json"), `"body_base64":"/wA="`)
}

func TestEachQueueHasItsOwnEntryInTheAuditTrail(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"redrive as a whole":   {"redrive", "--cause", "refused"},
		"redrive one by one":   {"redrive", "--where", ".cause == \"refused\""},
		"redrive with repairs": {"redrive", "--cause", "refused", "--repair", "set:field=/n,value=2"},
		"discard":              {"dlq", "discard", "--cause", "refused", "--note", "not wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.dead(t, "one", "refused", `{"n":1}`, `{"n":1}`)
			p.dead(t, "two", "refused", `{"n":1}`)
			p.ok(t, args...)
			for queue, count := range map[string]int{"one": 2, "two": 1} {
				entries := objects(t, p.ok(t, "audit", "--json", "--queue", queue))
				require.Len(t, entries, 1, queue)
				require.Equal(t, queue, entries[0]["queue"])
				require.InDelta(t, count, entries[0]["count"], 0)
			}
			require.Len(t, objects(t, p.ok(t, "audit", "--json")), 2)
		})
	}
}
