package postgres_test

import (
	"os"
	"testing"

	"github.com/siding-dev/siding/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
