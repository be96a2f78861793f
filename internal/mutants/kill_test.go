//go:build mutants

package mutants

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// simulated are the histories that have to find a mutant.
var simulated = []string{"./worker", "-run", "TestSimulation$", "-args", "-sim.histories", "4000"}

// Each mutant is built through an overlay, and has to make the tests fail that are to find it: fail, not just not build.
func TestNoMutantLives(t *testing.T) {
	root, err := filepath.Abs(top)
	require.NoError(t, err)
	for _, m := range List() {
		t.Run(m.Name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(root, m.File)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			mutant := filepath.Join(dir, "mutant.go")
			require.NoError(t, os.WriteFile(mutant, []byte(strings.Replace(string(text), m.Old, m.New, 1)), 0o600))
			overlay := filepath.Join(dir, "overlay.json")
			list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutant}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(overlay, list, 0o600))

			tests := m.Tests
			if tests == nil {
				tests = simulated
			}
			build := exec.CommandContext(t.Context(), "go", "vet", "-overlay", overlay, "./"+filepath.Dir(m.File))
			build.Dir = root
			out, err := build.CombinedOutput()
			require.NoError(t, err, "the mutant does not even build: %s", out)

			test := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count=1", "-timeout", "10m", "-overlay", overlay}, tests...)...)
			test.Dir = root
			out, err = test.CombinedOutput()
			var exit *exec.ExitError
			require.True(t, err == nil || errors.As(err, &exit), "%v", err)
			require.Error(t, err, "rule %d: it lives", m.Rule)
			require.NotContains(t, string(out), "[build failed]", "%s", out)
			for _, line := range strings.Split(string(out), "\n") {
				if strings.Contains(line, "history ") || strings.Contains(line, "--- FAIL") {
					t.Log(strings.TrimSpace(line[:min(len(line), 300)]))
					break
				}
			}
		})
	}
}
