package siding_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
)

// Stored codes never change their spelling: testdata/codes.txt may only grow, within each list at its end.
func TestStoredCodesArePinned(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	list(&b, "state", siding.States())
	list(&b, "outcome", siding.Outcomes())
	list(&b, "reason", siding.Reasons())
	list(&b, "cause", siding.Causes())
	list(&b, "fate", siding.Fates())
	list(&b, "revision", siding.RevisionKinds())
	list(&b, "scope", []siding.Scope{siding.ScopeAccount, siding.ScopeLane, siding.ScopeRecipe})
	list(&b, "action", siding.Actions())
	list(&b, "group", siding.GroupStates())
	list(&b, "campaign", siding.CampaignStates())
	list(&b, "member", siding.MemberStatuses())
	list(&b, "drop", siding.DropWhats())
	list(&b, "hold", siding.HoldKinds())
	list(&b, "verdict", []siding.Verdict{siding.VerdictNone, siding.VerdictAccepted, siding.VerdictRejected})
	if os.Getenv("SIDING_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile("testdata/codes.txt", []byte(b.String()), 0o644))
	}
	golden, err := os.ReadFile("testdata/codes.txt")
	require.NoError(t, err)
	require.Equal(t, string(golden), b.String())
}

func list[T ~string](b *strings.Builder, kind string, codes []T) {
	seen := map[T]bool{}
	for _, c := range codes {
		if seen[c] {
			panic("listed twice: " + string(c))
		}
		seen[c] = true
		fmt.Fprintf(b, "%s %q\n", kind, string(c))
	}
}
