package storetest

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// broken enqueues messages 00000 and so on that are set aside at once, all alike.
func (f *fixture) broken(n int) {
	f.Helper()
	for from := 0; from < n; from += 500 {
		var batch []siding.NewMessage
		for i := from; i < min(n, from+500); i++ {
			m := msg(fmt.Sprintf("%05d", i))
			m.Dead = permanent("no good")
			batch = append(batch, m)
		}
		f.enqueue(batch...)
	}
}

// selecting makes a campaign of the queue's dead letters that selects them still.
func (f *fixture) selecting(p siding.CampaignPlan) siding.CampaignID {
	f.Helper()
	p.Selection.Queue = f.queue
	c, err := f.store.CreateCampaign(f.ctx, p)
	require.NoError(f, err)
	return c.ID
}

func (f *fixture) enlistStep(id siding.CampaignID, from siding.Place, limit int) siding.Enlistment {
	f.Helper()
	e, err := f.store.Enlist(f.ctx, id, from, limit)
	require.NoError(f, err)
	return e
}

// enlistAll makes all that a campaign selects members, and gives how many were added and how many were another's.
func (f *fixture) enlistAll(id siding.CampaignID, limit int) (added, busy int64) {
	f.Helper()
	for e := (siding.Enlistment{More: true}); e.More; {
		e = f.enlistStep(id, e.Next, limit)
		added, busy = added+e.Added, busy+e.Busy
	}
	return added, busy
}

// campaign makes a campaign of all dead letters of the queue, and starts it.
func (f *fixture) campaign(p siding.CampaignPlan) siding.CampaignID {
	f.Helper()
	id := f.selecting(p)
	f.enlistAll(id, 1000)
	require.NoError(f, f.store.StartCampaign(f.ctx, id))
	return id
}

func (f *fixture) campaignIs(id siding.CampaignID, want siding.CampaignState) siding.Campaign {
	f.Helper()
	c, err := f.store.Campaign(f.ctx, id)
	require.NoError(f, err)
	require.Equal(f, want, c.State, "campaign %d", id)
	require.Equal(f, id, c.ID)
	return c
}

// counts gives a campaign's members that are pending, sent, done, same, other, unchanged, invalid, skipped and discarded.
func counts(c siding.Campaign) []int64 {
	return []int64{c.Pending, c.Sent, c.Done, c.Same, c.Other, c.Unchanged, c.Invalid, c.Skipped, c.Discarded}
}

func (f *fixture) membersOf(id siding.CampaignID, statuses ...siding.MemberStatus) []siding.CampaignMember {
	f.Helper()
	var out []siding.CampaignMember
	for m, err := range f.store.CampaignMembers(f.ctx, id, statuses...) {
		require.NoError(f, err)
		out = append(out, m)
	}
	return out
}

func (f *fixture) memberIs(id siding.CampaignID, message string, want siding.MemberStatus) siding.CampaignMember {
	f.Helper()
	for _, m := range f.membersOf(id) {
		if m.ID == message && m.Queue == f.queue {
			require.Equal(f, want, m.Status, "%s in campaign %d", message, id)
			return m
		}
	}
	f.Fatalf("%s is no member of campaign %d", message, id)
	return siding.CampaignMember{}
}

func (f *fixture) returnNext(id siding.CampaignID, limit int) int64 {
	f.Helper()
	n, err := f.store.ReturnNext(f.ctx, id, limit)
	require.NoError(f, err)
	return n
}

func (f *fixture) moved(id siding.CampaignID, moves ...siding.CampaignMove) []siding.MemberStatus {
	f.Helper()
	for i := range moves {
		if moves[i].Queue == "" {
			moves[i].Queue = f.queue
		}
	}
	out, err := f.store.ReturnMembers(f.ctx, id, moves...)
	require.NoError(f, err)
	require.Len(f, out, len(moves))
	return out
}

func (f *fixture) actOn(id siding.CampaignID, a siding.CampaignAction) siding.Campaign {
	f.Helper()
	c, err := f.store.ActOnCampaign(f.ctx, id, a, "because")
	require.NoError(f, err)
	return c
}

// sent gives a campaign of the dead letters a, b, …, all of which it has sent back.
func (f *fixture) sent(names ...string) siding.CampaignID {
	f.Helper()
	for _, name := range names {
		f.dead(name)
	}
	id := f.campaign(siding.CampaignPlan{})
	require.EqualValues(f, len(names), f.returnNext(id, 100))
	return id
}

// send is the move of a member as it is.
func send(id string) siding.CampaignMove {
	return siding.CampaignMove{Status: siding.MemberSent, Return: siding.Return{ID: id}}
}

// revisedAs gives the latest revision of a kind that a message has.
func (f *fixture) revisedAs(id string, kind siding.RevisionKind) siding.Revision {
	f.Helper()
	for _, r := range slices.Backward(f.get(id).Revisions) {
		if r.Kind == kind {
			return r
		}
	}
	f.Fatalf("%s has no revision %s", id, kind)
	return siding.Revision{}
}
