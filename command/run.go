package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/siding-dev/siding"
)

var (
	errTimeout = errors.New("the program took longer than its timeout")
	errFlood   = errors.New("the program wrote more than a result may have")
)

// A run is a program that has ended.
type run struct {
	stdout  []byte
	stderr  string
	flooded bool
	stopped error // why it was stopped from here; nil: it ended by itself
	err     error // that it did not start, or how it ended; nil: with exit status 0
	started bool
}

// run starts the program and sees it, and what it started, to its end.
func (h *Handler) run(ctx context.Context, d *siding.Delivery) run {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, h.c.Timeout, errTimeout)
	defer stop()

	stdout := result{limit: h.c.MaxOutput, over: func() { cancel(errFlood) }}
	var stderr tail
	cmd := exec.CommandContext(ctx, h.c.Argv[0], h.c.Argv[1:]...) //nolint:gosec // running what the user names is what this is for
	cmd.Dir = h.c.Dir
	cmd.Env = append(append([]string{}, h.env...), own(d)...)
	if h.c.Variables != nil {
		cmd.Env = append(cmd.Env, h.c.Variables(d)...)
	}
	cmd.Stdin = bytes.NewReader(d.Body)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = h.c.Grace
	var stopped atomic.Bool
	group(cmd)
	terminate := cmd.Cancel
	cmd.Cancel = func() error {
		err := terminate()
		stopped.Store(err == nil)
		return err
	}

	var r run
	if r.err = cmd.Start(); r.err != nil {
		if ctx.Err() != nil {
			r.stopped = context.Cause(ctx)
		}
		return r
	}
	r.started = true
	r.err = cmd.Wait()
	killGroup(cmd) // what the program has left behind: nobody waits for it any more
	if errors.Is(r.err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		r.err = nil // it is done; only a child still held on to its output
	}
	if stopped.Load() && r.err != nil {
		r.stopped = context.Cause(ctx)
	}
	r.stdout, r.flooded, r.stderr = stdout.text, stdout.more, stderr.String()
	return r
}

// conclude says what the end of a run means; nil: there is a result.
func (h *Handler) conclude(r run) *siding.Failure {
	if r.err == nil && !r.flooded {
		return nil
	}
	v := verdict{outcome: siding.OutcomeTransient, cause: siding.CauseHandlerError}
	var text string
	f := &siding.Failure{}
	var exit *exec.ExitError
	switch {
	case r.flooded:
		v = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseBadResponse}
		text = fmt.Sprintf("%v: more than %d bytes; it was stopped", errFlood, h.c.MaxOutput)
	case errors.Is(r.stopped, errTimeout):
		v.cause = siding.CauseTimeout
		text = fmt.Sprintf("%v of %v; it was stopped with what it had started", errTimeout, h.c.Timeout)
	case errors.Is(r.stopped, siding.ErrLeaseLost):
		v, text = verdict{outcome: siding.OutcomeInterrupted, cause: siding.CauseLeaseLost}, "the lease was lost, and the program stopped"
	case r.stopped != nil:
		v, text = verdict{outcome: siding.OutcomeInterrupted, cause: siding.CauseShutdown}, "the program was stopped"
	case !r.started:
		v, text = notStarted(r.err)
		if v.cause == siding.CauseOverloaded {
			f.RetryAfter = time.Second
		}
		f.NoCall = true
	case errors.As(r.err, &exit) && exit.Exited():
		v = h.judge(exit.ExitCode())
		text = fmt.Sprintf("exit status %d", exit.ExitCode())
		if v.name != "" {
			text += " (" + v.name + ")"
		}
	case errors.As(r.err, &exit):
		text = "killed by " + signalName(exit.ProcessState)
	default:
		text = "running the program failed: " + r.err.Error()
	}
	if said := strings.TrimSpace(r.stderr); said != "" {
		text += ": " + said
	}
	f.Outcome, f.Cause, f.Scope = v.outcome, v.cause, v.scope
	f.Err = errors.New(siding.Scrub(h.hide.Replace(text), siding.MaxErrorText))
	if f.Scope == siding.ScopeLane {
		f.Lane = h.lane
	}
	return f
}
