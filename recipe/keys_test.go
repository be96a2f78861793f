package recipe

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

const (
	tableBegins = "<!-- keys: made by the tests of package recipe from its list of keys -->\n"
	tableEnds   = "<!-- end of keys -->\n"
)

// The reference page has every key as the program knows it. SIDING_UPDATE_GOLDEN=1 writes it.
func TestTheReferencePageHasTheKeysThatThereAre(t *testing.T) {
	t.Parallel()
	const page = "../docs/recipe.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegins)
	require.True(t, ok)
	old, after, ok := strings.Cut(rest, tableEnds)
	require.True(t, ok)
	if os.Getenv("SIDING_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(page, []byte(before+tableBegins+reference()+tableEnds+after), 0o644))
		return
	}
	require.Equal(t, reference(), old, "run the test with SIDING_UPDATE_GOLDEN=1")
}

// reference writes the keys as Markdown.
func reference() string {
	var b strings.Builder
	b.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, k := range Keys() {
		value := string(k.Kind)
		if k.Bounds != "" {
			value += ": " + k.Bounds
		}
		meaning := k.Meaning
		if k.Refused != "" {
			meaning = "*Not in this version.* " + meaning
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, value, k.Default, strings.ReplaceAll(meaning, "|", `\|`))
	}
	b.WriteString("\n")
	return b.String()
}

func TestTheKeysAreWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range Keys() {
		require.False(t, seen[k.Path], k.Path)
		seen[k.Path] = true
		if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
			require.Contains(t, []Kind{KindMap, KindEither}, find(k.Path[:i]).Kind, k.Path)
		}
		require.True(t, strings.HasSuffix(k.Meaning, "."), k.Path)
		require.Equal(t, k.Kind == KindMap, k.Default == "", k.Path)
	}
}

func rapidText(m siding.Money) string { return strconv.FormatInt(int64(m), 10) }

// manualRecipe gives the indented recipe at the head of the reference page.
func manualRecipe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/recipe.md")
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.SplitSeq(string(text), "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented:
			b.WriteString(code + "\n")
		case b.Len() > 0:
			return b.String()
		}
	}
	return b.String()
}
