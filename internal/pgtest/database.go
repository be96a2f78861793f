//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// shared is the server of the test program.
var shared struct {
	once   sync.Once
	server *Server
	err    error
	names  atomic.Int64
}

// Main runs the tests of a package and ends the shared server afterwards. It gives what os.Exit is to be called with.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Remove(); err != nil {
			fmt.Println("end the PostgreSQL server:", err)
		}
	}
	return code
}

// Shared gives the server of the test program, which is started for the first that asks. Where there is no PostgreSQL the
// test is skipped.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = New(0) })
	if errors.Is(shared.err, ErrMissing) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// Database gives the address of a new and empty database of the shared server, which is gone with the end of the test.
func Database(t testing.TB) string {
	t.Helper()
	s := Shared(t)
	name := fmt.Sprintf("test%d", shared.names.Add(1))
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	t.Cleanup(func() { s.Exec(t, "postgres", "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.URL(name)
}

// Schema gives the address of the shared server's own database with the name of a schema that nobody else uses: cheaper than a database for
// each of many tests.
func Schema(t testing.TB) string {
	t.Helper()
	s := Shared(t)
	name := fmt.Sprintf("test%d", shared.names.Add(1))
	t.Cleanup(func() { s.Exec(t, "postgres", "DROP SCHEMA IF EXISTS "+name+" CASCADE") })
	return s.URL("postgres") + "&" + url.Values{"schema": {name}}.Encode()
}

// Exec carries out a statement in a database of the server.
func (s *Server) Exec(t testing.TB, database, query string, args ...any) {
	t.Helper()
	ctx := context.Background() // a test's own has ended when it cleans up
	c, err := pgx.Connect(ctx, s.URL(database))
	if err == nil {
		_, err = c.Exec(ctx, query, args...)
		err = errors.Join(err, c.Close(ctx))
	}
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
}
