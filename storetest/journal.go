package storetest

import (
	"bytes"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// ask gives a request of a delivery; n tells requests apart.
func ask(d *siding.Delivery, n byte) siding.CallRequest {
	return siding.CallRequest{
		Token: d.Token, RequestHash: siding.Hash{n}, AskHash: siding.Hash{n, 1}, Digest: "d1", Lane: "claude/claude-haiku-4-5",
		Deadline: time.Minute, WorstCost: 1000, Priced: true, OutputLimit: 1024, OnUnknown: siding.UnknownResend,
	}
}

func (f *fixture) startWith(r siding.CallRequest) siding.CallStart {
	f.Helper()
	out, err := f.store.StartCall(f.ctx, r)
	require.NoError(f, err)
	cases := 0
	for _, is := range []bool{
		out.Call != 0, out.Answer != nil, !out.BusyUntil.IsZero(), out.Held,
	} {
		if is {
			cases++
		}
	}
	if cases == 0 && out.Unknown > 0 {
		cases++ // not to be sent
	}
	require.Equal(f, 1, cases, "exactly one case holds: %+v", out)
	return out
}

// start begins a call that nothing stands in the way of.
func (f *fixture) start(r siding.CallRequest) siding.CallID {
	f.Helper()
	out := f.startWith(r)
	require.NotZero(f, out.Call)
	return out.Call
}

func (f *fixture) end(e siding.CallEnd) {
	f.Helper()
	require.NoError(f, f.store.EndCall(f.ctx, e))
}

func answered(id siding.CallID, answer string) siding.CallEnd {
	return siding.CallEnd{
		Call: id, Fate: siding.FateAnswered, Status: 200, RequestID: "req_1", Answer: []byte(answer),
		Usage: siding.Usage{Input: 10, Output: 5}, Cost: 300, Priced: true,
	}
}

// asked makes a call that is answered.
func (f *fixture) asked(r siding.CallRequest, answer string) siding.CallID {
	f.Helper()
	id := f.start(r)
	f.end(answered(id, answer))
	return id
}

// judged settles a delivery with a verdict on an answer.
func (f *fixture) judged(d *siding.Delivery, id siding.CallID, accepted bool, failure *siding.Failure) {
	f.Helper()
	j := siding.Judgement{Call: id, Accepted: accepted, Digest: "d1"}
	if !accepted {
		j.Cause = siding.CauseSchemaMismatch
	}
	s := siding.Settlement{Token: d.Token, Failure: failure, Digest: "d1", Judged: []siding.Judgement{j}}
	if failure == nil {
		s.Result = []byte("1")
	}
	require.NoError(f, f.settleWith(s).Err)
}

func (f *fixture) calls(id string) []siding.Call {
	f.Helper()
	out, err := f.store.Calls(f.ctx, f.queue, id)
	require.NoError(f, err)
	return out
}

// again brings the only message back to a handler, by a lost lease where it is leased.
func (f *fixture) again() *siding.Delivery {
	f.Helper()
	f.clock.Advance(2 * time.Minute)
	f.lease(0)
	f.clock.Advance(time.Minute)
	return f.leaseOne()
}

func journalCases() []testCase {
	return []testCase{
		{"a call is in the journal before it is sent, and with its answer after", func(f *fixture) {
			d := f.leased("a")
			id := f.start(ask(d, 1))
			before := f.calls("a")
			require.Len(f, before, 1)
			c := before[0]
			require.Equal(f, id, c.ID)
			require.Equal(f, f.queue, c.Queue)
			require.Equal(f, "a", c.EventID)
			require.Equal(f, 1, c.Delivery)
			require.Equal(f, siding.Hash{1}, c.RequestHash)
			require.Equal(f, siding.Hash{1, 1}, c.AskHash)
			require.Equal(f, "d1", c.Digest)
			require.Equal(f, "claude/claude-haiku-4-5", c.Lane)
			require.Equal(f, siding.FateStarted, c.Fate)
			require.True(f, c.EndedAt.IsZero())
			require.EqualValues(f, 1000, c.WorstCost)
			require.EqualValues(f, 1024, c.OutputLimit)
			f.near(f.clock.Now(), c.StartedAt)
			f.near(f.clock.Now().Add(time.Minute), c.Deadline)
			_, err := f.store.Answer(f.ctx, id)
			require.ErrorIs(f, err, siding.ErrNotFound)

			f.clock.Advance(time.Second)
			f.end(answered(id, "the answer"))
			c = f.calls("a")[0]
			require.Equal(f, siding.FateAnswered, c.Fate)
			require.Equal(f, 200, c.Status)
			require.Equal(f, "req_1", c.RequestID)
			require.Equal(f, siding.Usage{Input: 10, Output: 5}, c.Usage)
			require.EqualValues(f, 300, c.Cost)
			require.Equal(f, siding.VerdictNone, c.Verdict)
			f.near(f.clock.Now(), c.EndedAt)
			body, err := f.store.Answer(f.ctx, id)
			require.NoError(f, err)
			require.Equal(f, "the answer", string(body))
			require.Equal(f, f.calls("a"), f.get("a").Calls)
		}},
		{"an answer is kept exactly", func(f *fixture) {
			every := make([]byte, 256)
			for i := range every {
				every[i] = byte(i)
			}
			d := f.leased("a")
			for n, answer := range [][]byte{every, {0}, []byte("\xff\xfe"), bytes.Repeat(every, 2<<20/256)} {
				r := ask(d, byte(n))
				id := f.asked(r, string(answer))
				got, err := f.store.Answer(f.ctx, id)
				require.NoError(f, err)
				require.True(f, bytes.Equal(answer, got))
				out := f.startWith(r)
				require.Equal(f, id, out.Answer.ID)
				require.True(f, bytes.Equal(answer, out.Body))
			}
		}},
		{"an answer that nobody has judged is given to the next delivery", func(f *fixture) {
			id := f.asked(ask(f.leased("a"), 1), "x")
			d := f.again() // the lease was lost with the answer in hand
			out := f.startWith(ask(d, 1))
			require.NotNil(f, out.Answer)
			require.Equal(f, id, out.Answer.ID)
			require.Equal(f, "x", string(out.Body))
			require.Len(f, f.calls("a"), 1, "no second call")
		}},
		{"an answer that nobody has judged outlives the process", func(f *fixture) {
			id := f.asked(ask(f.leased("a"), 1), "x")
			f.kill()
			require.Equal(f, id, f.startWith(ask(f.again(), 1)).Answer.ID)
		}},
		{"an accepted answer is never asked for again", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, true, nil)
			c := f.calls("a")[0]
			require.Equal(f, siding.VerdictAccepted, c.Verdict)
			require.Equal(f, "d1", c.JudgedUnder)

			in := f.begin("key")
			f.enqueueWith(siding.EnqueueOptions{Input: in}, msg("a"))
			n, err := f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.EqualValues(f, 1, n)
			for _, digest := range []string{"d1", "d2"} {
				r := ask(f.again(), 1)
				r.Digest = digest
				require.Equal(f, id, f.startWith(r).Answer.ID, digest)
			}
		}},
		{"an accepted answer is never asked for again after a failure and a redrive", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, true, permanent("something after it failed"))
			require.NoError(f, f.redrive("a")[0])
			require.Equal(f, id, f.startWith(ask(f.again(), 1)).Answer.ID)
		}},
		{"a rejected answer is not given again under the same digest, and is under another", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, false, transient("did not fit"))
			c := f.calls("a")[0]
			require.Equal(f, siding.VerdictRejected, c.Verdict)
			require.Equal(f, siding.CauseSchemaMismatch, c.JudgedCause)
			d = f.again()
			other := ask(d, 1)
			other.Digest = "d2"
			require.Equal(f, id, f.startWith(other).Answer.ID)
			require.NotZero(f, f.start(ask(d, 1)))
		}},
		{"rejecting an answer and asking anew is one write", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			r := ask(d, 1)
			require.Equal(f, id, f.startWith(r).Answer.ID)
			r.Rejected = []siding.CallID{id}
			second := f.start(r)
			require.NotEqual(f, id, second)
			calls := f.calls("a")
			require.Equal(f, siding.VerdictRejected, calls[0].Verdict)
			require.Equal(f, "d1", calls[0].JudgedUnder)
			require.Equal(f, second, calls[1].ID)
		}},
		{"an accepted answer may be rejected under another digest without being forgotten", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, true, transient("later"))
			d = f.again()
			r := ask(d, 1)
			r.Digest = "d2"
			require.Equal(f, id, f.startWith(r).Answer.ID)
			r.Rejected = []siding.CallID{id}
			require.NotZero(f, f.start(r))
			require.Equal(f, id, f.startWith(ask(d, 1)).Answer.ID, "under the first digest it still serves")
		}},
		{"an answer to the same question serves although the request differs", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			r := ask(d, 1)
			r.RequestHash = siding.Hash{99}
			require.Equal(f, id, f.startWith(r).Answer.ID)
		}},
		{"another question, another message and no question at all find no answer", func(f *fixture) {
			d := f.leased("a")
			r := ask(d, 1)
			r.AskHash = siding.Hash{}
			f.asked(r, "x")
			other := ask(d, 2)
			other.AskHash = siding.Hash{}
			f.start(other)
			f.start(ask(d, 3))
			f.start(ask(f.leased("b"), 1))
		}},
		{"the same request is not sent twice before its deadline", func(f *fixture) {
			d := f.leased("a")
			f.start(ask(d, 1))
			f.fail(d, interrupted(siding.CauseShutdown))
			f.clock.Advance(time.Second)
			d = f.leaseOne()
			f.near(f.clock.Now().Add(59*time.Second), f.startWith(ask(d, 1)).BusyUntil)
			f.start(ask(d, 2)) // another request is another matter
			f.clock.Advance(58 * time.Second)
			require.False(f, f.startWith(ask(d, 1)).BusyUntil.IsZero())
			f.clock.Advance(2 * time.Second)
			out := f.startWith(ask(d, 1))
			require.NotZero(f, out.Call)
			require.Equal(f, 1, out.Unknown)
		}},
		{"a call of a dead process is unknown at once, and blocks nobody", func(f *fixture) {
			f.start(ask(f.leased("a"), 1))
			f.kill()
			c := f.calls("a")[0]
			require.Equal(f, siding.FateUnknown, c.Fate)
			require.False(f, c.EndedAt.IsZero())
			f.clock.Advance(time.Second)
			out := f.startWith(ask(f.leaseOne(), 1))
			require.NotZero(f, out.Call)
			require.Equal(f, 1, out.Unknown)
		}},
		{"calls of unknown fate are counted, and the policy decides", func(f *fixture) {
			d := f.leased("a")
			for n := range 3 {
				out := f.startWith(ask(d, 1))
				require.Equal(f, n, out.Unknown)
				f.end(siding.CallEnd{Call: out.Call, Fate: siding.FateUnknown, Failure: transient("cut off")})
			}
			r := ask(d, 1)
			r.OnUnknown = siding.UnknownQuarantine
			out := f.startWith(r)
			require.Zero(f, out.Call)
			require.Equal(f, 3, out.Unknown)
			r.RequestHash = siding.Hash{2}
			require.NotZero(f, f.start(r), "another request has none")
			require.Len(f, f.calls("a"), 4)
		}},
		{"a refused and an unsent call stand in nobody's way", func(f *fixture) {
			d := f.leased("a")
			for _, fate := range []siding.Fate{siding.FateRefused, siding.FateUnsent} {
				r := ask(d, 1)
				r.OnUnknown = siding.UnknownQuarantine
				id := f.start(r)
				f.end(siding.CallEnd{Call: id, Fate: fate, Status: 429, Failure: transient("no")})
			}
			calls := f.calls("a")
			require.Equal(f, siding.FateRefused, calls[0].Fate)
			require.Equal(f, transient("no").Stored(), calls[0].Error)
			require.Equal(f, 429, calls[0].Status)
			require.Equal(f, siding.FateUnsent, calls[1].Fate)
			require.NotZero(f, f.start(ask(d, 1)))
		}},
		{"a second end changes nothing and is no error", func(f *fixture) {
			id := f.start(ask(f.leased("a"), 1))
			f.end(answered(id, "first"))
			before := f.calls("a")
			f.clock.Advance(time.Second)
			f.end(answered(id, "second"))
			f.end(siding.CallEnd{Call: id, Fate: siding.FateUnknown})
			require.Equal(f, before, f.calls("a"))
			body, err := f.store.Answer(f.ctx, id)
			require.NoError(f, err)
			require.Equal(f, "first", string(body))
		}},
		{"an answer replaces a fate that was given up as unknown", func(f *fixture) {
			d := f.leased("a")
			id := f.start(ask(d, 1))
			f.end(siding.CallEnd{Call: id, Fate: siding.FateUnknown, Failure: transient("timeout")})
			f.end(siding.CallEnd{Call: id, Fate: siding.FateRefused})
			require.Equal(f, siding.FateUnknown, f.calls("a")[0].Fate, "only an answer does")
			f.end(answered(id, "late"))
			c := f.calls("a")[0]
			require.Equal(f, siding.FateAnswered, c.Fate)
			require.EqualValues(f, 300, c.Cost)
			require.Equal(f, id, f.startWith(ask(d, 1)).Answer.ID)
			require.Zero(f, f.stats().UnknownCalls)
		}},
		{"a call may be ended after its lease is gone, and by another process", func(f *fixture) {
			id := f.start(ask(f.leased("a"), 1))
			f.clock.Advance(2 * time.Minute)
			f.lease(0)
			require.NoError(f, f.another().EndCall(f.ctx, answered(id, "x")))
			require.Equal(f, siding.FateAnswered, f.calls("a")[0].Fate)
		}},
		{"a call may be ended after its message was discarded", func(f *fixture) {
			id := f.start(ask(f.leased("a"), 1))
			require.NoError(f, f.discard("a")[0])
			f.end(answered(id, "x"))
			require.EqualValues(f, 300, f.stats().Cost)
		}},
		{"no call starts without the lease, and nothing is judged", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			f.clock.Advance(2 * time.Minute)
			f.lease(0)
			r := ask(d, 1)
			r.Rejected = []siding.CallID{id}
			_, err := f.store.StartCall(f.ctx, r)
			require.ErrorIs(f, err, siding.ErrStaleLease)
			require.Len(f, f.calls("a"), 1)
			require.Equal(f, siding.VerdictNone, f.calls("a")[0].Verdict)
			out := f.settleWith(siding.Settlement{Token: d.Token, Judged: []siding.Judgement{{Call: id, Accepted: true}}})
			require.ErrorIs(f, out.Err, siding.ErrStaleLease)
			require.Equal(f, siding.VerdictNone, f.calls("a")[0].Verdict)
		}},
		{"a verdict on another message's answer is none", func(f *fixture) {
			d := f.leased("a")
			id := f.asked(ask(d, 1), "x")
			b := f.leased("b")
			f.judged(b, id, true, nil)
			require.Equal(f, siding.VerdictNone, f.calls("a")[0].Verdict)
			require.Equal(f, id, f.startWith(ask(d, 1)).Answer.ID)
		}},
		{"calls that nobody made are not found", func(f *fixture) {
			f.enqueue(msg("a"))
			require.Empty(f, f.calls("a"))
			require.Empty(f, f.calls("nobody"))
			require.ErrorIs(f, f.store.EndCall(f.ctx, answered(1<<40, "x")), siding.ErrNotFound)
			_, err := f.store.Answer(f.ctx, 1<<40)
			require.ErrorIs(f, err, siding.ErrNotFound)
		}},
		{"a call ends with a fate that calls can end with", func(f *fixture) {
			id := f.start(ask(f.leased("a"), 1))
			for _, fate := range []siding.Fate{"", "odd", siding.FateStarted} {
				require.Error(f, f.store.EndCall(f.ctx, siding.CallEnd{Call: id, Fate: fate}))
			}
			require.Equal(f, siding.FateStarted, f.calls("a")[0].Fate)
		}},
		{"hostile texts do not keep a call from ending", func(f *fixture) {
			d := f.leased("a")
			n := byte(0)
			for _, err := range hostileErrors() {
				n++
				r := ask(d, n)
				r.Lane = "\x00\xff"
				id := f.start(r)
				failure := &siding.Failure{Outcome: siding.OutcomeTransient, Err: errors.Join(err)}
				f.end(siding.CallEnd{Call: id, Fate: siding.FateRefused, RequestID: "\x1b\xff", Failure: failure})
			}
			for _, c := range f.calls("a") {
				f.scrubbed(c.Error.Text, siding.MaxErrorText)
				f.scrubbed(c.RequestID, siding.MaxErrorText)
				f.scrubbed(c.Lane, siding.MaxErrorText)
			}
		}},
	}
}
