package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// countdown is a context that is cancelled when it has been looked at so many times.
type countdown struct {
	context.Context
	looks  atomic.Int64
	cancel context.CancelCauseFunc
}

func newCountdown(looks int64) *countdown {
	c := &countdown{}
	c.Context, c.cancel = context.WithCancelCause(context.Background())
	c.looks.Store(looks)
	c.look()
	return c
}

func (c *countdown) look() {
	if c.looks.Add(-1) < 0 {
		c.cancel(errors.New("stopped by a test"))
	}
}

func (c *countdown) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *countdown) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

func TestAStopAtAnyMomentIsAnInterruption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.records(t, "in.jsonl", 5)
	w.want(t, 0, "run", "recipe.yaml", "in.jsonl")
	w.write(t, "changed.yaml", strings.Replace(testRecipe, "Tag this", "Please tag this", 1))
	env := append(slices.Clone(w.env), "SIDING_STORE="+w.path("siding.db"))
	for name, args := range map[string][]string{
		"run": {"run", w.path("recipe.yaml"), w.path("in.jsonl"), "--out", w.path("results.jsonl"), "--force", "--json"},
		"run of a changed recipe": {
			"run", w.path("changed.yaml"), w.path("in.jsonl"), "--out", w.path("other.jsonl"), "--changed", "ask", "--json",
		},
		"run on a new store": {
			"run", w.path("recipe.yaml"), w.path("in.jsonl"), "--out", w.path("new.jsonl"), "--store", w.path("new.db"), "--json",
		},
		"status": {"status"}, "doctor": {"doctor"}, "dlq list": {"dlq", "list"},
		"export": {"dlq", "export"}, "show": {"show", "r001"}, "redrive": {"redrive", "--all"},
		"send":    {"send", "other", "--id", "1", "--body", "x"},
		"results": {"results", "--queue", "tags", "--out", w.path("all.jsonl")},
		"bench":   {"bench", "--jobs", "3", "--store", w.path("bench.db")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for looks := range int64(30) {
				var stdout, stderr bytes.Buffer
				code := Main(newCountdown(looks), args, strings.NewReader(""), &stdout, &stderr, env)
				if code == exitDone {
					continue
				}
				require.Equal(t, exitInterrupted, code, "after %d looks: %s", looks, stderr.String())
				require.Regexp(t, "interrupted|stopped", stderr.String())
				require.NotContains(t, stderr.String(), "context canceled")
				if stdout.Len() > 0 && strings.HasPrefix(name, "run") {
					_ = ended{stdout: stdout.String()}.summary(t)
				}
			}
		})
	}
	t.Cleanup(func() {
		w.want(t, 0, "run", "changed.yaml", "in.jsonl", "--out", "other.jsonl", "--changed", "ask")
		require.Len(t, w.resultIDs(t, "other.jsonl"), 5)
		require.EqualValues(t, 5, w.want(t, 0, "run", "recipe.yaml", "in.jsonl", "--changed", "ask", "--json", "--force").summary(t).Done)
		w.want(t, 0, "doctor")
		b, err := os.ReadFile(w.path("results.jsonl"))
		require.NoError(t, err)
		require.Len(t, objects(t, string(b)), 5)
	})
}
