package quarantine_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/quarantine"
)

// The manual's table of repairs has an example for each, and they come out as it says.
func TestTheRepairsOfTheManualDoWhatItSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/quarantine.md")
	require.NoError(t, err)
	bytes := strings.NewReplacer(`\xb0`, "\xb0", `\x07`, "\x07")
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .* \\| `([^`]+)` \\| `([^`]+)` \\|$")
	shown := map[string]bool{"request": true, "command": true, "own-repair": true} // in the text below it
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		require.Equal(t, m[3], mended(t, bytes.Replace(m[2]), m[1]), m[1])
		name, _, _ := strings.Cut(m[1], ":")
		shown[name] = true
	}
	for _, name := range quarantine.RepairNames() {
		require.True(t, shown[name], name)
	}
	for _, m := range regexp.MustCompile("(?m)^- `([a-z]+:[^`]+)`").FindAllStringSubmatch(string(text), -1) {
		_, err := quarantine.ParseRepair(m[1])
		require.NoError(t, err)
	}
	for _, name := range quarantine.CheckNames() {
		if name != "own-check" {
			require.Contains(t, string(text), "| `"+name+"` |")
		}
	}
}
