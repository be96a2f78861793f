package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTheCommittedFileIsWhatTheGeneratorWrites(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("../metadata.jsonl")
	require.NoError(t, err)
	require.True(t, bytes.Equal(committed, metadata()), "remake it: go run ./examples/wallpapers/generate > examples/wallpapers/metadata.jsonl")
}

func TestEveryRecordIsAsOddAsItShouldBe(t *testing.T) {
	t.Parallel()
	lines := bytes.Split(bytes.TrimSuffix(metadata(), []byte("\n")), []byte("\n"))
	require.Len(t, lines, records)

	ids, prompts, languages := map[string]bool{}, map[string]bool{}, map[string]int{}
	var unreadable []int
	for n, line := range lines {
		var r record
		if !utf8.Valid(line) || json.Unmarshal(line, &r) != nil {
			unreadable = append(unreadable, n)
			require.NotNil(t, broken[n], "record %d is broken by accident: %s", n, line)
			continue
		}
		require.NotEmpty(t, r.ID)
		require.False(t, ids[r.ID], "record %d has an ID that another has", n)
		ids[r.ID] = true
		languages[r.Language]++
		prompt := fmt.Sprint(r.Title, text(r.Description), text(r.Comment), r.Colors)
		require.False(t, prompts[prompt], "record %d asks what another asks: a bill by request could not tell them apart", n)
		prompts[prompt] = true
		if broken[n] == nil {
			require.NotEmpty(t, r.Title, "record %d", n)
			require.Less(t, len(line), 40_000, "record %d", n)
		}
	}
	require.Equal(t, []int{61, 302}, unreadable, "invalid UTF-8, and a line that is cut; a lone surrogate is well formed for this reader")
	require.Len(t, broken, 8)
	require.Greater(t, len(languages), 20)
}

func text(field *string) string {
	if field == nil {
		return ""
	}
	return *field
}
