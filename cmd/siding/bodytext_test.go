package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func bodyShownAs(body string, fault *int64, full, colour bool) string {
	var b bytes.Buffer
	writeBody(&b, []byte(body), fault, full, colour)
	return b.String()
}

func TestBodiesAreShownWithoutActingOnATerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := string(rapid.SliceOfN(rapid.Byte(), 0, 9000).Draw(t, "body"))
		fault := rapid.Int64Range(-1, 10_000).Draw(t, "fault")
		shown := bodyShownAs(body, &fault, rapid.Bool().Draw(t, "full"), false)
		require.True(t, utf8.ValidString(shown))
		require.False(t, strings.ContainsFunc(shown, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t'
		}))
		var hex bytes.Buffer
		writeHex(&hex, []byte(body), &fault, rapid.Bool().Draw(t, "fullHex"))
		require.False(t, strings.ContainsFunc(hex.String(), func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' || r == utf8.RuneError
		}))
	})
}

func TestABodyIsShown(t *testing.T) {
	t.Parallel()
	t.Run("with bytes that are no text escaped", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "a\\xff\\x00é\\u009b\\u202ez\n", bodyShownAs("a\xff\x00é\u009b\u202ez", nil, false, false))
	})
	t.Run("with the fault in another colour", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "a\x1b[7m\\xff\x1b[0m\x1b[1;7;31m\\xfe\x1b[0m\n", bodyShownAs("a\xff\xfe", new(int64(2)), false, true))
		require.Equal(t, "a\x1b[1;7;31mé\x1b[0m\n", bodyShownAs("aé", new(int64(2)), false, true), "the second byte of a rune")
	})
	t.Run("cut, with what lies around the fault", func(t *testing.T) {
		t.Parallel()
		body := strings.Repeat("é", 10_000) + "\xff" + strings.Repeat("z", 10_000)
		shown := bodyShownAs(body, new(int64(20_000)), false, false)
		require.Contains(t, shown, `é\xffz`)
		require.Contains(t, shown, "bytes left out …\n")
		require.Less(t, len(shown), 3*bodyShown)
		require.NotContains(t, shown, "\ufffd")
		require.NotContains(t, bodyShownAs(body, new(int64(20_000)), true, false), "left out")
		require.NotContains(t, bodyShownAs(body, nil, false, false), `\xff`)
	})
	t.Run("as a hex dump with the offsets of the body", func(t *testing.T) {
		t.Parallel()
		var b bytes.Buffer
		writeHex(&b, []byte(strings.Repeat("a", 4000)+"\xff"), new(int64(4000)), false)
		require.Contains(t, b.String(), "00000000  61 61")
		require.Contains(t, b.String(), "00000fa0  ff")
		require.NotContains(t, b.String(), "000005a0")
	})
}
