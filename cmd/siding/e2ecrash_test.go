package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/siding-dev/siding/worker"
)

// crashStore and crashWay make the test binary a worker's program that some messages kill: in which store, and how.
const (
	crashStore = "SIDING_TEST_CRASH_STORE"
	crashWay   = "SIDING_TEST_CRASH_WAY"
)

// crasher is that program.
func crasher(path string) error {
	debug.SetMaxStack(1 << 20)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer store.Close()
	w, err := worker.New(store, worker.Config{
		Queue: "q", Concurrency: 10, Drain: true, Handler: siding.HandlerFunc(func(_ context.Context, d *siding.Delivery) error {
			if !strings.Contains(string(d.Body), "killer") {
				time.Sleep(50 * time.Millisecond)
				return nil
			}
			time.Sleep(20 * time.Millisecond) // the others are in flight by then
			switch os.Getenv(crashWay) {
			case "exit":
				os.Exit(7)
			case "memory":
				starve()
			default:
				fmt.Fprintln(os.Stderr, endless(1))
			}
			return nil
		}),
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// endless has no end, and a condition that keeps it from being called a mistake.
func endless(n int) int {
	if n < 0 {
		return 0
	}
	return endless(n+1) + n
}

func TestWhatKillsItsProcessIsFoundOutAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		way     string
		killers []int
	}{
		"a handler that exits": {"exit", []int{4}}, "a handler that overflows the stack": {"stack", []int{7}},
		"a handler that runs out of memory": {"memory", []int{5}}, "two that exit": {"exit", []int{2, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "siding.db")
			store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			require.NoError(t, err)
			msgs := make([]siding.NewMessage, 10)
			for i := range msgs {
				msgs[i] = siding.NewMessage{ID: fmt.Sprint("m", i), Body: []byte("harmless")}
			}
			for _, k := range c.killers {
				msgs[k].Body = []byte("killer")
			}
			_, err = store.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, msgs...)
			require.NoError(t, err)
			require.NoError(t, store.Close())

			deaths := 0
			for {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), crashStore+"="+path, crashWay+"="+c.way)
				out, err := cmd.CombinedOutput()
				if err == nil {
					break
				}
				deaths++
				require.NotEqual(t, 3, cmd.ProcessState.ExitCode(), "the memory was not limited")
				require.LessOrEqual(t, deaths, 1+len(c.killers)*siding.MaxSoloCrashes, "%s", out)
			}
			require.GreaterOrEqual(t, deaths, len(c.killers)*siding.MaxSoloCrashes)

			store, err = sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, store.Close()) }()
			dead := 0
			for i := range msgs {
				r, err := store.Get(t.Context(), "q", fmt.Sprint("m", i))
				require.NoError(t, err)
				require.Zero(t, r.Attempt, r.ID)
				if string(msgs[i].Body) == "killer" {
					dead++
					require.Equal(t, siding.StateDead, r.State)
					require.Equal(t, siding.ReasonCrash, r.Reason)
				} else {
					require.Equal(t, siding.StateDone, r.State, r.ID)
				}
			}
			require.Equal(t, len(c.killers), dead)
			for v, err := range store.Check(t.Context()) {
				require.NoError(t, err)
				t.Errorf("%+v", v)
			}
		})
	}
}
