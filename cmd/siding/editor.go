package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/siding-dev/siding"
)

// inEditor lets a person change a text, and gives it back. It lies in a folder that nobody else can read, with whatever
// the editor puts beside it, and that is gone afterwards, also where a signal ends it.
func (a *app) inEditor(ctx context.Context, m siding.Message, text []byte) ([]byte, error) {
	editor := strings.TrimSpace(cmp.Or(a.env["VISUAL"], a.env["EDITOR"], "vi"))
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	dir, err := os.MkdirTemp(a.env["TMPDIR"], "siding-edit-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the editor: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, safeName(m.ID)+extension(m.ContentType))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("a file for the editor: %w", err)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, editor, path) //nolint:gosec // the program that the user named
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, terminalOf(a.out), a.err
	if a.json { // standard output is for lines
		cmd.Stdout = a.err
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, fmt.Errorf("the editor %s ($VISUAL or $EDITOR names it): %w; nothing was done", siding.Scrub(editor, 200), err)
	}
	b, err := readEdited(path)
	if err != nil {
		return nil, fmt.Errorf("what the editor %s has written: %w; nothing was done", siding.Scrub(editor, 200), err)
	}
	return b, nil
}

// readEdited reads what an editor has left. Anything but a file could keep the reader waiting for ever.
func readEdited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file any more", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer closing(file)
	return readBody(file)
}

// terminalOf gives what a child may write to as its own.
func terminalOf(w io.Writer) io.Writer {
	if s, ok := w.(*stdout); ok {
		return s.Writer
	}
	return w
}

// safeName makes an event ID the beginning of a file name that is safe on every system, and not longer than that.
func safeName(id string) string {
	const longest = 60
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	return cmp.Or(name[:min(len(name), longest)], "_")
}

// extension gives the ending of the name of a file with a body.
func extension(contentType string) string {
	switch media, _, _ := strings.Cut(contentType, ";"); {
	case media == "" || strings.HasSuffix(media, "json"):
		return ".json"
	case strings.HasPrefix(media, "text/"):
		return ".txt"
	}
	return ".bin"
}
