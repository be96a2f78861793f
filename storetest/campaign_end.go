package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// campaignEndCases are the ways in which a message that was sent ends: each is recorded by the write that ends it.
func campaignEndCases() []testCase {
	ends := func(id siding.CampaignID, want siding.MemberStatus) func(f *fixture) {
		return func(f *fixture) {
			f.memberIs(id, "a", want)
			c := f.campaignIs(id, siding.CampaignFinished)
			require.EqualValues(f, 1, *c.Count(want))
		}
	}
	return []testCase{
		{"done", func(f *fixture) {
			id := f.sent("a")
			f.done(f.leaseOne(), "1")
			ends(id, siding.MemberDone)(f)
		}},
		{"set aside with the same fingerprint", func(f *fixture) {
			id := f.sent("a")
			f.fail(f.leaseOne(), permanent("no good"))
			ends(id, siding.MemberSame)(f)
		}},
		{"set aside with another fingerprint", func(f *fixture) {
			id := f.sent("a")
			f.fail(f.leaseOne(), permanent("something else"))
			ends(id, siding.MemberOther)(f)
		}},
		{"set aside after its attempts, and not before", func(f *fixture) {
			f.policy.MaxRetries = 1
			id := f.sent("a")
			f.fail(f.leaseOne(), transient("no"))
			f.memberIs(id, "a", siding.MemberSent)
			f.clock.Advance(time.Minute)
			f.fail(f.leaseOne(), transient("no"))
			ends(id, siding.MemberOther)(f)
		}},
		{"held and tried again, it has not ended", func(f *fixture) {
			id := f.sent("a")
			f.fail(f.leaseOne(), &siding.Failure{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited})
			f.memberIs(id, "a", siding.MemberSent)
			f.clock.Advance(time.Hour)
			f.done(f.leaseOne(), "1")
			ends(id, siding.MemberDone)(f)
		}},
		{"discarded while it is ready", func(f *fixture) {
			id := f.sent("a")
			f.discard("a")
			ends(id, siding.MemberDiscarded)(f)
		}},
		{"discarded while it is leased, and the late settlement changes nothing", func(f *fixture) {
			id := f.sent("a")
			d := f.leaseOne()
			f.discard("a")
			f.stale(d)
			ends(id, siding.MemberDiscarded)(f)
		}},
		{"expired", func(f *fixture) {
			m := msg("a")
			m.ExpiresAt = f.clock.Now().Add(time.Hour)
			f.enqueue(m)
			f.fail(f.leaseOne(), permanent("no good"))
			id := f.campaign(siding.CampaignPlan{})
			f.returnNext(id, 1)
			f.clock.Advance(2 * time.Hour)
			require.Empty(f, f.lease(1))
			ends(id, siding.MemberOther)(f)
		}},
		{"lost its lease once too often", func(f *fixture) {
			id := f.sent("a")
			for range f.policy.MaxInterruptions + 1 {
				f.lease(1)
				f.clock.Advance(time.Hour)
				f.lease(0)
				f.clock.Advance(time.Hour)
			}
			f.stateIs("a", siding.StateDead)
			ends(id, siding.MemberOther)(f)
		}},
		{"superseded, it stays sent, and the end of the new body counts", func(f *fixture) {
			id := f.sent("a")
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "a", Body: []byte("2")})
			f.memberIs(id, "a", siding.MemberSent)
			f.done(f.leaseOne(), "1")
			ends(id, siding.MemberDone)(f)
		}},
		{"superseded by a body that is set aside at once", func(f *fixture) {
			id := f.sent("a")
			n := siding.NewMessage{ID: "a", Body: []byte("2"), Dead: permanent("broken")}
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, n)
			ends(id, siding.MemberOther)(f)
		}},
		{"superseded while it is leased, the end of the delivery counts", func(f *fixture) {
			id := f.sent("a")
			d := f.leaseOne()
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "a", Body: []byte("2")})
			f.memberIs(id, "a", siding.MemberSent)
			f.done(d, "1")
			f.stateIs("a", siding.StateReady)
			ends(id, siding.MemberDone)(f)
			f.done(f.leaseOne(), "2")
			ends(id, siding.MemberDone)(f)
		}},
		{"an end counts once: what happens to the message afterwards is not the campaign's", func(f *fixture) {
			id := f.sent("a")
			f.fail(f.leaseOne(), permanent("no good"))
			f.redrive("a")
			f.done(f.leaseOne(), "1")
			ends(id, siding.MemberSame)(f)
		}},
		{"an end concerns only the campaign that sent the message last", func(f *fixture) {
			first := f.sent("a")
			f.fail(f.leaseOne(), permanent("no good"))
			second := f.campaign(siding.CampaignPlan{})
			f.returnNext(second, 1)
			f.done(f.leaseOne(), "1")
			ends(first, siding.MemberSame)(f)
			ends(second, siding.MemberDone)(f)
		}},
		{"a message that was redriven by hand ends in no campaign", func(f *fixture) {
			f.broken(2)
			id := f.campaign(siding.CampaignPlan{Canary: 1})
			f.redrive("00001")
			f.fail(f.leaseOne(), permanent("no good"))
			require.Equal(f, []int64{2, 0, 0, 0, 0, 0, 0, 0, 0}, counts(f.campaignIs(id, siding.CampaignRunning)))
		}},
		{"what was sent before its worker died is sent once, and ends once", func(f *fixture) {
			if f.data.Kill == nil {
				f.Skip("this store's harness cannot kill a process")
			}
			id := f.sent("a", "b")
			f.leaseOneOf("a")
			f.kill()
			f.memberIs(id, "a", siding.MemberSent)
			f.clock.Advance(time.Hour)
			for range 2 {
				f.done(f.lease(1)[0], "1")
			}
			require.EqualValues(f, 2, f.campaignIs(id, siding.CampaignFinished).Done)
			require.Equal(f, 1, f.get("a").Redrives)
		}},
	}
}

// leaseOneOf leases a message, which comes first.
func (f *fixture) leaseOneOf(id string) {
	f.Helper()
	ds := f.lease(1)
	require.Len(f, ds, 1)
	require.Equal(f, id, ds[0].ID)
}
