package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// terminal is the real program on a terminal of its own.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu   sync.Mutex
	seen bytes.Buffer
	all  bytes.Buffer  // what was seen before
	read chan struct{} // closed when all has been read
}

func (w *world) terminal(t *testing.T, width, height uint16, env []string, args ...string) *terminal {
	t.Helper()
	term := &terminal{t: t, cmd: w.command(context.Background(), args...), read: make(chan struct{})}
	term.cmd.Env = append(append([]string{}, w.env...), append([]string{"TERM=xterm-256color"}, env...)...)
	var err error
	term.tty, err = pty.StartWithSize(term.cmd, &pty.Winsize{Cols: width, Rows: height})
	require.NoError(t, err)
	t.Cleanup(func() { _ = term.cmd.Process.Kill(); _ = term.tty.Close() })
	go func() {
		defer close(term.read)
		b := make([]byte, 32<<10)
		for {
			n, err := term.tty.Read(b)
			term.mu.Lock()
			term.seen.Write(b[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

// raw gives what the terminal was sent since the last key.
func (t *terminal) raw() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen.String()
}

// shows waits until a text is on the screen. It has the screen drawn anew each time: else only what changes is sent.
func (t *terminal) shows(text string) {
	t.t.Helper()
	for range 600 {
		t.press("\x0c")
		time.Sleep(50 * time.Millisecond)
		if strings.Contains(ansi.Strip(t.raw()), text) {
			return
		}
	}
	t.t.Fatalf("the terminal never shows %q, but:\n%s", text, ansi.Strip(t.raw()))
}

// press types keys.
func (t *terminal) press(keys string) {
	t.t.Helper()
	t.mu.Lock()
	t.all.Write(t.seen.Bytes())
	t.seen.Reset()
	t.mu.Unlock()
	_, err := t.tty.WriteString(keys)
	require.NoError(t.t, err)
}

func (t *terminal) wait() int {
	t.t.Helper()
	late := time.AfterFunc(60*time.Second, func() { _ = t.cmd.Process.Signal(syscall.SIGQUIT) })
	defer late.Stop()
	_ = t.cmd.Wait()
	<-t.read
	return t.cmd.ProcessState.ExitCode()
}

func TestThePageOnATerminalMendsAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	lines := w.records(t, "in.jsonl", 20)
	for i := range 12 {
		lines[i] = strings.Replace(lines[i], "picture", "pic\xffture \x1b[2J", 1)
	}
	w.lines(t, "in.jsonl", lines)
	w.want(t, exitSetAside, "run", "recipe.yaml", "in.jsonl")

	p := w.terminal(t, 110, 30, nil, "dlq")
	p.shows("12 set aside in 1 group")
	p.shows("invalid-utf8")
	p.press("\r")
	p.shows("r000")
	p.press("j\r")
	p.shows(" in tags")
	p.shows(`\xff`)
	p.press("r")
	p.shows("strip-invalid-utf8")
	p.press("\r")
	p.shows("12 would change")
	p.press("a")
	p.shows("mend all 12 letters of the group and send them back? (y/n)")
	p.press("y\r")
	p.shows("12 sent back")
	require.NotContains(t, p.all.String(), "\x1b[2J number", "nothing of a record is acted on")
	p.press("q")
	require.Equal(t, exitDone, p.wait())
	require.Contains(t, p.raw(), "\x1b[?1049l", "the screen before is back")

	w.want(t, exitDone, "run", "recipe.yaml", "in.jsonl")
	entries := objects(t, w.want(t, exitDone, "audit", "--json").stdout)
	require.Len(t, entries, 1)
	require.InDelta(t, 12, entries[0]["count"], 0)
	require.Contains(t, entries[0]["text"], "siding redrive --queue tags --fingerprint ")
}

func TestThePageOnATerminalIsLeftClean(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *terminal){
		"by q":        func(p *terminal) { p.press("q") },
		"by Ctrl-C":   func(p *terminal) { p.press("\x03") },
		"by a signal": func(p *terminal) { require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.lines(t, "in.jsonl", []string{"{broken"})
			w.want(t, exitSetAside, "run", "recipe.yaml", "in.jsonl")
			p := w.terminal(t, 40, 10, []string{"NO_COLOR=1"}, "dlq")
			p.shows("1 set aside in 1 group")
			require.NoError(t, pty.Setsize(p.tty, &pty.Winsize{Cols: 90, Rows: 20}))
			p.shows("Enter: letters  /: search  m: mark")
			before := p.raw()
			require.NotContains(t, before, "\x1b[7m", "no colours where none are wanted")
			end(p)
			code := p.wait()
			require.Contains(t, []int{exitDone, exitInterrupted}, code)
			require.Contains(t, p.raw(), "\x1b[?1049l")
			require.Contains(t, p.raw(), "\x1b[?25h", "the cursor is seen again")
		})
	}
}

func TestWithoutATerminalDlqShowsItsHelp(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	require.Contains(t, p.ok(t, "dlq"), "Usage:")
	w := newWorld(t, nil)
	require.Contains(t, w.want(t, exitDone, "dlq").stdout, "diagnose")
	code, _ := p.run(t, "", "dlq", "nonsense")
	require.Equal(t, exitUsage, code)
}
