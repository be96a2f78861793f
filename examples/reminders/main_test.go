package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachReminderIsSentOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reminders.db")
	var first bytes.Buffer
	require.NoError(t, run(t.Context(), path, &first))

	said := strings.Split(strings.TrimSuffix(first.String(), "\n"), "\n")
	setAside := `set aside: bins-week-15 (poison) after 1 failed: "carol" is no address`
	require.ElementsMatch(t, []string{
		"sent: dentist-0412 to ada@example.com",
		"busy: library-2291 is tried again later",
		"sent: library-2291 to bob@example.com",
		setAside,
	}, said)
	require.Less(t, strings.Index(first.String(), "busy: "), strings.Index(first.String(), "sent: library"))

	var second bytes.Buffer
	require.NoError(t, run(t.Context(), path, &second))
	require.Equal(t, setAside+"\n", second.String(), "nothing is sent twice, and what is set aside is still there")
}
