//go:build !unix

package command

import (
	"os"
	"os/exec"

	"github.com/siding-dev/siding"
)

// group does nothing: there are no process groups here, and a cancel kills the program alone.
func group(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}

func signalName(*os.ProcessState) string { return "the system" }

// notStarted says what it means that the program could not be started.
func notStarted(err error) (verdict, string) {
	return verdict{outcome: siding.OutcomeHeld, cause: siding.CauseConfiguration, scope: siding.ScopeRecipe}, "the program cannot be started: " + err.Error()
}
