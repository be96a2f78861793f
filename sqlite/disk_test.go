//go:build linux

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fillUp enqueues under a limit on the size of files until the disk is full, makes room, and goes on.
func fillUp(ctx context.Context, path string) error {
	s, err := sqlite.Open(ctx, path, sqlite.Options{MinFree: -1})
	if err != nil {
		return err
	}
	const limit = 1 << 20
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		return err
	}
	done := 0
	for ; ; done++ {
		_, err = s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(done), Body: make([]byte, 32<<10)})
		if err != nil {
			break
		}
		if done > 1000 {
			return errors.New("the disk does not fill up")
		}
	}
	if !errors.Is(err, siding.ErrDiskFull) {
		return fmt.Errorf("not a full disk: %w", err)
	}
	if l, err := s.Lease(ctx, request(1)); err == nil && len(l.Deliveries) > 0 {
		fmt.Println("a lease still found room")
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if _, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "after"}); err != nil {
		return fmt.Errorf("after there is room: %w", err)
	}
	st, err := s.Stats(ctx, "q")
	if err != nil {
		return err
	}
	if got := st[0].Ready + st[0].Leased; got != int64(done)+1 {
		return fmt.Errorf("%d messages, and %d were taken in", got, done+1)
	}
	for v, err := range s.Check(ctx) {
		return fmt.Errorf("a rule is broken: %+v %w", v, err)
	}
	return s.Close()
}

func TestAFullDiskIsSaidAndLosesNothing(t *testing.T) {
	t.Parallel()
	cmd, _, _ := child(t, childFull, filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, cmd.Wait())
}

func TestNoCallStartsWithoutRoomForItsAnswer(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{MinFree: math.MaxInt64})
	_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "a"})
	require.NoError(t, err)
	l, err := s.Lease(t.Context(), request(1))
	require.NoError(t, err)
	_, err = s.StartCall(t.Context(), siding.CallRequest{Token: l.Deliveries[0].Token, Deadline: 1})
	require.ErrorIs(t, err, siding.ErrDiskFull)
	require.ErrorContains(t, err, "make room")
	calls, err := s.Calls(t.Context(), "q", "a")
	require.NoError(t, err)
	require.Empty(t, calls)
}

func TestAFullFileSystemIsSaidAndLosesNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the administrator may mount a small file system")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "s.db"), sqlite.Options{MinFree: -1})
	require.NoError(t, err)
	defer s.Close()
	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
	n := 0
	for ; err == nil; n++ {
		_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: fmt.Sprint(n), Body: make([]byte, 32<<10)})
	}
	require.ErrorIs(t, err, siding.ErrDiskFull)
	require.NoError(t, os.Remove(ballast))
	_, err = s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, siding.NewMessage{ID: "after"})
	require.NoError(t, err)
	st, err := s.Stats(t.Context(), "q")
	require.NoError(t, err)
	require.EqualValues(t, n, st[0].Ready)
	clean(t, s)
}
