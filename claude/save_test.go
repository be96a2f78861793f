package claude

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// until fails as long as the disk is full.
func until(end time.Time) func(int) error {
	return func(int) error {
		if time.Now().Before(end) {
			return fmt.Errorf("ending: %w", siding.ErrDiskFull)
		}
		return nil
	}
}

func TestAnAnswerThatCannotBeWrittenWaitsInMemoryAndNoOtherCallStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, j, s := setup(t, nil)
		began := time.Now()
		j.failEnd = until(began.Add(20 * time.Minute))
		ended := make(chan error, 4)
		var took time.Duration
		go func() {
			res, err := h.Handle(t.Context(), delivery("a", dunes))
			j.settle(res.Judged)
			took = time.Since(began)
			ended <- err
		}()
		time.Sleep(time.Second)
		for i := range 3 {
			go func() {
				_, err := h.Handle(t.Context(), delivery("b", fmt.Sprintf(`{"title":"other %d"}`, i)))
				ended <- err
			}()
		}
		time.Sleep(10 * time.Minute)
		require.Len(t, s.Calls(), 1, "no other call has started")
		for range 4 {
			require.NoError(t, <-ended)
		}
		require.GreaterOrEqual(t, took, 20*time.Minute)
		require.Less(t, took, 20*time.Minute+2*saveMost)
		require.Len(t, s.Calls(), 4)
		requireBill(t, j, s)
		_, unknown := j.bill()
		require.Zero(t, unknown, "nothing was lost")
	})
}

func TestWaitingForTheJournalEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, j, s := setup(t, nil)
		h.gate.shut()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(siding.ErrShutdown) })
		_, err := h.Handle(ctx, delivery("a", dunes))
		require.Equal(t, siding.CauseShutdown, siding.FailureOf(err).Cause)
		h.gate.open()
		require.Empty(t, s.Calls())
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.Nil(t, f)
	})
}

func TestWhatEndsTheWaitForTheJournal(t *testing.T) {
	t.Parallel()
	never := func(int) error { return siding.ErrDiskFull }
	for name, c := range map[string]struct {
		failEnd  func(int) error
		cancel   error // 5 s after the beginning
		took     time.Duration
		outcome  siding.Outcome
		cause    siding.Cause
		answered bool
	}{
		"its own long deadline":           {never, nil, saveLonger, siding.OutcomeHeld, siding.CauseHandlerError, false},
		"a shutdown, a while later":       {never, siding.ErrShutdown, 5*time.Second + saveShutdown, siding.OutcomeHeld, siding.CauseHandlerError, false},
		"a closed store, at once":         {func(int) error { return siding.ErrClosed }, nil, 0, siding.OutcomeInterrupted, siding.CauseShutdown, false},
		"a lost lease ends nothing":       {nil, siding.ErrLeaseLost, time.Minute, "", "", true},
		"room on the disk, in a shutdown": {nil, siding.ErrShutdown, 5*time.Second + saveShutdown, siding.OutcomeHeld, siding.CauseHandlerError, false},
		"the journal, a moment afterwards": {func(n int) error {
			if n == 1 {
				return siding.ErrDiskFull
			}
			return nil
		}, nil, saveFirst, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, j, s := setup(t, nil)
				began := time.Now()
				if j.failEnd = c.failEnd; j.failEnd == nil {
					j.failEnd = until(began.Add(time.Minute))
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.cancel != nil {
					time.AfterFunc(5*time.Second, func() { cancel(c.cancel) })
				}
				_, err := h.Handle(ctx, delivery("a", dunes))
				require.InDelta(t, c.took, time.Since(began), float64(saveMost))
				if c.answered {
					require.NoError(t, err)
					require.Equal(t, siding.FateAnswered, j.all()[0].Fate)
				} else {
					f := siding.FailureOf(err)
					require.Equal(t, c.outcome, f.Outcome, f.Error())
					require.Equal(t, c.cause, f.Cause)
					require.Equal(t, siding.FateStarted, j.all()[0].Fate, "an answer that is not in the journal is not used")
				}
				requireBill(t, j, s)
				require.NoError(t, h.gate.wait(t.Context()), "the gate is open again")
			})
		})
	}
}

// TestKillPoints kills the process at each write of the journal, before it and after it, and between the last write
// and the settlement; then another process takes over.
func TestKillPoints(t *testing.T) {
	t.Parallel()
	type kind struct {
		name  string
		rules []claudesim.Rule
	}
	for _, k := range []kind{
		{"one call", nil},
		{"a paused turn", []claudesim.Rule{always(claudesim.Do{Fault: "stop", Reason: "pause_turn"})}},
		{"a failure first", []claudesim.Rule{once(claudesim.Do{Fault: "error", ID: "500"})}},
		{"a cut answer first", []claudesim.Rule{once(claudesim.Do{Fault: "stop", Reason: "max_tokens"})}},
	} {
		for at := 1; at <= 6; at++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, killed at write %d, after: %v", k.name, at, after), func(t *testing.T) {
					t.Parallel()
					h, j, s := setup(t, nil, k.rules...)
					killer := &killingJournal{fakeJournal: j, at: at, after: after}
					c := h.c
					c.Journal = killer
					for range 6 {
						// A process that was killed settles nothing.
						res, err := newHandler(t, c).Handle(t.Context(), delivery("a", dunes))
						if killer.killed {
							killer.killed, killer.at = false, 0
							continue
						}
						j.settle(res.Judged)
						if err == nil {
							break
						}
						require.NotEqual(t, siding.OutcomePermanent, siding.FailureOf(err).Outcome)
					}
					require.Equal(t, siding.VerdictAccepted, j.all()[len(j.all())-1].Verdict, "done in the end")
					requireBill(t, j, s)
					unknown := map[string]bool{}
					for _, call := range j.all() {
						if call.Maybe() {
							unknown[fmt.Sprintf("%x", call.RequestHash)] = true
						}
					}
					for _, row := range s.Meter().Rows {
						require.True(t, row.PaidAgain == 0 || unknown[row.Hash], "paid twice, and the journal does not say that it may be: %+v", row)
						require.LessOrEqual(t, row.Acceptable, int64(2))
					}
				})
			}
		}
	}
}

// killingJournal lets the process die at one write: before it is durable, or after, when only the reply is lost.
type killingJournal struct {
	*fakeJournal
	at     int
	after  bool
	killed bool
	writes int
}

func (j *killingJournal) dies() bool {
	j.writes++
	if j.writes == j.at {
		j.killed = true
	}
	return j.killed
}

func (j *killingJournal) StartCall(ctx context.Context, r siding.CallRequest) (siding.CallStart, error) {
	if j.dies() {
		if j.after {
			_, _ = j.fakeJournal.StartCall(ctx, r)
		}
		return siding.CallStart{}, siding.ErrClosed
	}
	return j.fakeJournal.StartCall(ctx, r)
}

func (j *killingJournal) EndCall(ctx context.Context, e siding.CallEnd) error {
	if j.dies() {
		if j.after {
			_ = j.fakeJournal.EndCall(ctx, e)
		}
		return siding.ErrClosed
	}
	return j.fakeJournal.EndCall(ctx, e)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h, j, s := setup(t, nil)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			res, err := h.Handle(t.Context(), delivery(fmt.Sprint(i), fmt.Sprintf(`{"title":"number %d"}`, i)))
			if err == nil {
				j.settle(res.Judged)
			}
		})
	}
	all.Wait()
	require.Len(t, s.Calls(), 40)
	for _, call := range j.all() {
		require.Equal(t, siding.VerdictAccepted, call.Verdict)
	}
	requireBill(t, j, s)
}
