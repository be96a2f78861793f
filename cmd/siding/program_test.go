package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program runs the command line in the process of the test.
type program struct {
	app            *app // for functions below the commands
	dir            string
	env            []string
	stdout, stderr bytes.Buffer
}

func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{dir: t.TempDir()}
	p.app = &app{in: strings.NewReader(""), out: &p.stdout, err: &p.stderr, env: map[string]string{}}
	p.env = []string{"SIDING_STORE=" + filepath.Join(p.dir, "siding.db")}
	return p
}

// run runs one command line and gives its exit code and standard output. Words that begin with @ are files in the
// program's folder.
func (p *program) run(t *testing.T, stdin string, args ...string) (int, string) {
	t.Helper()
	for i, a := range args {
		if strings.HasPrefix(a, "@") {
			args[i] = p.file(a[1:])
		}
	}
	p.stdout.Reset()
	p.stderr.Reset()
	code := Main(context.Background(), args, strings.NewReader(stdin), &p.stdout, &p.stderr, p.env)
	return code, p.stdout.String()
}

// ok is run for commands that must succeed.
func (p *program) ok(t *testing.T, args ...string) string {
	t.Helper()
	code, out := p.run(t, "", args...)
	require.Equal(t, 0, code, "siding %v: %s", args, p.stderr.String())
	return out
}

func (p *program) file(name string) string { return filepath.Join(p.dir, name) }

// objects reads JSON Lines.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o), "line %q", line)
		require.NotEmpty(t, o["type"], "every object has a type: %s", line)
		require.InDelta(t, 1, o["v"], 0, "every object has a version: %s", line)
		all = append(all, o)
	}
	return all
}
