package recipe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatNestsTooDeepIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	steps := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"brackets":              {"x: " + strings.Repeat("[", 200), "r.yaml:1:103: here the recipe is nested more than 100 levels deep"},
		"closed brackets":       {strings.Repeat("[", 101) + strings.Repeat("]", 101), "r.yaml:1:101: here"},
		"braces":                {"\n" + strings.Repeat("{a: ", 101), "r.yaml:2:401: here"},
		"both":                  {strings.Repeat("{a: [", 60), "r.yaml:1:251: here"},
		"dashes":                {strings.Repeat("- ", 300), "r.yaml:1:201: here"},
		"question marks":        {strings.Repeat("? ", 300), "r.yaml:1:201: here"},
		"lines":                 {steps(101), "r.yaml:101:101: here"},
		"brackets within lines": {steps(60) + strings.Repeat(" ", 60) + strings.Repeat("[", 60), "r.yaml:61:101: here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("r.yaml", []byte(c.text), t.TempDir())
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTooManyKeysAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Parse("r.yaml", []byte(strings.Repeat("a: 1\n", 1001)), t.TempDir())
	require.ErrorContains(t, err, "r.yaml:1001:2: the recipe has more than 1000 keys")
}

func TestBracketsInTextsAreNoDepth(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("[{ - ? ", 200)
	for name, text := range map[string]string{
		"in quotes":   strings.Replace(small, "{{.title}}", many, 1),
		"in a block":  strings.Replace(small, "\"{{.title}}\"\n", "|\n    "+many+"\n    "+many+"\n", 1),
		"in a remark": small + "# " + many + "\n",
		"many lists":  small + "retry: {gray: [" + strings.Repeat("refused, ", 500) + "refused]}\n",
		"deep lines":  strings.Replace(small, "\"{{.title}}\"\n", "|\n    x\n"+strings.Repeat(" ", 500)+"y\n    z\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("r.yaml", []byte(text), t.TempDir())
			require.NoError(t, err)
		})
	}
}

// TestNoTextOfARecipesSizeTakesLong has the largest texts that are known to be hard. The bound is far above what they
// take, and far below what the parser takes for some of them when nothing is refused before it.
func TestNoTextOfARecipesSizeTakesLong(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	t.Parallel()
	fill := func(unit string) string { return strings.Repeat(unit, maxRecipe/len(unit)) }
	var keys strings.Builder
	for i := 0; keys.Len() < maxRecipe-20; i++ {
		fmt.Fprintf(&keys, "k%d: v\n", i)
	}
	for _, text := range []string{
		fill("["), fill("- "), fill("a: "), fill("&a "), "[" + fill("a,")[2:], keys.String(), fill("- " + strings.Repeat("[", 98) + strings.Repeat("]", 98) + "\n"),
	} {
		began := time.Now()
		_, err := Parse("r.yaml", []byte(text), t.TempDir())
		require.Error(t, err)
		require.Less(t, time.Since(began), time.Minute, "%.20q", text)
	}
}
