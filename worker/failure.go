package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
)

const (
	maxPanicText = 1 << 10 // of a panic's value, in bytes
	maxStack     = 4 << 10 // of a panic's stack
)

// frozen is an error whose text is fixed, so that nothing that formats it later runs the handler's code.
type frozen struct {
	text string
	err  error
}

func (f *frozen) Error() string { return f.text }
func (f *frozen) Unwrap() error { return f.err }

// failureOf classifies what a handler returned. nil gives nil.
func failureOf(err error) *siding.Failure {
	if err == nil {
		return nil
	}
	f := *siding.FailureOf(err)
	text := (&siding.Failure{Err: err}).Error() // the whole of it, also what stands around the failure
	if text == "" {
		text = "the handler gave no reason"
	}
	f.Err = &frozen{siding.Scrub(text, siding.MaxErrorText), err}
	return &f
}

// checkResult gives the failure of a result that is not JSON: stored, it would break every reader of the results.
func checkResult(r siding.Result) *siding.Failure {
	if len(r.Body) == 0 || json.Valid(r.Body) {
		return nil
	}
	return &siding.Failure{
		Outcome: siding.OutcomeTransient, Cause: siding.CauseHandlerError,
		Err: fmt.Errorf("the handler's result (%d bytes) is not valid JSON", len(r.Body)),
	}
}

// unspeakable is the failure of a handler whose panic's value ends the goroutine when it is formatted.
var unspeakable = handlerPanic("the handler panicked, and formatting its panic ended the goroutine")

// panicFailure is the failure of a handler that panicked, with the value and the stack, whatever they contain.
func panicFailure(value any, stack []byte) *siding.Failure {
	return handlerPanic("panic: " + siding.Scrub(panicText(value), maxPanicText) + "\n\n" + shortStack(string(stack)))
}

// goexitFailure is the failure of a handler that ended its goroutine.
func goexitFailure(stack []byte) *siding.Failure {
	return handlerPanic("the handler called runtime.Goexit\n\n" + shortStack(string(stack)))
}

func handlerPanic(text string) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomeTransient, Cause: siding.CauseHandlerPanic, Err: errors.New(text),
	}
}

// panicText formats a panic's value, which may panic while it does so.
func panicText(value any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value of type %T that cannot be formatted", value)
		}
	}()
	return fmt.Sprint(value)
}

// shortStack gives the frames of the handler: without those of the recovery, and bounded.
func shortStack(stack string) string {
	const mark = "\npanic("
	if i := strings.LastIndex(stack, mark); i >= 0 {
		rest := stack[i+1:]
		for range 2 { // the call of panic, and its place
			if _, after, ok := strings.Cut(rest, "\n"); ok {
				rest = after
			}
		}
		stack = rest
	}
	return siding.Scrub(stack, maxStack)
}
