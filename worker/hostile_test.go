package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// nasty is an error and a panic value whose every method misbehaves.
type nasty struct{ how string }

func (n nasty) Error() string {
	if n.how == "goexit" {
		runtime.Goexit()
	}
	panic("while formatting")
}
func (n nasty) Unwrap() error          { panic("while unwrapping") }
func (n nasty) String() string         { return n.Error() }
func (n nasty) Is(error) bool          { panic("while comparing") }
func (n nasty) As(any) bool            { panic("while converting") }
func (n nasty) GoString() string       { panic("while formatting") }
func (n nasty) Format(fmt.State, rune) { _ = n.Error() }

func TestEveryFailureIsRecordedWhateverItContains(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é😀", 1<<20)
	var nilFailure *siding.Failure
	for name, fault := range map[string]func() error{
		"NUL":                      func() error { return errors.New("a\x00b") },
		"invalid UTF-8":            func() error { return errors.New("a\xff\xfe") },
		"terminal escapes":         func() error { return errors.New("\x1b[31m\x1b]0;x\x07") },
		"megabytes":                func() error { return errors.New(long) },
		"a rune at every cut":      func() error { return errors.New("x" + long) },
		"formatting panics":        func() error { return nasty{} },
		"formatting never returns": func() error { return nasty{"goexit"} },
		"a nil failure":            func() error { return nilFailure },
		"an empty failure":         func() error { return &siding.Failure{} },
		"an odd failure": func() error {
			return &siding.Failure{Outcome: "odd", Cause: "\x00\xff", RetryAfter: -1, RequestID: "\x1b", Err: nasty{}}
		},
		"a panic":                     func() error { panic("poison") },
		"a panic with nil":            func() error { panic(nil) }, //nolint:govet // as handlers do
		"a panic with megabytes":      func() error { panic(long) },
		"a panic that cannot be told": func() error { panic(nasty{}) },
		"a panic that ends":           func() error { panic(nasty{"goexit"}) },
		"a nil dereference":           func() error { var d *siding.Delivery; return errors.New(d.ID) }, //nolint:govet // on purpose
		"a deep stack":                func() error { return deep(10_000) },
		"an ended goroutine":          func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := setup(t)
				f.put("a", "b")
				f.drain(worker.Config{Policy: exact(1), Concurrency: 1, Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
					if d.ID == "b" {
						return nil
					}
					return fault()
				})})
				require.Equal(t, siding.StateDone, f.get("b").State)
				r := f.get("a")
				require.Equal(t, siding.StateDead, r.State)
				require.Equal(t, siding.ReasonAttemptsExhausted, r.Reason)
				require.Len(t, r.History, 2)
				text := r.LastError.Text
				require.NotEmpty(t, text)
				require.LessOrEqual(t, len(text), siding.MaxErrorText)
				require.True(t, utf8.ValidString(text))
				require.NotContains(t, text, "\uFFFD")
				require.NotContains(t, text, "\x00")
				require.NotContains(t, text, "\x1b")
				if strings.Contains(name, "panic") && !strings.HasPrefix(name, "formatting") || name == "an ended goroutine" || name == "a deep stack" {
					require.Equal(t, siding.CauseHandlerPanic, r.LastError.Cause)
				}
			})
		})
	}
}

func deep(n int) error {
	if n == 0 {
		panic("at the bottom")
	}
	return deep(n - 1)
}

func TestAPanicIsRecordedWithItsValueAndItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		f.drain(worker.Config{Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			panic(fmt.Errorf("no %s", "luck"))
		})})
		text := f.get("a").LastError.Text
		require.Contains(t, text, "panic: no luck")
		require.Contains(t, text, "hostile_test.go")
		require.NotContains(t, text, "debug.Stack")
	})
}

func TestAResultThatIsNotJSONIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("bad", "empty", "good")
		f.drain(worker.Config{Policy: exact(0), Handler: resultHandler(func(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
			return siding.Result{Body: map[string][]byte{"bad": []byte("{"), "empty": {}, "good": []byte("{}")}[d.ID]}, nil
		})})
		require.Equal(t, siding.StateDead, f.get("bad").State)
		require.Contains(t, f.get("bad").LastError.Text, "not valid JSON")
		require.Equal(t, siding.StateDone, f.get("empty").State)
		require.Equal(t, "{}", string(f.get("good").Result))
	})
}

func TestAMessageWithoutABodyAndOneThatIsNotTextReachTheHandlerAsTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		raw := []byte("\x00\xff{\x80")
		_, err := f.store.Enqueue(t.Context(), queue, siding.EnqueueOptions{}, siding.NewMessage{ID: "none"},
			siding.NewMessage{ID: "raw", Body: raw}, siding.NewMessage{ID: "null", Body: []byte("null")})
		require.NoError(t, err)
		f.drain(worker.Config{Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			if d.ID == "raw" && !bytes.Equal(d.Body, raw) {
				t.Error("the body was changed")
			}
			return siding.Permanent(fmt.Errorf("cannot decode %q", d.Body))
		})})
		require.EqualValues(t, 3, f.stats().Dead)
	})
}

// Without the worker's cancel, an uncounted interruption would go on for ever: it is counted, and costs no attempt.
func TestAnInterruptionThatTheWorkerKnowsNothingOfIsBounded(t *testing.T) {
	t.Parallel()
	for _, cause := range []siding.Cause{siding.CauseShutdown, siding.CauseHostRestart, siding.CauseWorkerCrash, siding.CauseLeaseLost} {
		synctest.Test(t, func(t *testing.T) {
			f := setup(t)
			f.put("a")
			c := newCalls()
			f.drain(worker.Config{Policy: exact(1), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
				c.add(d)
				return &siding.Failure{Outcome: siding.OutcomeInterrupted, Cause: cause}
			})})
			require.Equal(t, 10, c.of("a"))
			r := f.get("a")
			require.Equal(t, siding.ReasonInterruptionsExhausted, r.Reason)
			require.Zero(t, r.Attempt)
			require.False(t, r.Suspect)
		})
	}
}

func TestAHandlersOwnTimeoutIsATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		f.drain(worker.Config{Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-ctx.Done()
			return fmt.Errorf("asking: %w", ctx.Err())
		})})
		require.Equal(t, siding.CauseTimeout, f.get("a").LastError.Cause)
		require.Equal(t, 1, f.get("a").Attempt)
	})
}

func TestTheLogHasNothingThatATerminalActsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.put("a")
		var out bytes.Buffer
		f.gate.fail("Reap", errors.New("\x1b[31m"))
		f.drain(worker.Config{
			Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Policy: exact(0), Handler: handler(func(ctx context.Context, d *siding.Delivery) error {
				time.Sleep(time.Second)
				return errors.New("\x1b[31m\x00")
			}),
		})
		require.Contains(t, out.String(), "set aside")
		require.Contains(t, out.String(), "attempts-exhausted")
		require.Contains(t, out.String(), "the store failed")
		require.NotContains(t, out.String(), "\x1b")
		require.NotContains(t, out.String(), `\u001b`)
	})
}
