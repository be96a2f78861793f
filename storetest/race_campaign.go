package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func campaignRaceCases() []testCase {
	// lease counts how often each message is handed over, and settles it.
	worked := func(f *fixture) map[string]int {
		out := map[string]int{}
		for ds := f.lease(100); len(ds) > 0; ds = f.lease(100) {
			for _, d := range ds {
				out[d.ID]++
				f.done(d, "1")
			}
		}
		return out
	}
	once := func(f *fixture, got map[string]int, n int) {
		require.Len(f, got, n)
		for id, times := range got {
			require.Equal(f, 1, times, id)
		}
	}
	return []testCase{
		{"a campaign and a redrive of the same messages send each once", func(f *fixture) {
			const n = 40
			f.broken(n)
			id := f.campaign(siding.CampaignPlan{})
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				if i%2 == 0 {
					for {
						k, err := s.ReturnNext(f.ctx, id, 3)
						if err != nil || k == 0 {
							return struct{}{}, err
						}
					}
				}
				for k := range n {
					if _, err := s.Redrive(f.ctx, f.queue, fmt.Sprintf("%05d", k)); err != nil {
						return struct{}{}, err
					}
				}
				return struct{}{}, nil
			})
			for k := range n {
				require.Equal(f, 1, f.get(fmt.Sprintf("%05d", k)).Redrives)
			}
			once(f, worked(f), n)
			c := f.campaignIs(id, siding.CampaignFinished)
			require.EqualValues(f, n, c.Done+c.Skipped)
		}},
		{"two that drive a campaign send each member once, and keep to the canary", func(f *fixture) {
			const n = 50
			f.broken(n)
			id := f.campaign(siding.CampaignPlan{Canary: 10, MinSuccess: 1})
			drive := func(s siding.Store, i int) (sent int, err error) {
				for {
					got, err := s.NextMembers(f.ctx, id, 4)
					if err != nil || len(got) == 0 {
						return sent, err
					}
					if i%2 == 0 { // as they are
						if _, err := s.ReturnNext(f.ctx, id, 4); err != nil {
							return sent, err
						}
						continue
					}
					var moves []siding.CampaignMove
					for _, m := range got {
						moves = append(moves, siding.CampaignMove{Queue: m.Queue, Status: siding.MemberSent, Return: siding.Return{
							ID: m.ID, Body: []byte(`{"mended":true}`), Note: "mended",
						}})
					}
					if _, err := s.ReturnMembers(f.ctx, id, moves...); err != nil {
						return sent, err
					}
				}
			}
			for round := range 3 {
				contest(f, drive)
				want := []int64{10, 40, 0}[round]
				require.Equal(f, want, f.campaignIs(id, []siding.CampaignState{
					siding.CampaignRunning, siding.CampaignRunning, siding.CampaignFinished,
				}[round]).Sent)
				once(f, worked(f), int(want))
			}
			require.EqualValues(f, n, f.campaignIs(id, siding.CampaignFinished).Done)
		}},
		{"a dead letter that two campaigns want becomes a member of one", func(f *fixture) {
			f.broken(20)
			ids := [contestants]siding.CampaignID{}
			for i := range ids {
				ids[i] = f.selecting(siding.CampaignPlan{})
			}
			contest(f, func(s siding.Store, i int) (int64, error) {
				if i%2 == 0 {
					var added int64
					for e := (siding.Enlistment{More: true}); e.More; {
						var err error
						if e, err = s.Enlist(f.ctx, ids[i], e.Next, 3); err != nil {
							return added, err
						}
						added += e.Added
					}
					return added, nil
				}
				var names []string
				for k := range 20 {
					names = append(names, fmt.Sprintf("%05d", k))
				}
				_, err := s.EnlistEach(f.ctx, ids[i], f.queue, names...)
				return 0, err
			})
			members := map[string]int{}
			for _, id := range ids {
				for _, m := range f.membersOf(id) {
					members[m.ID]++
				}
			}
			once(f, members, 20)
		}},
		{"a campaign that is paused at the same moment sends nothing after it", func(f *fixture) {
			f.broken(30)
			id := f.campaign(siding.CampaignPlan{})
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				if i == 0 {
					_, err := s.ActOnCampaign(f.ctx, id, siding.CampaignPause, "now")
					return struct{}{}, err
				}
				_, err := s.ReturnNext(f.ctx, id, 2)
				return struct{}{}, err
			})
			c := f.campaignIs(id, siding.CampaignPaused)
			require.EqualValues(f, 30, c.Sent+c.Pending)
			require.Len(f, worked(f), int(c.Sent))
		}},
		{"with everything at once, each campaign counts what became of its members", func(f *fixture) {
			storm(f, siding.GateKeys{}, meddleWithCampaigns)
		}},
		{"one of many actions on a campaign is carried out", func(f *fixture) {
			f.broken(3)
			id := f.campaign(siding.CampaignPlan{})
			got := contest(f, func(s siding.Store, _ int) (string, error) {
				_, err := s.ActOnCampaign(f.ctx, id, siding.CampaignPause, "now")
				if err != nil && !errors.Is(err, siding.ErrWrongState) {
					return "", err
				}
				return outcome(err), nil
			})
			require.Equal(f, map[string]int{"won": 1, lostState: contestants - 1}, tally(got))
		}},
	}
}

// meddleWithCampaigns makes campaigns of what is dead, drives them on, and does to them what operators do.
func meddleWithCampaigns(f *fixture, s siding.Store, rnd *rand.Rand) error {
	all, err := s.Campaigns(f.ctx, siding.CampaignSelecting, siding.CampaignRunning, siding.CampaignPaused, siding.CampaignStopped)
	if err != nil {
		return err
	}
	var mine []siding.CampaignID
	for _, c := range all {
		if c.Plan.Selection.Queue == f.queue {
			mine = append(mine, c.ID)
		}
	}
	if len(mine) < 3 {
		c, err := s.CreateCampaign(f.ctx, siding.CampaignPlan{
			Selection: siding.Selection{Queue: f.queue}, Canary: int64(rnd.IntN(4)), MinSuccess: float64(rnd.IntN(3)) / 2,
		})
		if err != nil {
			return err
		}
		mine = append(mine, c.ID)
	}
	id := mine[rnd.IntN(len(mine))]
	switch rnd.IntN(10) {
	case 0, 1:
		_, err = s.Enlist(f.ctx, id, siding.Place{}, 1+rnd.IntN(20))
	case 2:
		_, err = s.EnlistEach(f.ctx, id, f.queue, fmt.Sprint(rnd.IntN(60)), fmt.Sprint(rnd.IntN(60)))
	case 3:
		err = s.StartCampaign(f.ctx, id)
	case 4, 5:
		_, err = s.ReturnNext(f.ctx, id, 1+rnd.IntN(5))
	case 6, 7:
		err = meddleWithMembers(f, s, id, rnd)
	case 8:
		actions := []siding.CampaignAction{siding.CampaignPause, siding.CampaignResume, siding.CampaignResume, siding.CampaignAbort}
		_, err = s.ActOnCampaign(f.ctx, id, actions[rnd.IntN(len(actions))], "a whim")
	case 9:
		if rnd.IntN(10) == 0 {
			_, err = s.Discard(f.ctx, f.queue, "a whim", fmt.Sprint(rnd.IntN(60)))
		}
	}
	if errors.Is(err, siding.ErrWrongState) {
		return nil
	}
	return err
}

func meddleWithMembers(f *fixture, s siding.Store, id siding.CampaignID, rnd *rand.Rand) error {
	members, err := s.NextMembers(f.ctx, id, 1+rnd.IntN(5))
	if err != nil {
		return err
	}
	var moves []siding.CampaignMove
	for _, m := range members {
		move := siding.CampaignMove{Queue: m.Queue, Status: siding.MemberSent, Return: siding.Return{ID: m.ID, From: sha256.Sum256(m.Message.Body)}}
		switch rnd.IntN(4) {
		case 0:
			move.Status = siding.MemberUnchanged
		case 1:
			move.Return.Body = fmt.Appendf(nil, "%d", rnd.Int())
		}
		moves = append(moves, move)
	}
	_, err = s.ReturnMembers(f.ctx, id, moves...)
	return err
}
