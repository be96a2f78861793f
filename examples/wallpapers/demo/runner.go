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
	"syscall"
	"time"

	"github.com/siding-dev/siding/claudesim"
)

// runner runs the program over the example, in a directory of its own.
type runner struct {
	program, example, dir string
}

func (r runner) store() string     { return filepath.Join(r.dir, "siding-sim.db") }
func (r runner) results() string   { return filepath.Join(r.dir, "results-sim.jsonl") }
func (r runner) meterFile() string { return filepath.Join(r.dir, "meter.jsonl") }

// arguments are those of the command that is shown, with more behind them.
func (r runner) arguments(more ...string) []string {
	return append([]string{
		"run", "--simulate=" + filepath.Join(r.example, "profile.yaml"), "--simulate-meter=" + r.meterFile(),
		"--store", r.store(), "--out", r.results(),
		filepath.Join(r.example, "recipe.yaml"), filepath.Join(r.example, "metadata.jsonl"),
	}, more...)
}

// show runs it as a user would, and gives the exit code.
func (r runner) show(ctx context.Context) (int, error) {
	cmd := r.command(ctx)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return exitCode(cmd.Run())
}

// summarize runs it again, for programs to read: the exit code and the summary.
func (r runner) summarize(ctx context.Context) (int, summary, error) {
	var sum summary
	var out bytes.Buffer
	cmd := r.command(ctx, "--json", "--quiet")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	code, err := exitCode(cmd.Run())
	if err != nil {
		return code, sum, err
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &sum); err != nil || sum.Type != "summary" {
		return code, sum, fmt.Errorf("its last line is no summary: %q", lines[len(lines)-1])
	}
	return code, sum, nil
}

// command is the program as a child that is stopped as Ctrl-C would stop it, and has time to put things in order.
func (r runner) command(ctx context.Context, more ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.program, r.arguments(more...)...) //nolint:gosec // the program that the user named
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// meter is what the simulator has billed so far.
func (r runner) meter() (claudesim.Meter, error) { return claudesim.ReadMeter(r.meterFile()) }

// exitCode gives the code of a program that has ended by itself.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}
