package command

import (
	"slices"

	"github.com/siding-dev/siding"
)

// A verdict is what the end of a program means.
type verdict struct {
	outcome siding.Outcome
	cause   siding.Cause
	scope   siding.Scope
	name    string // of the exit status, or empty
}

// Exit statuses: those of sysexits.h, and the two that a shell ends with (POSIX, Shell Command Language, 2.8.2).
const (
	exitDataErr  = 65
	exitTempFail = 75
	exitNoPerm   = 77
	exitConfig   = 78
	exitNoExec   = 126
	exitNotFound = 127
)

// byExit says what an exit status means that is not 0.
func byExit(code int) verdict {
	switch code {
	case exitDataErr:
		return verdict{siding.OutcomePermanent, siding.CauseHandlerError, "", "EX_DATAERR"}
	case exitTempFail:
		return verdict{siding.OutcomeTransient, siding.CauseHandlerError, "", "EX_TEMPFAIL"}
	case exitNoPerm:
		return verdict{siding.OutcomeHeld, siding.CauseCredentials, siding.ScopeLane, "EX_NOPERM"}
	case exitConfig:
		return verdict{siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe, "EX_CONFIG"}
	case exitNoExec:
		return verdict{siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe, "a program that cannot be run"}
	case exitNotFound:
		return verdict{siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe, "a program that was not found"}
	}
	return verdict{outcome: siding.OutcomeTransient, cause: siding.CauseHandlerError}
}

// judge says what an exit status means, by the configuration first.
func (h *Handler) judge(code int) verdict {
	v := byExit(code)
	switch {
	case slices.Contains(h.c.Permanent, code):
		v.outcome, v.cause, v.scope = siding.OutcomePermanent, siding.CauseHandlerError, ""
	case slices.Contains(h.c.Gray, code):
		v.outcome, v.cause, v.scope = siding.OutcomeGray, siding.CauseHandlerError, ""
	}
	return v
}
