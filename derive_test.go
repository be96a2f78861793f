package siding_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestDerivedIDs(t *testing.T) {
	t.Parallel()
	t.Run("a record without an ID is named by its bytes and its place among equals", func(t *testing.T) {
		t.Parallel()
		a, b := siding.Hash{1}, siding.Hash{2}
		require.Equal(t, siding.RecordID(a, 0), siding.RecordID(a, 0))
		names := map[string]bool{}
		for _, id := range []string{siding.RecordID(a, 0), siding.RecordID(a, 1), siding.RecordID(a, 2), siding.RecordID(b, 0)} {
			require.NoError(t, siding.CheckID(id))
			names[id] = true
		}
		require.Len(t, names, 4)
	})
	t.Run("a duplicate's ID is fit for use however long the taken one is", func(t *testing.T) {
		t.Parallel()
		for _, id := range []string{"7", strings.Repeat("x", siding.MaxIDBytes), strings.Repeat("漢", 170)} {
			one, other := siding.DuplicateID(id, []byte("1")), siding.DuplicateID(id, []byte("2"))
			require.NoError(t, siding.CheckID(one))
			require.NotEqual(t, one, other)
			require.NotEqual(t, id, one)
			require.Equal(t, one, siding.DuplicateID(id, []byte("1")))
		}
	})
}
