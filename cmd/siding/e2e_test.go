package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/internal/pgtest"
)

// binary is the real program, built once.
var binary string

func TestMain(m *testing.M) {
	if path := os.Getenv(crashStore); path != "" {
		if err := crasher(path); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "siding-e2e-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "siding")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = pgtest.Main(m)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world is a folder with a recipe and inputs, and a simulated Claude outside of the programs that ask it.
type world struct {
	dir string
	sim *claudesim.Server
	env []string
}

const (
	testSchema = `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}},` +
		`"required":["tags"],"additionalProperties":false}`
	testRecipe = `version: 1
queue: tags
input: {id: /id}
claude:
  model: claude-haiku-4-5
  max_tokens: 256
  prompt: "Tag this: {{.title}}"
  output: {schema: tags.schema.json}
retry: {max_retries: 3, base: 20ms, factor: 1, cap: 1s, jitter: 0}
concurrency: 8
`
)

func newWorld(t *testing.T, profile *claudesim.Profile) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), sim: claudesim.Serve(t, profile)}
	w.env = []string{
		"ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL=" + w.sim.URL(), "PATH=" + os.Getenv("PATH"), "HOME=" + w.dir,
		"TZ=UTC",
	}
	w.write(t, "recipe.yaml", testRecipe)
	w.write(t, "tags.schema.json", testSchema)
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(w.path(name), []byte(text), 0o600))
}

// records writes an input of n records.
func (w *world) records(t *testing.T, name string, n int) []string {
	t.Helper()
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"r%03d","title":"picture number %d"}`, i, i)
	}
	w.lines(t, name, lines)
	return lines
}

func (w *world) lines(t *testing.T, name string, lines []string) {
	t.Helper()
	w.write(t, name, strings.Join(lines, "\n")+"\n")
}

// ended is how a program ended.
type ended struct {
	code           int
	stdout, stderr string
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// siding runs the program in the world's folder.
func (w *world) siding(t *testing.T, args ...string) ended {
	t.Helper()
	return w.sidingWith(t, "", args...)
}

func (w *world) sidingWith(t *testing.T, stdin string, args ...string) ended {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := w.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "siding %v took too long: %s", args, stderr.String())
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want runs the program and wants an exit code.
func (w *world) want(t *testing.T, code int, args ...string) ended {
	t.Helper()
	e := w.siding(t, args...)
	require.Equal(t, code, e.code, "siding %v\nstdout: %s\nstderr: %s", args, e.stdout, e.stderr)
	return e
}

// running is a program under way.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (w *world) start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{cmd: w.command(context.Background(), args...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

func (r *running) wait(t *testing.T) ended {
	t.Helper()
	late := time.AfterFunc(90*time.Second, func() { _ = r.cmd.Process.Signal(syscall.SIGQUIT) })
	defer late.Stop()
	_ = r.cmd.Wait()
	return ended{r.cmd.ProcessState.ExitCode(), r.stdout.String(), r.stderr.String()}
}

// summary gives the last line of a run with --json.
func (e ended) summary(t *testing.T) summaryLine {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(e.stdout), "\n")
	var s summaryLine
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s), "%s\n%s", e.stdout, e.stderr)
	require.Equal(t, "summary", s.Type)
	require.Equal(t, s.Enqueued, s.Done+s.Dead+s.Held+s.Pending+s.Discarded)
	return s
}

// UnmarshalJSON reads an amount back, for tests.
func (m *usd) UnmarshalJSON(b []byte) error {
	whole, decimals, _ := strings.Cut(string(b), ".")
	if len(decimals) > 12 {
		return fmt.Errorf("%s has too many decimals", b)
	}
	pico, err := strconv.ParseInt(whole+decimals+strings.Repeat("0", 12-len(decimals)), 10, 64)
	*m = usd(pico)
	return err
}

// resultIDs gives the event IDs in a results file, in order.
func (w *world) resultIDs(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(w.path(name))
	require.NoError(t, err)
	ids := []string{}
	for _, o := range objects(t, string(b)) {
		require.Equal(t, "result", o["type"])
		id, ok := o["id"].(string)
		require.True(t, ok)
		ids = append(ids, id)
	}
	return ids
}

func (w *world) calls() int64 { return w.sim.Meter().Totals.Calls }

// eventually waits for something outside of this process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it did not come to be that %s", what)
}

// commandIn gives the command that stands in a text after a label.
func commandIn(t *testing.T, text, label string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, label)
	require.True(t, ok, "no %q in %s", label, text)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// shell runs a command line as a user would type it.
func (w *world) shell(t *testing.T, code int, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", `siding() { "`+binary+`" "$@"; }; `+line)
	cmd.Dir, cmd.Env = w.dir, w.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s: %s", line, stderr.String())
	return string(out)
}
