package claude

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// shown bounds, in bytes, how much of a value a failure's text repeats.
const shown = 120

// bodyFault is a permanent failure found in the record, without a call.
func bodyFault(cause siding.Cause, format string, args ...any) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomePermanent, Cause: cause, NoCall: true, Err: fmt.Errorf(format, args...),
	}
}

// bodyFaultAt is a bodyFault with the byte of the body where it is.
func bodyFaultAt(cause siding.Cause, offset int64, format string, args ...any) *siding.Failure {
	f := bodyFault(cause, format, args...)
	f.FaultOffset = &offset
	return f
}

// configurationFault is a failure that every record of the recipe would get, found without a call.
func configurationFault(format string, args ...any) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: siding.CauseConfiguration, Scope: siding.ScopeRecipe, NoCall: true,
		Err: fmt.Errorf(format, args...),
	}
}

// failed gives a nil error for a nil failure: a nil *Failure in an error is not nil.
func failed(f *siding.Failure) error {
	if f == nil {
		return nil
	}
	return f
}

// cut bounds a text for a failure, at the end of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func asFailure(err error) (*siding.Failure, bool) {
	var f *siding.Failure
	ok := errors.As(err, &f) && f != nil
	return f, ok
}
