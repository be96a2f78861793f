package webhook

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// fakeJournal is a journal of one message that keeps the contract, panics when its user breaks it, and fails on request.
type fakeJournal struct {
	mu        sync.Mutex
	calls     []siding.Call
	answers   map[siding.CallID][]byte
	startErr  error
	endErrs   []error // of the next writes
	busyUntil time.Time
}

func newJournal() *fakeJournal { return &fakeJournal{answers: map[siding.CallID][]byte{}} }

func (j *fakeJournal) StartCall(ctx context.Context, r siding.CallRequest) (siding.CallStart, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.RequestHash == (siding.Hash{}) || r.Deadline <= 0 || r.Digest == "" || r.Lane == "" || r.OnUnknown == "" || !r.Priced || r.WorstCost != 0 {
		panic("an incomplete request of a call")
	}
	if ctx.Err() != nil {
		return siding.CallStart{}, context.Cause(ctx)
	}
	if j.startErr != nil {
		return siding.CallStart{}, j.startErr
	}
	unknown := 0
	for _, c := range slices.Backward(j.calls) {
		if c.RequestHash != r.RequestHash {
			continue
		}
		if c.Fate == siding.FateAnswered {
			return siding.CallStart{Answer: &c, Body: j.answers[c.ID]}, nil
		}
		if c.Maybe() {
			unknown++
		}
	}
	if !j.busyUntil.IsZero() {
		return siding.CallStart{BusyUntil: j.busyUntil}, nil
	}
	if unknown > 0 && r.OnUnknown == siding.UnknownQuarantine {
		return siding.CallStart{Unknown: unknown}, nil
	}
	id := siding.CallID(len(j.calls) + 1)
	j.calls = append(j.calls, siding.Call{ID: id, RequestHash: r.RequestHash, Fate: siding.FateStarted, Lane: r.Lane, Digest: r.Digest})
	return siding.CallStart{Call: id, Unknown: unknown}, nil
}

func (j *fakeJournal) EndCall(ctx context.Context, e siding.CallEnd) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		panic("a call was ended under a context that had ended")
	}
	if len(j.endErrs) > 0 {
		err := j.endErrs[0]
		j.endErrs = j.endErrs[1:]
		return err
	}
	if (e.Fate == siding.FateAnswered) != (e.Answer != nil) || (e.Fate != siding.FateAnswered) != (e.Failure != nil) || e.Cost != 0 || !e.Priced {
		panic("an end that does not fit its fate")
	}
	c := &j.calls[e.Call-1]
	c.Fate, c.Status, c.RequestID, c.Error = e.Fate, e.Status, e.RequestID, e.Failure.Stored()
	if e.Answer != nil {
		j.answers[e.Call] = e.Answer
	}
	return nil
}

func (j *fakeJournal) Calls(context.Context, string, string) ([]siding.Call, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]siding.Call(nil), j.calls...), nil
}

func (j *fakeJournal) Answer(_ context.Context, id siding.CallID) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if body, ok := j.answers[id]; ok {
		return body, nil
	}
	return nil, siding.ErrNotFound
}

func (j *fakeJournal) fates() (list []siding.Fate) {
	calls, _ := j.Calls(context.Background(), "", "")
	for _, c := range calls {
		list = append(list, c.Fate)
	}
	return list
}

func TestAnEventThatWasReceivedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{`{"ok": true}`, "", "fine"} {
		j := newJournal()
		r := serve(t, says(200, reply))
		c := to(r)
		c.Journal = j
		first, f := handle(t, c)
		require.Nil(t, f)
		require.Equal(t, []siding.Judgement{{Call: 1, Accepted: true, Digest: newHandler(t, c).Digest()}}, first.Judged)
		require.False(t, first.NoCall)

		c.Headers = map[string]string{"X-New": "1"} // another digest changes nothing in what was received
		second, f := handle(t, c)
		require.Nil(t, f)
		require.Equal(t, first.Body, second.Body)
		require.True(t, second.NoCall)
		require.Equal(t, siding.CallID(1), second.Judged[0].Call)
		require.Len(t, r.requests(), 1)
		require.Equal(t, []siding.Fate{siding.FateAnswered}, j.fates())

		h := newHandler(t, c)
		calls, _ := j.Calls(t.Context(), "q", "evt-1")
		verdict, result, ok, err := h.Rejudge(t.Context(), delivery("evt-1").Message, calls)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, siding.Judgement{Call: 1, Accepted: true, Digest: h.Digest()}, verdict)
		require.Equal(t, first.Body, result)

		other := delivery("evt-1").Message
		other.Body = []byte(`{"id": "8"}`)
		_, _, ok, err = h.Rejudge(t.Context(), other, calls)
		require.NoError(t, err)
		require.False(t, ok, "another body is another event")
	}
}

func TestARefusalIsSentAgain(t *testing.T) {
	t.Parallel()
	j := newJournal()
	status := 500
	r := serve(t, func(w http.ResponseWriter, req *http.Request) { says(status, "x", "X-Request-Id", "r-1")(w, req) })
	c := to(r)
	c.Journal = j
	_, f := handle(t, c)
	require.Equal(t, "r-1", f.RequestID)
	status = 200
	_, f = handle(t, c)
	require.Nil(t, f)
	require.Equal(t, []siding.Fate{siding.FateRefused, siding.FateAnswered}, j.fates())
	require.Equal(t, "r-1", j.calls[0].RequestID)
}

func TestWhatMayHaveBeenReceivedIsUnknown(t *testing.T) {
	t.Parallel()
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no reply": cut, "half a reply": half, "a gateway that does not know": says(502, "bad gateway"), "a gateway's timeout": says(504, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal()
			r := serve(t, answer)
			c := to(r)
			c.Journal = j
			_, f := handle(t, c)
			require.Equal(t, siding.OutcomeTransient, f.Outcome)
			require.Equal(t, []siding.Fate{siding.FateUnknown}, j.fates())
			require.Len(t, r.requests(), 1, "net/http must not send it again by itself")

			c.OnUnknown = siding.UnknownQuarantine
			res, f := handle(t, c)
			require.Equal(t, siding.OutcomePermanent, f.Outcome)
			require.Equal(t, siding.ReasonUnknownCall, f.Reason)
			require.True(t, res.NoCall)
			require.Len(t, r.requests(), 1)

			c.OnUnknown = siding.UnknownResend
			handle(t, c)
			require.Len(t, r.requests(), 2)
		})
	}
}

// To net/http a request with an idempotency key is one that it may send again by itself, when a connection that it has used
// before breaks. The journal would know of one request, and the receiver of two.
func TestARequestOnAConnectionThatBreaksIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "X-Idempotency-Key", "X-Other"} {
		var answered atomic.Bool
		r := serve(t, func(w http.ResponseWriter, req *http.Request) {
			if answered.Swap(true) {
				panic(http.ErrAbortHandler)
			}
			says(200, "ok")(w, req)
		})
		c := to(r)
		c.IdempotencyHeader = header
		h := newHandler(t, c)
		_, err := h.Handle(t.Context(), delivery("a"))
		require.NoError(t, err)
		_, err = h.Handle(t.Context(), delivery("b"))
		require.Equal(t, siding.CauseNetwork, siding.FailureOf(err).Cause)
		require.Len(t, r.requests(), 2)
	}
}

func TestARequestUnderWayIsWaitedFor(t *testing.T) {
	t.Parallel()
	j := newJournal()
	began := time.Now()
	j.busyUntil = began.Add(40 * time.Second)
	h := newHandler(t, Config{URL: "http://localhost:1/", Journal: j, AllowPrivate: true})
	d := delivery("evt-1")
	d.StartedAt = began
	res, err := h.Handle(t.Context(), d)
	f := siding.FailureOf(err)
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Equal(t, 40*time.Second, f.RetryAfter)
	require.True(t, res.NoCall, "or the whole lane would be held for it")
}

func TestAJournalThatCannotBeWrittenIsNotTheMessagesFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		outcome siding.Outcome
		waits   bool
	}{
		{siding.ErrDiskFull, siding.OutcomeHeld, false},
		{siding.ErrStaleLease, siding.OutcomeInterrupted, false},
		{siding.ErrClosed, siding.OutcomeInterrupted, false},
		{errors.New("something else"), siding.OutcomeHeld, true},
	} {
		j := newJournal()
		j.startErr = c.err
		h := newHandler(t, Config{URL: "http://localhost:1/", Journal: j, AllowPrivate: true})
		_, err := h.Handle(t.Context(), delivery("evt-1"))
		f := siding.FailureOf(err)
		require.Equal(t, c.outcome, f.Outcome)
		require.Equal(t, c.waits, f.WaitCounts)
		require.True(t, f.NoCall)
	}
}

// How a request ended is written as soon as that can be done, also when the worker is stopping meanwhile.
func TestTheEndOfARequestIsWrittenInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		full := errors.Join(siding.ErrDiskFull)
		for range 30 {
			j.endErrs = append(j.endErrs, full)
		}
		j.calls = []siding.Call{{ID: 1, Fate: siding.FateStarted}}
		h := &Handler{c: Config{Journal: j}}
		began := time.Now()
		require.NoError(t, h.save(t.Context(), siding.CallEnd{Call: 1, Fate: siding.FateAnswered, Answer: []byte{}, Priced: true}))
		require.Equal(t, []siding.Fate{siding.FateAnswered}, j.fates())
		require.Greater(t, time.Since(began), time.Minute)

		j.endErrs = make([]error, 1000)
		for i := range j.endErrs {
			j.endErrs[i] = full
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(siding.ErrShutdown)
		began = time.Now()
		require.ErrorIs(t, h.save(ctx, siding.CallEnd{Call: 1}), siding.ErrDiskFull)
		require.Equal(t, saveShutdown, time.Since(began), "but not for ever")

		j.endErrs = []error{siding.ErrClosed}
		require.ErrorIs(t, h.save(t.Context(), siding.CallEnd{Call: 1}), siding.ErrClosed)
	})
}
