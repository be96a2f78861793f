//go:build !unix

package quarantine

import "os/exec"

// group does nothing: there are no process groups here, and a cancel kills the program alone.
func group(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
