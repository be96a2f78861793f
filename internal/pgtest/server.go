//go:build unix

// Package pgtest runs a PostgreSQL server for a test program: Debian's, or the one on the path, by an unprivileged user,
// in a temporary folder, on a Unix socket. It ends with the test program, however that ends.
package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrMissing: there is no PostgreSQL server here.
var ErrMissing = errors.New("PostgreSQL's server programs (initdb, postgres) are neither in /usr/lib/postgresql nor on the path")

// Server is a running server.
type Server struct {
	dir    string
	user   *account // nil: whoever runs the tests
	port   int      // of 127.0.0.1, beside the socket; 0: none
	output bytes.Buffer

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the server has ended
}

// programs gives the folder of the server's programs: the newest that Debian has installed, or what is on the path.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", ErrMissing
}

// version gives the number in the folder of a program.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

const folderName = "siding-postgres-"

// sweep removes the folders of test programs that were killed.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderName+"*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), folderName), "-")
		if _, err := os.Stat("/proc/" + pid); err != nil && runtime.GOOS == "linux" {
			_ = os.RemoveAll(dir)
		}
	}
}

// New makes a cluster in a temporary folder and starts its server. A port other than 0 makes it listen on 127.0.0.1 too.
func New(port int) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	sweep()
	// Not the test's own folder: the path of a socket is at most 107 bytes long.
	dir, err := os.MkdirTemp("", folderName+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, port: port}
	if s.user, err = unprivileged(); err == nil {
		err = s.user.own(dir)
	}
	if err == nil {
		cmd := s.command(bin, "initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
		if out, e := cmd.CombinedOutput(); e != nil {
			err = fmt.Errorf("initdb: %w\n%s", e, out)
		}
	}
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(bin, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, program), args...) //nolint:gosec,noctx // a program of PostgreSQL, which may run until it is stopped
	cmd.Dir, cmd.SysProcAttr = s.dir, s.user.attributes()
	return cmd
}

// Start starts the server, and waits until it answers.
func (s *Server) Start() error {
	bin, err := programs()
	if err != nil {
		return err
	}
	listen := ""
	args := []string{"-D", s.data(), "-k", s.dir}
	if s.port != 0 {
		listen = "127.0.0.1"
		args = append(args, "-p", strconv.Itoa(s.port))
	}
	for _, set := range []string{
		"listen_addresses=" + listen, "fsync=on", "synchronous_commit=on", "max_connections=300", "shared_buffers=128MB",
		"max_wal_size=1GB", "log_min_messages=warning", "autovacuum_naptime=5s",
	} {
		args = append(args, "-c", set)
	}
	cmd := s.command(bin, "postgres", args...)
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	started, done := make(chan error), make(chan struct{})
	go func() {
		// The server is told of the death of the thread that started it, so that thread must not end before.
		runtime.LockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.mu.Lock()
	s.cmd, s.done = cmd, done
	s.mu.Unlock()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if s.answers(bin) {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("the PostgreSQL server ended while it was starting:\n%s", s.output.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the PostgreSQL server does not answer:\n%s", s.output.String()), s.Crash())
		}
	}
}

func (s *Server) answers(bin string) bool {
	return s.command(bin, "pg_isready", "-q", "-h", s.dir, "-p", strconv.Itoa(s.socketPort())).Run() == nil
}

// socketPort names the socket.
func (s *Server) socketPort() int {
	if s.port != 0 {
		return s.port
	}
	return 5432
}

// Crash ends the server at once, as pg_ctl's immediate mode does: it recovers when it is started again.
func (s *Server) Crash() error { return s.end(signalImmediate) }

// Stop ends the server and cuts its connections off.
func (s *Server) Stop() error { return s.end(signalFast) }

func (s *Server) end(signal os.Signal) error {
	s.mu.Lock()
	cmd, done := s.cmd, s.done
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-done
	return nil
}

// Remove ends the server and removes its folder.
func (s *Server) Remove() error { return errors.Join(s.Crash(), os.RemoveAll(s.dir)) }

// URL gives the address of a database of the server, over its socket.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&port=%d", database, s.dir, s.socketPort())
}

// Address gives where the server listens on 127.0.0.1.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }
