package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func settleCases() []testCase {
	return []testCase{
		{"done keeps the result, its digest, and nothing is left to do", func(f *fixture) {
			d := f.leased("a")
			f.clock.Advance(time.Second)
			out := f.settleWith(siding.Settlement{Token: d.Token, Result: []byte(`{"tags":[]}`), Digest: "d1"})
			require.NoError(f, out.Err)
			require.Equal(f, siding.OutcomeDone, out.Decision.Outcome)
			r := f.stateIs("a", siding.StateDone)
			require.Equal(f, `{"tags":[]}`, string(r.Result))
			require.Equal(f, "d1", r.Digest)
			require.Empty(f, r.Worker)
			require.Len(f, r.History, 1)
			h := r.History[0]
			require.Equal(f, 1, h.Number)
			require.Equal(f, "w", h.Worker)
			require.Equal(f, siding.OutcomeDone, h.Outcome)
			require.Equal(f, "d1", h.Digest)
			require.Nil(f, h.Error)
			require.True(f, d.StartedAt.Equal(h.StartedAt))
			f.near(f.clock.Now(), h.EndedAt)
			require.Empty(f, f.lease(1))
		}},
		{"every outcome goes where the route says", func(f *fixture) {
			for i, failure := range []*siding.Failure{
				nil, transient("no"), gray("perhaps"), permanent("never"),
				{Outcome: siding.OutcomePermanent, Cause: siding.CauseUnknown, Reason: siding.ReasonUnknownCall},
				{Outcome: siding.OutcomeTransient, Cause: siding.CauseRateLimited, RetryAfter: 171 * time.Second},
				{Outcome: siding.OutcomeHeld, Cause: siding.CauseAccount, Scope: siding.ScopeAccount},
				{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, WaitCounts: true, RetryAfter: time.Minute},
				interrupted(siding.CauseShutdown), {Outcome: "odd", Cause: "odd too"},
			} {
				id := fmt.Sprint(i)
				d := f.leased(id)
				want := siding.Route(d.Message, failure, f.policy, f.clock.Now(), 0)
				got := f.settleWith(siding.Settlement{Token: d.Token, Failure: failure})
				require.NoError(f, got.Err)
				r := f.get(id)
				if want.State == siding.StateReady {
					f.near(want.AvailableAt, got.Decision.AvailableAt)
					f.near(want.AvailableAt, r.AvailableAt)
					require.True(f, r.AvailableAt.After(f.clock.Now()), "no way back without a delay")
				}
				want.AvailableAt, got.Decision.AvailableAt = time.Time{}, time.Time{}
				require.Equal(f, want, got.Decision)
				require.Equal(f, want.State, r.State)
				require.Equal(f, want.Attempt, r.Attempt)
				require.Equal(f, want.Gray, r.Gray)
				require.Equal(f, want.Waits, r.Waits)
				require.Equal(f, want.Interruptions, r.Interruptions)
				require.Equal(f, want.Reason, r.Reason)
				require.Equal(f, want.Outcome, r.History[0].Outcome)
				require.NoError(f, f.cancelIfReady(id))
			}
		}},
		{"n retries are n+1 deliveries", func(f *fixture) {
			f.enqueue(msg("a"))
			for attempt := 1; ; attempt++ {
				d := f.leaseOne()
				require.Equal(f, attempt, d.Number)
				if f.fail(d, transient("no")).State == siding.StateDead {
					require.Equal(f, f.policy.MaxRetries+1, attempt)
					break
				}
				f.clock.Advance(time.Minute)
			}
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, siding.ReasonAttemptsExhausted, r.Reason)
			require.Equal(f, 4, r.Attempt)
			require.Len(f, r.History, 4)
			f.near(f.clock.Now(), r.DeadAt)
		}},
		{"gray failures have a limit of their own", func(f *fixture) {
			f.fail(f.leased("a"), gray("first"))
			f.clock.Advance(time.Minute)
			require.Equal(f, siding.ReasonGrayExhausted, f.fail(f.leaseOne(), gray("second")).Reason)
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, 2, r.Attempt)
			require.Equal(f, 2, r.Gray)
			require.Equal(f, siding.OutcomeGray, r.LastError.Outcome)
		}},
		{"a permanent failure that the policy calls gray is recorded as gray", func(f *fixture) {
			f.policy.Gray = []siding.Cause{siding.CauseInvalidRequest}
			require.Equal(f, siding.StateReady, f.fail(f.leased("a"), permanent("perhaps")).State)
			r := f.get("a")
			require.Equal(f, 1, r.Gray)
			require.Equal(f, siding.OutcomeGray, r.History[0].Outcome)
		}},
		{"a dead letter keeps what went wrong", func(f *fixture) {
			offset := int64(17)
			failure := permanent("bad byte at 17")
			failure.Status, failure.RequestID, failure.FaultOffset = 400, "req_1", &offset
			f.fail(f.leased("a"), failure)
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, failure.Stored(), r.LastError)
			require.Equal(f, failure.Stored(), r.History[0].Error)
			require.Equal(f, siding.ReasonPoison, r.Reason)
			require.Equal(f, `{"id":"a"}`, string(r.Body))
			require.Empty(f, r.Result)
		}},
		{"an interruption leaves the last error as it was", func(f *fixture) {
			f.fail(f.leased("a"), transient("the error"))
			f.clock.Advance(time.Minute)
			f.fail(f.leaseOne(), interrupted(siding.CauseShutdown))
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, "the error", r.LastError.Text)
			require.Equal(f, siding.CauseShutdown, r.History[1].Error.Cause)
			require.Equal(f, 1, r.Attempt)
			require.Zero(f, r.Interruptions)
		}},
		{"the history keeps the first and the last deliveries", func(f *fixture) {
			f.enqueue(msg("a"))
			for range 25 {
				f.fail(f.leaseOne(), interrupted(siding.CauseShutdown))
				f.clock.Advance(time.Second)
			}
			r := f.get("a")
			require.Len(f, r.History, 2*siding.HistoryEnds)
			require.Equal(f, 5, r.Forgotten)
			for i, h := range r.History {
				want := i + 1
				if i >= siding.HistoryEnds {
					want += 5
				}
				require.Equal(f, want, h.Number)
			}
			require.Equal(f, 25, r.Deliveries)
		}},
		{"each settlement of a batch is answered for itself", func(f *fixture) {
			a, b, c := f.leased("a"), f.leased("b"), f.leased("c")
			f.done(b, "1")
			out, err := f.store.Settle(f.ctx,
				siding.Settlement{Token: a.Token, Policy: f.policy},
				siding.Settlement{Token: b.Token, Policy: f.policy, Failure: permanent("late")},
				siding.Settlement{Token: c.Token, Policy: f.policy, Failure: permanent("no")},
				siding.Settlement{Token: a.Token, Policy: f.policy, Failure: permanent("twice")},
			)
			require.NoError(f, err)
			require.Len(f, out, 4)
			require.NoError(f, out[0].Err)
			require.ErrorIs(f, out[1].Err, siding.ErrStaleLease)
			require.NoError(f, out[2].Err)
			require.ErrorIs(f, out[3].Err, siding.ErrStaleLease)
			f.stateIs("a", siding.StateDone)
			f.stateIs("b", siding.StateDone)
			f.stateIs("c", siding.StateDead)
			require.EqualValues(f, 2, f.stats().StaleSettles)
		}},
		{"a result is kept exactly, and only of a delivery that is done", func(f *fixture) {
			large := bytes.Repeat([]byte("\x00\xff1"), 1<<20)
			for id, result := range map[string][]byte{"large": large, "none": nil} {
				d := f.leased(id)
				require.NoError(f, f.settleWith(siding.Settlement{Token: d.Token, Result: result}).Err)
				require.True(f, bytes.Equal(result, f.get(id).Result))
			}
			d := f.leased("failed")
			require.NoError(f, f.settleWith(siding.Settlement{Token: d.Token, Result: []byte("1"), Failure: permanent("no")}).Err)
			require.Empty(f, f.get("failed").Result)
		}},
		{"no error text keeps a failure from being recorded", func(f *fixture) {
			for name, err := range hostileErrors() {
				d := f.leased(name)
				failure := &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseHandlerError, RequestID: "\x00\xff", Err: err}
				f.fail(d, failure)
				r := f.stateIs(name, siding.StateDead)
				require.Equal(f, failure.Stored(), r.LastError, name)
				f.scrubbed(r.LastError.Text, siding.MaxErrorText)
				f.scrubbed(r.LastError.RequestID, siding.MaxErrorText)
			}
			count := 0
			for _, err := range f.store.List(f.ctx, siding.Selection{Queue: f.queue, States: []siding.State{siding.StateDead}}) {
				require.NoError(f, err)
				count++
			}
			require.Equal(f, len(hostileErrors()), count)
		}},
		{"no code that nobody has heard of keeps a failure from being recorded", func(f *fixture) {
			f.fail(f.leased("a"), &siding.Failure{Outcome: siding.OutcomePermanent, Cause: "new\x00\xff", Err: errors.New("no")})
			require.NotEmpty(f, f.stateIs("a", siding.StateDead).LastError.Cause)
		}},
		{"texts from outside are scrubbed", func(f *fixture) {
			const bad = "x\x00\x1b[31m\xff\u202e\u2028y"
			m := msg("a")
			m.Headers = map[string]string{bad: bad, "ok": string(bytes.Repeat([]byte("é"), siding.MaxHeader))}
			m.FairnessKey = bad
			f.enqueue(m)
			r := f.request(1)
			r.Worker = bad
			d := f.leaseWith(r).Deliveries[0]
			require.Len(f, d.Headers, 2)
			for name, value := range d.Headers {
				f.scrubbed(name, siding.MaxHeader)
				f.scrubbed(value, siding.MaxHeader)
			}
			require.Equal(f, siding.Scrub(bad, siding.MaxHeader), d.Headers[siding.Scrub(bad, siding.MaxHeader)])
			f.scrubbed(f.get("a").Worker, siding.MaxHeader)
			f.fail(d, permanent("no"))
			f.scrubbed(f.get("a").History[0].Worker, siding.MaxHeader)
			errs, err := f.store.Discard(f.ctx, f.queue, bad, "a")
			require.NoError(f, err)
			require.NoError(f, errs[0])
			f.scrubbed(f.get("a").DiscardReason, siding.MaxHeader)
		}},
	}
}

// cancelIfReady takes a message that may be leased out of the way.
func (f *fixture) cancelIfReady(id string) error {
	if f.get(id).State != siding.StateReady {
		return nil
	}
	return f.discard(id)[0]
}

// scrubbed asks for a text that is safe to store and to show.
func (f *fixture) scrubbed(text string, limit int) {
	f.Helper()
	require.Equal(f, siding.Scrub(text, limit), text)
}

type panicking struct{}

func (panicking) Error() string { panic("while formatting") }

// hostileErrors are errors whose texts have broken stores.
func hostileErrors() map[string]error {
	large := bytes.Repeat([]byte("漢字\x00\xff"), 10<<20/8)
	cut := map[string]error{
		"empty": errors.New(""), "nul": errors.New("a\x00b"), "not utf-8": errors.New("\xff\xfe\xed\xa0\x80"),
		"large": errors.New(string(large)), "panics": panicking{}, "wrapped panic": fmt.Errorf("outer: %w", panicking{}),
		"terminal": errors.New("\x1b]0;title\x07\x1b[2J"), "quotes": errors.New(`'; DROP TABLE messages; --`),
	}
	for i := range 4 { // a rune at every place of the cut
		text := string(bytes.Repeat([]byte("x"), i)) + string(bytes.Repeat([]byte("🚃"), siding.MaxErrorText/2))
		cut[fmt.Sprint("runes ", i)] = errors.New(text)
	}
	return cut
}
