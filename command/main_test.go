//go:build unix

package command

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/siding-dev/siding"
)

// TestMain makes the test's own binary the programs that the tests run.
func TestMain(m *testing.M) {
	if as := os.Getenv("PLAY"); as != "" {
		play(as)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play is one of the programs.
func play(as string) {
	name, arg, _ := strings.Cut(as, ":")
	switch name {
	case "exit":
		code, _ := strconv.Atoi(arg)
		fmt.Fprintln(os.Stderr, "what went wrong")
		os.Exit(code)
	case "flood":
		chunk := []byte(strings.Repeat("x", 64<<10))
		for {
			if _, err := os.Stdout.Write(chunk); err != nil {
				os.Exit(1)
			}
		}
	case "hostile":
		os.Stderr.WriteString("\x1b]0;owned\x07\x1b[31mred \xff\xfe \x00 \u202e")
		os.Stderr.WriteString(strings.Repeat("\x1b[2J", 1<<20))
		os.Stderr.WriteString("the end")
		os.Exit(65)
	case "stubborn": // says that it is there, and does not go
		signal.Ignore(syscall.SIGTERM)
		f, _ := os.OpenFile(arg, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		fmt.Fprintln(f, os.Getpid())
		f.Close()
		time.Sleep(10 * time.Minute)
	case "half": // reads a little of what may be much
		some := make([]byte, 16)
		n, _ := os.Stdin.Read(some)
		fmt.Printf("%q", some[:n])
	}
}

// player gives a configuration that runs the test's binary as one of the programs.
func player(as string) Config {
	return Config{Argv: []string{os.Args[0]}, Env: []string{"PLAY=" + as, "GORACE=atexit_sleep_ms=0"}, Grace: 200 * time.Millisecond}
}

func shell(script string) Config {
	return Config{Argv: []string{"sh", "-c", script}, Grace: 200 * time.Millisecond}
}

func delivery(body string) *siding.Delivery {
	return &siding.Delivery{Message: siding.Message{Queue: "q", ID: "evt-1", Body: []byte(body), Attempt: 2}, Number: 3}
}

func newHandler(t *testing.T, c Config) *Handler {
	t.Helper()
	h, err := New(c)
	require.NoError(t, err)
	return h
}

func handle(t *testing.T, c Config, body string) (siding.Result, *siding.Failure) {
	t.Helper()
	res, err := newHandler(t, c).Handle(t.Context(), delivery(body))
	return res, siding.FailureOf(err)
}

// done runs a command that must succeed, and gives its result.
func done(t *testing.T, c Config, body string) string {
	t.Helper()
	res, f := handle(t, c, body)
	require.Nil(t, f)
	return string(res.Body)
}

// fails runs a command that must fail.
func fails(t *testing.T, c Config, body string) *siding.Failure {
	t.Helper()
	res, f := handle(t, c, body)
	require.NotNil(t, f)
	require.Nil(t, res.Body)
	return f
}
