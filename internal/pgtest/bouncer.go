//go:build unix

package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Bouncer puts a PgBouncer in transaction mode in front of the shared server, with few connections to it, and gives the
// address of a database through it, of which direct is the address. Where there is no PgBouncer the test is skipped.
func Bouncer(t testing.TB, direct string) string {
	t.Helper()
	s := Shared(t)
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // which is not on everybody's path
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("pgbouncer is not here")
	}
	dir, err := os.MkdirTemp(s.dir, "bouncer") //nolint:usetesting // a socket's path is short, and the account that runs it must reach it
	if err != nil {
		t.Fatal(err)
	}
	const port = 6432
	config := fmt.Sprintf(`[databases]
* = host=%s port=%d user=postgres
[pgbouncer]
listen_port = %d
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 3
logfile = %s/log
`, s.dir, s.socketPort(), port, dir, dir)
	path := filepath.Join(dir, "ini")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil { //nolint:gosec // the account that runs it reads it
		t.Fatal(err)
	}
	if err := s.user.own(dir); err != nil {
		t.Fatal(err)
	}
	cmd := s.command(filepath.Dir(program), filepath.Base(program), path)
	started, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // see Server.Start
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	var dialer net.Dialer
	socket := filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", port))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := dialer.DialContext(t.Context(), "unix", socket); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("pgbouncer does not answer: %s", text)
		}
	}
	through := strings.Replace(direct, "host="+s.dir, "host="+dir, 1)
	return strings.Replace(through, fmt.Sprintf("port=%d", s.socketPort()), fmt.Sprintf("port=%d", port), 1)
}
