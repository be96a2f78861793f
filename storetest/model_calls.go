package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func (m *model) call() pair[siding.CallID] {
	if len(m.calls) == 0 {
		m.Skip("no call was made yet")
	}
	last := len(m.calls) - 1
	return m.calls[last-rapid.IntRange(0, min(last, 4)).Draw(m.T, "call")]
}

func (m *model) startCall(*rapid.T) {
	d := m.delivery()
	r := siding.CallRequest{
		RequestHash: siding.Hash{byte(rapid.IntRange(1, 2).Draw(m.T, "request"))}, Lane: "lane",
		Digest: rapid.SampledFrom([]string{"d1", "d2"}).Draw(m.T, "digest"), Deadline: 7 * time.Second, WorstCost: 1000,
		Priced:    rapid.Bool().Draw(m.T, "priced"),
		OnUnknown: rapid.SampledFrom([]siding.OnUnknown{siding.UnknownResend, siding.UnknownQuarantine}).Draw(m.T, "on unknown"),
	}
	if rapid.Bool().Draw(m.T, "asks the one question") {
		r.AskHash = siding.Hash{9}
	}
	sut, ref := r, r
	sut.Token, ref.Token = d.sut.Token, d.ref.Token
	for {
		got, gotErr := m.f.store.StartCall(m.ctx, sut)
		want, wantErr := m.ref.StartCall(m.ctx, ref)
		require.Equal(m, outcome(wantErr), outcome(gotErr))
		require.Equal(m, want.Call != 0, got.Call != 0)
		if want.Answer == nil && want.BusyUntil.IsZero() {
			require.Equal(m, want.Unknown, got.Unknown)
		}
		require.Equal(m, want.BusyUntil.IsZero(), got.BusyUntil.IsZero())
		require.Equal(m, want.Answer != nil, got.Answer != nil)
		switch {
		case want.Call != 0:
			m.calls = append(m.calls, pair[siding.CallID]{got.Call, want.Call})
		case !want.BusyUntil.IsZero():
			m.sameTime(want.BusyUntil, got.BusyUntil, "BusyUntil")
		case want.Answer != nil:
			// Which of several answers comes first is the store's choice: both are made to reject the same one. It must be
			// one that the other store would give too, now or after its own.
			require.Equal(m, string(got.Body), string(m.answerOf(got.Answer.ID)))
			if rapid.Bool().Draw(m.T, "rejects") {
				sut.Rejected = append(sut.Rejected, got.Answer.ID)
				ref.Rejected = append(ref.Rejected, m.refCall(got.Answer.ID))
				continue
			}
		}
		return
	}
}

func (m *model) answerOf(id siding.CallID) []byte {
	body, err := m.ref.Answer(m.ctx, m.refCall(id))
	require.NoError(m, err)
	return body
}

// refCall gives the number in the reference store of a call of the store under test.
func (m *model) refCall(id siding.CallID) siding.CallID {
	for _, c := range m.calls {
		if c.sut == id {
			return c.ref
		}
	}
	m.Fatalf("the store under test gives the call %d, which was never started", id)
	return 0
}

func (m *model) endCall(*rapid.T) {
	c := m.call()
	e := siding.CallEnd{
		Fate:   rapid.SampledFrom(siding.Fates()[1:]).Draw(m.T, "fate"),
		Status: 200, RequestID: "req", Usage: siding.Usage{Input: 3, Output: 4},
	}
	if e.Fate == siding.FateAnswered {
		e.Answer, e.Cost, e.Priced = fmt.Append(nil, "answer ", c.ref), 100, rapid.Bool().Draw(m.T, "priced")
	} else {
		e.Usage, e.Failure = siding.Usage{}, transient("no")
	}
	e.Call = c.sut
	require.NoError(m, m.f.store.EndCall(m.ctx, e))
	e.Call = c.ref
	require.NoError(m, m.ref.EndCall(m.ctx, e))
}
