package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// What a child process does; its first argument is the store's path.
const (
	childHold  = "hold"  // leases two messages, starts a call, says so, and waits to be killed
	childDrain = "drain" // leases and settles until nothing is left, and prints what it had
)

// child starts this test program again as another process.
func child(t *testing.T, what, path string) (*exec.Cmd, *bufio.Reader, io.Writer) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "SIDING_POSTGRES_CHILD="+what, "SIDING_POSTGRES_PATH="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewReader(out), in
}

// runChild is the main function of a child process.
func runChild(what string) int {
	path := os.Getenv("SIDING_POSTGRES_PATH")
	do := map[string]func(context.Context, string) error{childHold: hold, childDrain: drain}[what]
	if err := do(context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func hold(ctx context.Context, path string) error {
	s, err := postgres.Open(ctx, path)
	if err != nil {
		return err
	}
	l, err := s.Lease(ctx, request(2))
	if err != nil {
		return err
	}
	_, err = s.StartCall(ctx, siding.CallRequest{Token: l.Deliveries[0].Token, RequestHash: siding.Hash{1}, Deadline: time.Hour, Priced: true, WorstCost: 7})
	if err != nil {
		return err
	}
	fmt.Println("holding", len(l.Deliveries))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func drain(ctx context.Context, path string) error {
	s, err := postgres.Open(ctx, path)
	if err != nil {
		return err
	}
	for {
		l, err := s.Lease(ctx, request(3))
		if err != nil {
			return err
		}
		if len(l.Deliveries) == 0 {
			break
		}
		for _, d := range l.Deliveries {
			fmt.Println(d.ID)
			out, err := s.Settle(ctx, siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy()})
			if err != nil {
				return err
			}
			if out[0].Err != nil {
				return out[0].Err
			}
		}
	}
	return s.Close()
}

func TestAProcessThatIsKilledLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	path := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), path)
	require.NoError(t, err)
	defer s.Close()
	for _, id := range []string{"a", "b", "c"} {
		_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: []byte("1")})
		require.NoError(t, err)
	}
	cmd, out, _ := child(t, childHold, path)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "holding 2\n", line)
	n, err := s.Reap(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "it lives")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	n, err = s.Reap(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	r, err := s.Get(t.Context(), "q", "a")
	require.NoError(t, err)
	require.Equal(t, siding.StateReady, r.State)
	require.True(t, r.Suspect)
	require.Zero(t, r.Attempt+r.Interruptions)
	require.Equal(t, siding.CauseWorkerCrash, r.History[0].Error.Cause)
	require.Equal(t, siding.FateUnknown, r.Calls[0].Fate)
	st, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, 7, st[0].UnknownMax)
	clean(t, s)
}

func TestTwoProcessesShareAQueueAndHandleNothingTwice(t *testing.T) {
	t.Parallel()
	path := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), path)
	require.NoError(t, err)
	defer s.Close()
	var want []string
	var batch []siding.NewMessage
	for i := range 120 {
		id := fmt.Sprintf("%03d", i)
		want = append(want, id)
		batch = append(batch, siding.NewMessage{ID: id, Body: []byte("1")})
	}
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, batch...)
	require.NoError(t, err)
	a, outA, _ := child(t, childDrain, path)
	b, outB, _ := child(t, childDrain, path)
	gotA, err := io.ReadAll(outA)
	require.NoError(t, err)
	gotB, err := io.ReadAll(outB)
	require.NoError(t, err)
	require.NoError(t, a.Wait())
	require.NoError(t, b.Wait())
	got := strings.Fields(string(gotA) + string(gotB))
	slices.Sort(got)
	require.Equal(t, want, got)
	clean(t, s)
}
