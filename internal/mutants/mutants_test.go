package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const top = "../.."

func TestEveryMutantStillFindsWhatItReplaces(t *testing.T) {
	t.Parallel()
	rules := map[int]bool{}
	for _, m := range List() {
		rules[m.Rule] = true
		text, err := os.ReadFile(filepath.Join(top, m.File))
		require.NoError(t, err, m.Name)
		require.Equal(t, 1, strings.Count(string(text), m.Old), "%s: %s has to have this once:\n%s", m.Name, m.File, m.Old)
		require.NotEqual(t, m.Old, m.New, m.Name)
	}
	for rule := 1; rule <= 15; rule++ {
		require.True(t, rules[rule], "nothing breaks rule %d", rule)
	}
}
