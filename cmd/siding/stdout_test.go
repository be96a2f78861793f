package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// full is a writer that takes so many bytes, and then has no room.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, errors.New("no room")
	}
	f.room -= len(p)
	return len(p), nil
}

func TestNoCommandEndsWellWhoseOutputDidNotArrive(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.dead(t, "q", "refused", "1", "2")
	for _, args := range [][]string{
		{"doctor"}, {"doctor", "--json"}, {"status"}, {"status", "--json"}, {"explain"}, {"explain", "poison"}, {"version"},
		{"show", "d0"}, {"show", "d0", "--json"}, {"dlq", "list"}, {"dlq", "list", "--json"}, {"dlq", "show", "d1"},
		{"dlq", "export"}, {"redrive", "--all", "--dry-run"}, {"redrive", "--all", "--dry-run", "--json"},
		{"bench", "--jobs", "3", "--store", "@bench.db"}, {"completion", "bash"}, {"--help"}, {"run", "--help"},
	} {
		whole := p.ok(t, args...)
		for _, room := range []int{0, len(whole) / 2} {
			var stderr bytes.Buffer
			code := Main(context.Background(), args, strings.NewReader(""), &full{room}, &stderr, p.env)
			require.Equal(t, exitError, code, "siding %v with room for %d bytes", args, room)
			require.Contains(t, stderr.String(), "no room")
		}
	}
}
