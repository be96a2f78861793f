package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func campaignCases() []testCase {
	return []testCase{
		{"a canary of 10 of 10,000 in which all fail stops the campaign with 10 spent, and says why", func(f *fixture) {
			f.broken(10_000)
			id := f.campaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9})
			require.EqualValues(f, 10, f.returnNext(id, 1000))
			require.Zero(f, f.returnNext(id, 1000), "it waits for the canary")
			for _, d := range f.lease(100) {
				f.fail(d, permanent("no good"))
			}
			c := f.campaignIs(id, siding.CampaignStopped)
			require.Contains(f, c.Why, "the canary")
			require.Equal(f, []int64{9990, 0, 0, 10, 0, 0, 0, 0, 0}, counts(c))
			require.EqualValues(f, 10_000, c.Selected)
			require.Zero(f, f.returnNext(id, 1000))
			st := f.stats()
			require.EqualValues(f, []int64{0, 10_000}, []int64{st.Ready, st.Dead})
			untouched := 0
			for _, l := range f.list(siding.Selection{Queue: f.queue}) {
				if l.Redrives == 0 && l.Deliveries == 0 {
					untouched++
				}
			}
			require.Equal(f, 9990, untouched)
			f.actOn(id, siding.CampaignAbort)
		}},
		{"a campaign sends its stages, each after the one before has ended, and finishes", func(f *fixture) {
			f.broken(120)
			id := f.campaign(siding.CampaignPlan{Canary: 3, Ramp: []int64{20}, MinSuccess: 0.6})
			var sizes []int64
			for range 20 {
				n := f.returnNext(id, 1000)
				if n == 0 {
					break
				}
				sizes = append(sizes, n)
				for i, d := range f.lease(1000) {
					if i%4 == 3 {
						f.fail(d, permanent("something else"))
					} else {
						f.done(d, "1")
					}
				}
			}
			require.Equal(f, []int64{3, 20, 20, 20, 20, 20, 17}, sizes)
			c := f.campaignIs(id, siding.CampaignFinished)
			require.EqualValues(f, 120, c.Done+c.Other)
			require.EqualValues(f, 29, c.Other)
			require.Len(f, f.membersOf(id, siding.MemberOther), 29)
			require.Len(f, f.membersOf(id, siding.MemberOther, siding.MemberDone), 120)
		}},
		{"what is sent keeps its ID and history, and is redriven", func(f *fixture) {
			id := f.sent("a")
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, []int{0, 1}, []int{r.Attempt, r.Redrives})
			require.Nil(f, r.LastError)
			require.Equal(f, id, f.revisedAs("a", siding.RevisionRedriven).Campaign)
			require.Len(f, r.History, 1)
			d := f.leaseOne()
			require.Equal(f, 2, d.Number)
			require.Equal(f, msg("a").Body, d.Body)
			f.done(d, "1")
		}},
		{"a member may be sent repaired, and what it was stays in the history", func(f *fixture) {
			f.dead("a")
			f.dead("b")
			id := f.campaign(siding.CampaignPlan{Repairs: []string{"strip-control"}})
			got := f.moved(id, siding.CampaignMove{Status: siding.MemberSent, Return: siding.Return{
				ID: "a", From: sha256.Sum256(msg("a").Body), Body: []byte(`{"mended":true}`), Headers: map[string]string{"h": "1"}, Note: "strip-control",
			}}, siding.CampaignMove{Status: siding.MemberUnchanged, Return: siding.Return{ID: "b"}, Text: "nothing to mend\x00"})
			require.Equal(f, []siding.MemberStatus{siding.MemberSent, siding.MemberUnchanged}, got)
			require.Equal(f, "strip-control", f.memberIs(id, "a", siding.MemberSent).Text)
			require.NotContains(f, f.memberIs(id, "b", siding.MemberUnchanged).Text, "\x00")
			f.stateIs("b", siding.StateDead)
			d := f.leaseOne()
			require.Equal(f, []any{"a", `{"mended":true}`, map[string]string{"h": "1"}}, []any{d.ID, string(d.Body), d.Headers})
			repaired := f.revisedAs("a", siding.RevisionRepaired)
			require.Equal(f, msg("a").Body, repaired.Body)
			require.Equal(f, id, repaired.Campaign)
			f.done(d, "1")
			f.campaignIs(id, siding.CampaignFinished)
		}},
		{"members come in the order of the listing, with their bodies, and no more than may be sent", func(f *fixture) {
			f.broken(30)
			id := f.campaign(siding.CampaignPlan{Canary: 7, MinSuccess: 0.9})
			got, err := f.store.NextMembers(f.ctx, id, 100)
			require.NoError(f, err)
			require.Len(f, got, 7)
			for i, m := range got {
				require.Equal(f, fmt.Sprintf("%05d", i), m.ID)
				require.Equal(f, []any{f.queue, siding.MemberPending}, []any{m.Queue, m.Status})
				require.Equal(f, permanent("no good").Stored().Fingerprint, m.Fingerprint)
				require.Equal(f, msg(m.ID).Body, m.Message.Body)
				require.Equal(f, siding.StateDead, m.Message.State)
				require.Equal(f, f.queue, m.Message.Queue)
				require.NotNil(f, m.Message.LastError)
			}
			got, err = f.store.NextMembers(f.ctx, id, 3)
			require.NoError(f, err)
			require.Len(f, got, 3)
			for i, m := range f.membersOf(id) {
				require.Equal(f, fmt.Sprintf("%05d", i), m.ID)
				require.Nil(f, m.Message)
			}
		}},
		{"large bodies come a few at a time", func(f *fixture) {
			for i := range 5 {
				f.enqueue(siding.NewMessage{ID: fmt.Sprint(i), Body: make([]byte, siding.MaxMemberBytes/2), Dead: permanent("no good")})
			}
			id := f.campaign(siding.CampaignPlan{})
			got, err := f.store.NextMembers(f.ctx, id, 100)
			require.NoError(f, err)
			require.Len(f, got, 2)
		}},
		{"what is decided beyond the allowance stays pending, and what is decided twice is done once", func(f *fixture) {
			f.broken(6)
			id := f.campaign(siding.CampaignPlan{Canary: 2, MinSuccess: 0.9})
			got := f.moved(id, send("00000"), send("00001"), send("00000"), send("00002"), send("nobody"))
			require.Equal(f, []siding.MemberStatus{siding.MemberSent, siding.MemberSent, siding.MemberSent, siding.MemberPending, ""}, got)
			require.Equal(f, 1, f.get("00000").Redrives)
			f.stateIs("00002", siding.StateDead)
			_, err := f.store.ReturnMembers(f.ctx, id, siding.CampaignMove{Queue: f.queue, Status: siding.MemberDone, Return: siding.Return{ID: "00003"}})
			require.Error(f, err)
		}},
		{"the rate is kept by the store's clock", func(f *fixture) {
			f.broken(25)
			id := f.campaign(siding.CampaignPlan{Rate: 5})
			require.EqualValues(f, 5, f.returnNext(id, 100))
			require.Zero(f, f.returnNext(id, 100))
			f.clock.Advance(1500 * time.Millisecond)
			require.EqualValues(f, 5, f.returnNext(id, 100))
			f.clock.Advance(time.Hour)
			require.EqualValues(f, 5, f.returnNext(id, 100), "a rest saves nothing up")
			f.clock.Advance(590 * time.Millisecond)
			got, err := f.store.NextMembers(f.ctx, id, 100)
			require.NoError(f, err)
			require.Len(f, got, 2)
		}},
		{"what was sent back, changed or given up by another way before its turn is skipped", func(f *fixture) {
			for _, name := range []string{"redriven", "relapsed", "superseded", "discarded", "changed", "left"} {
				f.dead(name)
			}
			id := f.campaign(siding.CampaignPlan{})
			f.redrive("redriven")
			f.redrive("relapsed")
			for _, d := range f.lease(2) {
				if d.ID == "relapsed" {
					f.fail(d, permanent("no good"))
				} else {
					f.done(d, "1")
				}
			}
			again := siding.EnqueueOptions{Supersede: true}
			f.enqueueWith(again, siding.NewMessage{ID: "superseded", Body: []byte("2")})
			f.fail(f.leaseOne(), permanent("no good"))
			f.discard("discarded")
			wrong := send("changed")
			wrong.Return.From = sha256.Sum256([]byte("another body"))
			require.Equal(f, siding.MemberSkipped, f.moved(id, wrong)[0])
			require.EqualValues(f, 5, f.returnNext(id, 100))
			c := f.campaignIs(id, siding.CampaignRunning)
			require.Equal(f, []int64{0, 1, 0, 0, 0, 0, 0, 5, 0}, counts(c))
			for _, m := range f.membersOf(id, siding.MemberSkipped) {
				require.NotEmpty(f, m.Text, m.ID)
			}
			require.Equal(f, 1, f.get("relapsed").Redrives)
			f.done(f.leaseOne(), "1")
			f.campaignIs(id, siding.CampaignFinished)
		}},
		{"a paused campaign sends nothing, and counts what it had sent", func(f *fixture) {
			f.broken(5)
			id := f.campaign(siding.CampaignPlan{Canary: 2, MinSuccess: 0.5})
			f.returnNext(id, 100)
			f.actOn(id, siding.CampaignPause)
			for _, d := range f.lease(2) {
				f.done(d, "1")
			}
			c := f.campaignIs(id, siding.CampaignPaused)
			require.Equal(f, []int64{3, 0, 2, 0, 0, 0, 0, 0, 0}, counts(c))
			require.Equal(f, "because", c.Why)
			require.Zero(f, f.returnNext(id, 100))
			require.Equal(f, []siding.MemberStatus{siding.MemberPending}, f.moved(id, send("00002")))
			got, err := f.store.NextMembers(f.ctx, id, 100)
			require.NoError(f, err)
			require.Empty(f, got)
			f.actOn(id, siding.CampaignResume)
			require.EqualValues(f, 3, f.returnNext(id, 100))
		}},
		{"an aborted campaign frees what it has not sent, and counts what it has", func(f *fixture) {
			f.broken(5)
			id := f.campaign(siding.CampaignPlan{Canary: 2, MinSuccess: 0.5})
			f.returnNext(id, 100)
			f.actOn(id, siding.CampaignAbort)
			next := f.campaign(siding.CampaignPlan{})
			require.EqualValues(f, 3, f.campaignIs(next, siding.CampaignRunning).Selected)
			require.EqualValues(f, 3, f.returnNext(next, 100))
			for _, d := range f.lease(5) {
				f.done(d, "1")
			}
			require.Equal(f, []int64{3, 0, 2, 0, 0, 0, 0, 0, 0}, counts(f.campaignIs(id, siding.CampaignAborted)))
			require.EqualValues(f, 3, f.campaignIs(next, siding.CampaignFinished).Done)
		}},
		{"after a stop the canary comes again, with those that are pending", func(f *fixture) {
			f.broken(20)
			id := f.campaign(siding.CampaignPlan{Canary: 4, MinSuccess: 1})
			f.returnNext(id, 100)
			ds := f.lease(4)
			f.fail(ds[0], permanent("no good"))
			f.campaignIs(id, siding.CampaignStopped)
			f.actOn(id, siding.CampaignResume)
			require.EqualValues(f, 4, f.returnNext(id, 100))
			for _, d := range ds[1:] { // of the stage that was stopped
				f.fail(d, permanent("no good"))
			}
			f.campaignIs(id, siding.CampaignRunning)
			for _, d := range f.lease(4) {
				f.done(d, "1")
			}
			c := f.campaignIs(id, siding.CampaignRunning)
			require.Equal(f, []int64{12, 0, 4, 4, 0, 0, 0, 0, 0}, counts(c))
			require.EqualValues(f, 12, f.returnNext(id, 100))
		}},
		{"an action that a state does not allow changes nothing", func(f *fixture) {
			id := f.campaign(siding.CampaignPlan{})
			before := f.campaignIs(id, siding.CampaignFinished)
			for _, a := range []siding.CampaignAction{siding.CampaignPause, siding.CampaignResume, siding.CampaignAbort} {
				_, err := f.store.ActOnCampaign(f.ctx, id, a, "because")
				require.ErrorIs(f, err, siding.ErrWrongState)
			}
			require.NoError(f, f.store.StartCampaign(f.ctx, id), "it has been started")
			require.Equal(f, before, f.campaignIs(id, siding.CampaignFinished))
		}},
		{"what operators do with a campaign is in the audit trail, with who and why", func(f *fixture) {
			f.broken(2)
			ctx := siding.WithAct(f.ctx, siding.Act{By: "me", Text: "siding redrive"})
			c, err := f.store.CreateCampaign(ctx, siding.CampaignPlan{Selection: siding.Selection{Queue: f.queue}})
			require.NoError(f, err)
			require.NoError(f, f.store.StartCampaign(f.ctx, c.ID))
			_, err = f.store.ActOnCampaign(ctx, c.ID, siding.CampaignPause, "too early")
			require.ErrorIs(f, err, siding.ErrWrongState, "it has finished: nothing was selected")
			id := f.campaign(siding.CampaignPlan{})
			_, err = f.store.ActOnCampaign(ctx, id, siding.CampaignPause, "lunch\x1b")
			require.NoError(f, err)
			var got []siding.AuditEntry
			for e, err := range f.store.Audit(f.ctx, siding.AuditOptions{Queue: f.queue, Actions: []siding.Action{siding.ActionCampaign}}) {
				require.NoError(f, err)
				got = append(got, e)
			}
			require.Len(f, got, 3)
			require.Equal(f, []string{"me", "", "me"}, []string{got[0].Act.By, got[1].Act.By, got[2].Act.By})
			require.Contains(f, got[0].Detail, fmt.Sprintf("campaign %d paused: lunch", id))
			require.NotContains(f, got[0].Detail, "\x1b")
			require.Contains(f, got[2].Detail, fmt.Sprintf("campaign %d made", c.ID))
		}},
		{"nobody's campaign is not found", func(f *fixture) {
			const nobody = siding.CampaignID(math.MaxInt32)
			_, err := f.store.Campaign(f.ctx, nobody)
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.Enlist(f.ctx, nobody, siding.Place{}, 1)
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.EnlistEach(f.ctx, nobody, f.queue, "a")
			require.ErrorIs(f, err, siding.ErrNotFound)
			require.ErrorIs(f, f.store.StartCampaign(f.ctx, nobody), siding.ErrNotFound)
			_, err = f.store.NextMembers(f.ctx, nobody, 1)
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.ReturnMembers(f.ctx, nobody, send("a"))
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.ReturnNext(f.ctx, nobody, 1)
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.ActOnCampaign(f.ctx, nobody, siding.CampaignAbort, "")
			require.ErrorIs(f, err, siding.ErrNotFound)
			for _, err := range f.store.CampaignMembers(f.ctx, nobody) {
				require.ErrorIs(f, err, siding.ErrNotFound)
			}
		}},
		{"a plan that cannot be carried out makes no campaign", func(f *fixture) {
			before, err := f.store.Campaigns(f.ctx)
			require.NoError(f, err)
			_, err = f.store.CreateCampaign(f.ctx, siding.CampaignPlan{Canary: -1})
			require.ErrorContains(f, err, "canary")
			after, err := f.store.Campaigns(f.ctx)
			require.NoError(f, err)
			require.Equal(f, before, after)
		}},
		{"campaigns are given with their plans, the latest first, by state where asked", func(f *fixture) {
			f.dead("a")
			p := siding.CampaignPlan{
				Selection: siding.Selection{Queue: f.queue, Causes: []siding.Cause{siding.CauseInvalidRequest}}, Where: ".body.x",
				Repairs: []string{"strip-control"}, Recipe: "recipe.yaml", Canary: 5, Ramp: []int64{7}, MinSuccess: 0.5, Rate: 3,
			}
			ctx := siding.WithAct(f.ctx, siding.Act{By: "me", Text: "siding redrive"})
			made, err := f.store.CreateCampaign(ctx, p)
			require.NoError(f, err)
			require.Equal(f, "me", made.By)
			got := f.campaignIs(made.ID, siding.CampaignSelecting)
			require.Equal(f, made, got)
			require.Equal(f, got.CreatedAt, got.Plan.Selection.Until)
			p.Selection.States, p.Selection.Until = []siding.State{siding.StateDead}, got.Plan.Selection.Until
			require.Equal(f, p, got.Plan)

			other := f.campaign(siding.CampaignPlan{Selection: siding.Selection{IDs: []string{"nobody"}}})
			all, err := f.store.Campaigns(f.ctx)
			require.NoError(f, err)
			require.Equal(f, []siding.CampaignID{other, made.ID}, []siding.CampaignID{all[0].ID, all[1].ID})
			some, err := f.store.Campaigns(f.ctx, siding.CampaignSelecting, siding.CampaignPaused)
			require.NoError(f, err)
			require.Equal(f, got, some[0])
		}},
		{"a cancelled context stops a walk over members", func(f *fixture) {
			f.broken(3)
			id := f.campaign(siding.CampaignPlan{})
			ctx, cancel := context.WithCancel(f.ctx)
			n := 0
			for _, err := range f.store.CampaignMembers(ctx, id) {
				if n++; err != nil {
					require.ErrorIs(f, err, context.Canceled)
					break
				}
				cancel()
			}
			require.LessOrEqual(f, n, 3)
			cancel()
		}},
	}
}
