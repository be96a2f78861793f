package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// enlistCases are about who becomes a member.
func enlistCases() []testCase {
	return []testCase{
		{"a selection is enlisted step by step, and may begin again at any time", func(f *fixture) {
			f.broken(23)
			id := f.selecting(siding.CampaignPlan{})
			first := f.enlistStep(id, siding.Place{}, 10)
			require.Equal(f, []any{int64(10), true}, []any{first.Added, first.More})
			second := f.enlistStep(id, first.Next, 10)
			require.Equal(f, []any{int64(10), true}, []any{second.Added, second.More})
			added, busy := f.enlistAll(id, 4)
			require.Equal(f, []int64{3, 0}, []int64{added, busy}, "who is a member stays one")
			require.EqualValues(f, 23, f.campaignIs(id, siding.CampaignSelecting).Selected)
			require.Len(f, f.membersOf(id), 23)
			last := f.enlistStep(id, second.Next, 10)
			require.Equal(f, []any{int64(0), false}, []any{last.Added, last.More})
		}},
		{"only what the selection names becomes a member", func(f *fixture) {
			f.dead("dead")
			f.fail(f.leased("other"), permanent("something else"))
			f.done(f.leased("done"), "1")
			f.enqueue(msg("ready"))
			id := f.selecting(siding.CampaignPlan{Selection: siding.Selection{Fingerprints: []string{permanent("no good").Stored().Fingerprint}}})
			f.deadLate("late", "ready")
			added, _ := f.enlistAll(id, 100)
			require.EqualValues(f, 1, added)
			f.memberIs(id, "dead", siding.MemberPending)
		}},
		{"a message is a member of one campaign at a time, and others are told of which", func(f *fixture) {
			f.broken(4)
			first := f.selecting(siding.CampaignPlan{Selection: siding.Selection{IDs: []string{"00001", "00003"}}})
			f.enlistAll(first, 100)
			second := f.selecting(siding.CampaignPlan{})
			e := f.enlistStep(second, siding.Place{}, 100)
			require.Equal(f, []any{int64(2), int64(2), first}, []any{e.Added, e.Busy, e.Other})
			errs, err := f.store.EnlistEach(f.ctx, second, f.queue, "00000", "00001")
			require.NoError(f, err)
			require.NoError(f, errs[0])
			require.ErrorIs(f, errs[1], siding.ErrConflict)
			f.actOn(first, siding.CampaignAbort)
			added, busy := f.enlistAll(second, 1)
			require.Equal(f, []int64{2, 0}, []int64{added, busy})
		}},
		{"what has ended in a campaign may be in the next, though that one goes on", func(f *fixture) {
			f.broken(2)
			first := f.campaign(siding.CampaignPlan{Canary: 1})
			f.returnNext(first, 1)
			f.fail(f.leaseOne(), permanent("no good"))
			second := f.selecting(siding.CampaignPlan{})
			added, busy := f.enlistAll(second, 100)
			require.Equal(f, []int64{1, 1}, []int64{added, busy})
			f.memberIs(second, "00000", siding.MemberPending)
			f.memberIs(first, "00000", siding.MemberSame)
		}},
		{"one by one, each is answered for itself", func(f *fixture) {
			f.broken(2)
			f.done(f.leased("done"), "1")
			f.enqueue(msg("ready"))
			id := f.selecting(siding.CampaignPlan{Where: ".x"})
			f.deadLate("late", "ready")
			errs, err := f.store.EnlistEach(f.ctx, id, f.queue, "00001", "done", "nobody", "late", "00001", "00000")
			require.NoError(f, err)
			require.NoError(f, errs[0])
			require.ErrorIs(f, errs[1], siding.ErrWrongState)
			require.ErrorIs(f, errs[2], siding.ErrNotFound)
			require.ErrorIs(f, errs[3], siding.ErrWrongState, "it was set aside after the campaign was made")
			require.NoError(f, errs[4], "it is a member already")
			require.NoError(f, errs[5])
			require.EqualValues(f, 2, f.campaignIs(id, siding.CampaignSelecting).Pending)
			errs, err = f.store.EnlistEach(f.ctx, id, "no such queue", "00001")
			require.NoError(f, err)
			require.ErrorIs(f, errs[0], siding.ErrNotFound)
		}},
		{"a campaign that has been started takes no more", func(f *fixture) {
			f.broken(2)
			id := f.selecting(siding.CampaignPlan{})
			f.enlistStep(id, siding.Place{}, 1)
			require.Zero(f, f.returnNext(id, 1), "and one that has not sends nothing")
			require.NoError(f, f.store.StartCampaign(f.ctx, id))
			_, err := f.store.Enlist(f.ctx, id, siding.Place{}, 1)
			require.ErrorIs(f, err, siding.ErrWrongState)
			_, err = f.store.EnlistEach(f.ctx, id, f.queue, "00001")
			require.ErrorIs(f, err, siding.ErrWrongState)
			require.EqualValues(f, 1, f.campaignIs(id, siding.CampaignRunning).Selected)
		}},
		{"every part of a selection narrows it", func(f *fixture) {
			begin := f.clock.Now()
			f.broken(1)
			f.clock.Advance(10)
			in := f.input("key", "member")
			f.fail(f.leaseOne(), &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseTimeout, Reason: siding.ReasonUnknownCall})
			for name, one := range map[string]struct {
				s    siding.Selection
				want []string
			}{
				"everything": {siding.Selection{}, []string{"00000", "member"}},
				"id":         {siding.Selection{IDs: []string{"member", "nobody"}}, []string{"member"}},
				"cause":      {siding.Selection{Causes: []siding.Cause{siding.CauseTimeout}}, []string{"member"}},
				"reason":     {siding.Selection{Reasons: []siding.Reason{siding.ReasonPoison}}, []string{"00000"}},
				"since":      {siding.Selection{Since: begin.Add(-1)}, []string{"00000", "member"}},
				"until":      {siding.Selection{Until: begin}, nil},
				"input":      {siding.Selection{Input: in}, []string{"member"}},
				"states":     {siding.Selection{States: []siding.State{siding.StateReady}}, []string{"00000", "member"}},
			} {
				id := f.selecting(siding.CampaignPlan{Selection: one.s})
				f.enlistAll(id, 1)
				var got []string
				for _, m := range f.membersOf(id) {
					got = append(got, m.ID)
				}
				require.Equal(f, one.want, got, name)
				f.actOn(id, siding.CampaignAbort)
			}
		}},
		{"one row that cannot be read stops no campaign", func(f *fixture) {
			if f.data.Corrupt == nil {
				f.Log("nothing in this store can become unreadable by itself")
				return
			}
			f.damage = true
			f.broken(6)
			id := f.selecting(siding.CampaignPlan{})
			f.data.Corrupt(f.T, f.queue, "00002")
			f.enlistAll(id, 2)
			require.NoError(f, f.store.StartCampaign(f.ctx, id))
			f.data.Corrupt(f.T, f.queue, "00004")
			got, err := f.store.NextMembers(f.ctx, id, 100)
			require.NoError(f, err)
			for _, m := range got {
				require.Equal(f, m.ID == "00002" || m.ID == "00004", m.Message == nil, m.ID)
			}
			f.moved(id, send("00004"))
			f.returnNext(id, 2)
			f.returnNext(id, 100)
			require.Len(f, f.membersOf(id, siding.MemberSent), 4)
			for _, d := range f.lease(10) {
				f.done(d, "1")
			}
			c := f.campaignIs(id, siding.CampaignFinished)
			require.EqualValues(f, 4, c.Done)
		}},
	}
}

// deadLate sets messages aside: one that is ready already, and one that is new.
func (f *fixture) deadLate(fresh, ready string) {
	f.Helper()
	f.enqueue(msg(fresh))
	for _, d := range f.lease(2) {
		require.Contains(f, []string{fresh, ready}, d.ID)
		f.fail(d, permanent("no good"))
	}
}
