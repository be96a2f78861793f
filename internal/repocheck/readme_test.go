package repocheck

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// block is a fenced block of shell commands in a document. Those marked "sh test" are run, one after the other in one
// shell; "exit=3" behind that is what each siding run in it ends with.
type block struct {
	line   int
	tested bool
	exit   int
	text   string
}

var fence = regexp.MustCompile("(?ms)^```sh([^\n]*)\n(.*?)^```$")

func blocks(t *testing.T, document string) []block {
	t.Helper()
	var all []block
	for _, at := range fence.FindAllStringSubmatchIndex(document, -1) {
		b := block{line: 2 + strings.Count(document[:at[0]], "\n"), text: document[at[4]:at[5]]}
		for word := range strings.FieldsSeq(document[at[2]:at[3]]) {
			code, isExit := strings.CutPrefix(word, "exit=")
			switch n, err := strconv.Atoi(code); {
			case word == "test":
				b.tested = true
			case isExit && err == nil:
				b.exit = n
			default:
				t.Fatalf("line %d: %q means nothing behind ```sh", b.line, word)
			}
		}
		all = append(all, b)
	}
	return all
}

func TestTheTwoCommandsOfTheFirstScreenAreWhatContinuousIntegrationRuns(t *testing.T) {
	t.Parallel()
	first := blocks(t, read(t, "../../README.md"))[0]
	ci := read(t, "../../.ci/run")
	for _, line := range commands(first.text) {
		require.Contains(t, ci, line)
		require.NoError(t, exec.CommandContext(t.Context(), "make", "-C", "../..", "-n", strings.Fields(line)[1]).Run(), line)
	}
	require.Equal(t, []string{"make demo", "make test"}, commands(first.text))
}

// TestTheCommandsOfTheReadmeDoWhatItSays runs them in a copy of the repository, with a simulated Claude in the place of the
// real one that has the example's three stubborn records and no other faults.
func TestTheCommandsOfTheReadmeDoWhatItSays(t *testing.T) {
	t.Parallel()
	root := copyOfRepository(t)
	profile, err := claudesim.LoadProfile(filepath.Join(root, "examples/wallpapers/profile.yaml"))
	require.NoError(t, err)
	profile.Faults, profile.Latency = profile.Faults[:3], claudesim.Latency{}
	claude := claudesim.Serve(t, profile)

	var script strings.Builder
	ran := 0
	for _, b := range blocks(t, read(t, "../../README.md")) {
		if !b.tested {
			continue
		}
		for _, line := range commands(b.text) {
			want := 0
			if strings.HasPrefix(line, "siding run") {
				want = b.exit
			}
			// The key in the document is not one; nor is this.
			line = strings.ReplaceAll(line, "sk-ant-…", "sk-ant-none")
			fmt.Fprintf(&script, "echo '$ '%s\n%s\ncode=$?; [ $code = %d ] || { echo \"README.md, block at line %d: exit code $code, want %d\"; exit 1; }\n",
				quoted(line), line, want, b.line, want)
			ran++
		}
	}
	require.Greater(t, ran, 8, "the README has too few commands to be the README")

	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+claude.URL(), "GOFLAGS=-buildvcs=false", "SIDING_STORE=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// What it says comes out, does.
	example := filepath.Join(root, "examples/wallpapers")
	results := read(t, filepath.Join(example, "results.jsonl"))
	require.Equal(t, 792+2, strings.Count(results, "\n"), "two broken records were mended")
	require.FileExists(t, filepath.Join(example, "siding.db"))
	require.FileExists(t, filepath.Join(example, "siding-sim.db"))
	require.FileExists(t, filepath.Join(example, "results-sim.jsonl"))
	meter := claude.Meter()
	require.Zero(t, meter.Totals.PaidAgain)
	require.EqualValues(t, 792+2, meter.Totals.Acceptable)
	// 794, one schema mismatch, one answer cut and asked for again, and the refusal twice, as it was sent back.
	require.EqualValues(t, 792+2+1+2+2, meter.Totals.Calls, "%s", out)
}

// commands gives the lines of a block without comments.
func commands(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// copyOfRepository copies what git knows, and what is new and not ignored.
func copyOfRepository(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = "../.."
	names, err := cmd.Output()
	require.NoError(t, err)
	root := t.TempDir()
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		from, to := filepath.Join("../..", string(name)), filepath.Join(root, string(name))
		info, err := os.Stat(from)
		if err != nil {
			continue // deleted, and not committed yet
		}
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, data, info.Mode().Perm()))
	}
	return root
}
