//go:build soak

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSoakTenMillionLines(t *testing.T) {
	peak := largeRun(t, 10_000_000)
	t.Logf("%.1f MB of memory", float64(peak)/1e6)
	require.Positive(t, peak)
	require.Less(t, peak, int64(150e6), "memory does not grow with the input")
}
