//go:build linux

package sqlite_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if child := os.Getenv("SIDING_SQLITE_CHILD"); child != "" {
		os.Exit(runChild(child))
	}
	goleak.VerifyTestMain(m)
}
