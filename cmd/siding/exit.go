package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// The exit codes, in the order in which they apply.
const (
	exitUsage       = 2   // wrong usage or configuration
	exitError       = 1   // an error
	exitInterrupted = 130 // interrupted; nothing is lost, run again
	exitHeld        = 4   // held, needs attention; nothing is lost, run again
	exitSetAside    = 3   // finished, and some messages are set aside; doctor: a rule is broken
	exitDone        = 0
)

// usageError is wrong usage or configuration.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes an error of wrong usage or configuration.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// The ends of a command that are no errors: what they mean has been shown by then.
var (
	errInterrupted = errors.New("interrupted: nothing is lost, run the same command again")
	errHeld        = errors.New("held: nothing is lost, run the same command again")
	errSetAside    = errors.New("some messages are set aside")
	errRuleBroken  = errors.New("a rule is broken")
)

// saidError is an error whose text the user has read already.
type saidError struct{ err error }

func (e *saidError) Error() string { return e.err.Error() }
func (e *saidError) Unwrap() error { return e.err }

func said(err error) error {
	if err == nil {
		return nil
	}
	return &saidError{err}
}

func isSaid(err error) bool {
	_, ok := err.(*saidError) //nolint:errorlint // what is wrapped again has a new text
	return ok
}

// exitCode is the one place that gives an end its code: the first that applies of 2, 1, 130, 4, 3, 0.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	var usage *usageError
	switch {
	case errors.As(err, &usage), errors.Is(err, siding.ErrStoreMode):
		return exitUsage
	case onlyEnds(err):
	default:
		return exitError
	}
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errHeld):
		return exitHeld
	}
	return exitSetAside
}

// onlyEnds tells whether err holds nothing but the ends that are no errors.
func onlyEnds(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if !onlyEnds(part) {
				return false
			}
		}
		return true
	case *saidError:
		return onlyEnds(e.err)
	}
	return err == errInterrupted || err == errHeld || err == errSetAside || err == errRuleBroken //nolint:errorlint // the same
}

// interrupted gives errInterrupted for what failed because ctx was cancelled: wherever a stop finds a command, it is a stop
// and no error.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || onlyEnds(err) {
		return err
	}
	if parts := joined(err); len(parts) > 0 {
		ends := make([]error, len(parts))
		for i, part := range parts {
			ends[i] = interrupted(ctx, part)
		}
		return errors.Join(ends...)
	}
	for _, stop := range []error{errInterrupted, context.Canceled, context.Cause(ctx), siding.ErrShutdown} {
		if errors.Is(err, stop) {
			return errInterrupted
		}
	}
	return err
}

// storeError gives an error of reading or writing a store its kind, and says what to do where the store does not.
func storeError(err error) error {
	var usage *usageError
	switch {
	case err == nil || isSaid(err) || onlyEnds(err) || errors.As(err, &usage):
		return err
	case errors.Is(err, siding.ErrStoreMode):
		return usagef("%w (--simulate is for simulated stores, and only for them)", err)
	case errors.Is(err, siding.ErrDiskFull):
		return fmt.Errorf("%w; free some room and run the same command again: nothing is lost", err)
	}
	return err
}
