package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Not parallel: it stands in a folder of its own.
func TestTheStoreOfASimulatedRunIsNamedWhereThereIsNoOther(t *testing.T) {
	p := newProgram(t)
	p.env = nil
	t.Chdir(p.dir)
	code, _ := p.run(t, "", "dlq", "list")
	require.Equal(t, exitUsage, code)
	require.NotContains(t, p.stderr.String(), defaultSimStore)
	require.NoError(t, os.WriteFile(defaultSimStore, nil, 0o600))
	code, _ = p.run(t, "", "dlq", "list")
	require.Equal(t, exitUsage, code)
	require.Contains(t, p.stderr.String(), "give --store siding-sim.db")
}

func TestALetterThatIsNotSetAsideAnyMoreIsToBeLookedForElsewhere(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.deadOnes(t, 1)
	p.ok(t, "redrive", "--id", "d0")
	require.Contains(t, p.stderr.String(), "1 message sent back\nthe next \"siding run\"")
	code, _ := p.run(t, "", "dlq", "show", "d0")
	require.Equal(t, exitError, code)
	require.Contains(t, p.stderr.String(), "\"siding show ID\" looks in every state")
}
