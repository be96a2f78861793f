package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

// yard is a store whose figures a test sets, and a receiver.
type yard struct {
	*siding.QueueStats

	store   *memory.Store
	mu      sync.Mutex
	groups  []siding.Group
	gates   []siding.Gate
	got     []Notice
	fail    error
	takes   time.Duration // to receive one
	said    []string
	writes  int
	noNotes error
}

func newYard(t *testing.T) *yard {
	t.Helper()
	s := memory.Open(memory.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return &yard{QueueStats: &siding.QueueStats{Queue: "q"}, store: s}
}

func (y *yard) set(change func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	change()
}

func (y *yard) Now(ctx context.Context) (time.Time, error) { return y.store.Now(ctx) }

func (y *yard) Stats(context.Context, string) ([]siding.QueueStats, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return []siding.QueueStats{*y.QueueStats}, nil
}

func (y *yard) Groups(context.Context, siding.GroupQuery) ([]siding.Group, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.groups, nil
}

func (y *yard) Gates(context.Context) ([]siding.Gate, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.gates, nil
}

func (y *yard) Note(ctx context.Context, key string) (siding.Note, error) {
	return y.store.Note(ctx, key)
}

func (y *yard) SetNote(ctx context.Context, n siding.Note) (int64, error) {
	y.mu.Lock()
	y.writes++
	err := y.noNotes
	y.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return y.store.SetNote(ctx, n)
}

// Handle receives a notice.
func (y *yard) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	y.mu.Lock()
	takes, fail := y.takes, y.fail
	y.mu.Unlock()
	select {
	case <-ctx.Done():
		return siding.Result{}, context.Cause(ctx)
	case <-time.After(takes):
	}
	if fail != nil {
		return siding.Result{}, fail
	}
	var n Notice
	if err := json.Unmarshal(d.Body, &n); err != nil {
		return siding.Result{}, err
	}
	y.set(func() { y.got = append(y.got, n) })
	return siding.Result{}, nil
}

func (y *yard) received() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return rules(y.got)
}

func (y *yard) watcher() *Watcher {
	return &Watcher{
		Store: y, Queue: "q", Rules: Rules{Dead: 2, Hold: true, NewGroup: true}, Sinks: []Sink{{SinkWebhook, y}},
		Say: func(text string) { y.set(func() { y.said = append(y.said, text) }) },
	}
}

// watching runs a watcher until the returned function is called, which waits for its end and says how long that took.
func watching(t *testing.T, y *yard) (end func() time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		y.watcher().Run(ctx)
		close(done)
	}()
	return func() time.Duration {
		cancel()
		began := time.Now()
		<-done
		return time.Since(began)
	}
}

func TestSeveralWatchersTellOnceAndRestartsTellNothingAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		var ends []func() time.Duration
		for range 5 {
			ends = append(ends, watching(t, y))
		}
		y.set(func() {
			y.Dead, y.takes = 2, 3*time.Second
			y.groups = []siding.Group{newGroup("2-a", 2, time.Now().UTC())}
		})
		time.Sleep(time.Minute)
		require.ElementsMatch(t, []string{"dead firing", "new_group firing"}, y.received())
		writes := y.writes
		time.Sleep(time.Hour)
		require.Equal(t, writes, y.writes, "nothing is written while nothing happens")
		for _, end := range ends {
			require.Zero(t, end())
		}
		require.Zero(t, watching(t, y)())
		require.Len(t, y.received(), 2)

		y.set(func() { y.Dead, y.takes = 1, 0 })
		require.Zero(t, watching(t, y)(), "the end of a run looks too")
		require.Equal(t, "dead resolved", y.received()[2])
		require.Empty(t, y.said)
	})
}

func TestASinkThatFailsIsTriedAgainAndSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.Dead, y.fail = 2, errors.New("status 503 \x1b[31m")
		end := watching(t, y)
		time.Sleep(20 * time.Minute)
		require.Empty(t, y.received())
		require.Equal(t, []string{`alerts of queue q: webhook: status 503 \x1b[31m; it is tried again`}, y.said)
		require.Zero(t, end(), "what cannot be sent before the end is not waited for")
		require.Equal(t, "alerts: what could not be sent by now is sent by the next run or work on queue q", y.said[1])

		y.set(func() { y.fail = nil })
		end = watching(t, y)
		time.Sleep(6 * time.Minute)
		end()
		require.Equal(t, []string{"dead firing"}, y.received())
	})
}

func TestTheEndOfARunWaitsForASlowSinkAndNotForOneThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.takes = FinalWait - time.Second
		end := watching(t, y)
		synctest.Wait()
		y.set(func() { y.Dead = 2 })
		require.Equal(t, FinalWait-time.Second, end())
		require.Equal(t, []string{"dead firing"}, y.received())

		y.set(func() { y.Dead, y.takes = 0, time.Hour })
		require.LessOrEqual(t, watching(t, y)(), FinalWait)
		require.Len(t, y.received(), 1)
		y.set(func() { y.takes = 0 })
		require.Less(t, watching(t, y)(), time.Second, "what was cut is sent at once by the next")
		require.Equal(t, []string{"dead firing", "dead resolved"}, y.received())
	})
}

func TestAProcessThatDiesWhileItSendsLeavesTheNoticeToAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.Dead = 2
		w := y.watcher()
		w.token, w.said = "dead", map[string]string{}
		taken, _, err := w.look(t.Context(), false)
		require.NoError(t, err)
		require.Len(t, taken, 1)
		end := watching(t, y)
		time.Sleep(claimFor - time.Second)
		require.Empty(t, y.received())
		time.Sleep(Every + time.Second)
		require.Equal(t, []string{"dead firing"}, y.received())
		require.Equal(t, taken[0].Notice.ID, y.got[0].ID)
		require.Zero(t, end())
	})
}

func TestAStoreThatCannotBeWrittenToSendsNothingAndStopsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.Dead, y.noNotes = 2, fmt.Errorf("writing: %w", siding.ErrDiskFull)
		end := watching(t, y)
		time.Sleep(time.Minute)
		require.Empty(t, y.received(), "what is not known to have been told would be told again and again")
		require.Len(t, y.said, 1)
		require.Contains(t, y.said[0], "writing: ")
		y.set(func() { y.noNotes = nil })
		time.Sleep(time.Minute)
		require.Zero(t, end())
		require.Equal(t, []string{"dead firing"}, y.received())
	})
}

func TestWhatWasToldAndCannotBeReadIsForgottenAndSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.Dead = 2
		_, err := y.store.SetNote(t.Context(), siding.Note{Key: Key("q"), Value: []byte(`{"v":99}`)})
		require.NoError(t, err)
		watching(t, y)()
		require.Equal(t, []string{"dead firing"}, y.received())
		require.Contains(t, strings.Join(y.said, "\n"), "version 99")
	})
}

func TestASinkThatPanicsHasFailed(t *testing.T) {
	t.Parallel()
	s := Sink{"webhook", siding.HandlerFunc(func(context.Context, *siding.Delivery) error { panic("at the \x00 disco") })}
	require.ErrorContains(t, s.Send(t.Context(), Test("q", epoch), 0), `webhook: panic: at the \x00 disco`)
}
