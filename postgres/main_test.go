package postgres_test

import (
	"os"
	"testing"

	"github.com/siding-dev/siding/internal/pgtest"
)

func TestMain(m *testing.M) {
	if child := os.Getenv("SIDING_POSTGRES_CHILD"); child != "" {
		os.Exit(runChild(child))
	}
	os.Exit(pgtest.Main(m))
}
