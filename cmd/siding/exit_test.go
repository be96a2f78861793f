package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing is 0", nil, 0},
		{"set aside is 3", said(errSetAside), 3},
		{"a broken rule is 3", said(errRuleBroken), 3},
		{"held is 4", said(errHeld), 4},
		{"interrupted is 130", errInterrupted, 130},
		{"an error is 1", errors.New("x"), 1},
		{"usage is 2", usagef("x"), 2},
		{"a store of the other mode is 2", fmt.Errorf("x: %w", siding.ErrStoreMode), 2},
		{"held comes before set aside", errors.Join(said(errHeld), said(errSetAside)), 4},
		{"interrupted comes before held", errors.Join(said(errHeld), said(errInterrupted)), 130},
		{"an error comes before interrupted", errors.Join(said(errInterrupted), errors.New("x")), 1},
		{"an error that wraps an end is an error", fmt.Errorf("x: %w", errInterrupted), 1},
		{"usage comes before all", errors.Join(errors.New("x"), said(errHeld), fmt.Errorf("y: %w", usagef("z"))), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, exitCode(c.err))
		})
	}
}

func TestAnErrorIsReportedUnlessItWasSaid(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.app.report(errors.New("bad \x1b[31m thing\x00"))
	require.Equal(t, "siding: bad \\x1b[31m thing\\x00\n", p.stderr.String())
	p.stderr.Reset()
	p.app.report(said(errHeld))
	require.Empty(t, p.stderr.String())
	p.app.report(errors.Join(said(errHeld), errors.New("the results could not be written")))
	require.Equal(t, "siding: the results could not be written\n", p.stderr.String(), "what was said is not said again, and the rest is")
}
