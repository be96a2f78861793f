package main

import (
	"errors"
	"fmt"
	"io"
)

// stdout is standard output that remembers a write that failed, so that no command ends well whose output has not
// arrived, whichever of its lines that was.
type stdout struct {
	io.Writer
	failed error
}

// Write gives the first failure again for all that comes after it.
func (s *stdout) Write(p []byte) (n int, err error) {
	if s.failed != nil {
		return 0, s.failed
	}
	n, s.failed = s.Writer.Write(p)
	return n, s.failed
}

// end adds the failure to how a command ended, unless it is there already.
func (s *stdout) end(err error) error {
	if s.failed == nil || errors.Is(err, s.failed) {
		return err
	}
	return errors.Join(err, fmt.Errorf("standard output: %w", s.failed))
}
