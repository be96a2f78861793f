package triage

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
)

// Run shows the page on a terminal until a person quits it, or ctx ends. It leaves the terminal as it was. environ tells
// what the terminal can do.
func Run(ctx context.Context, desk Desk, in io.Reader, out io.Writer, environ []string, styled bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := tea.NewProgram(New(ctx, desk, styled), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithEnvironment(environ), tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) {
		return ctx.Err()
	}
	return err
}
