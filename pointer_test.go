package siding_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestPointersAreReadAsRFC6901HasIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "/": {""}, "/id": {"id"}, "/a/b/0": {"a", "b", "0"}, "/a~1b/~0/~01": {"a/b", "~", "~1"}, "//": {"", ""}, "/ä": {"ä"},
	} {
		names, err := siding.ParsePointer(text)
		require.NoError(t, err)
		require.Equal(t, want, names, text)
	}
	for text, want := range map[string]string{
		"id":     `did you mean "/id"?`,
		"/a~":    "~0 stands for ~",
		"/a~2":   "~0 stands for ~",
		"/\xff":  "not valid UTF-8",
		"\x1b\n": `did you mean`,
	} {
		_, err := siding.ParsePointer(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\x1b")
		require.NotContains(t, err.Error(), "\n")
	}
}
