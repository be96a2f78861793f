package quarantine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/quarantine"
)

// yard is a store with dead letters, and a driver.
type yard struct {
	*testing.T
	store *memory.Store
	*quarantine.Driver
}

func newYard(t *testing.T) *yard {
	t.Helper()
	s := memory.Open(memory.Options{})
	return &yard{t, s, &quarantine.Driver{Store: s, Owner: "me"}}
}

// broken sets messages aside: m0, m1 and so on.
func (y *yard) broken(bodies ...string) {
	y.Helper()
	var list []siding.NewMessage
	for i, body := range bodies {
		list = append(list, siding.NewMessage{
			ID: fmt.Sprint("m", i), Body: []byte(body), ContentType: "text/plain",
			Dead: siding.FailureOf(siding.Permanent(errors.New("broken"))),
		})
	}
	_, err := y.store.Enqueue(y.Context(), "q", siding.EnqueueOptions{}, list...)
	require.NoError(y, err)
}

func (y *yard) campaign(p siding.CampaignPlan) siding.CampaignID {
	y.Helper()
	c, err := y.store.CreateCampaign(y.Context(), p)
	require.NoError(y, err)
	return c.ID
}

func (y *yard) step(id siding.CampaignID) quarantine.Step {
	y.Helper()
	s, err := y.Step(y.Context(), id)
	require.NoError(y, err)
	return s
}

// work settles everything that is ready, and gives the bodies.
func (y *yard) work(fail func(id string) bool) (bodies []string) {
	y.Helper()
	l, err := y.store.Lease(y.Context(), siding.LeaseRequest{
		Queue: "q", Worker: "w", Max: 1000, MaxRetries: -1, Duration: time.Minute, Policy: siding.DefaultPolicy(),
	})
	require.NoError(y, err)
	for _, d := range l.Deliveries {
		s := siding.Settlement{Token: d.Token, Policy: siding.DefaultPolicy()}
		if fail != nil && fail(d.ID) {
			s.Failure = siding.FailureOf(siding.Permanent(errors.New("broken")))
		}
		out, err := y.store.Settle(y.Context(), s)
		require.NoError(y, err)
		require.NoError(y, out[0].Err)
		bodies = append(bodies, string(d.Body))
	}
	return bodies
}

func (y *yard) statuses(id siding.CampaignID) map[string]siding.MemberStatus {
	y.Helper()
	out := map[string]siding.MemberStatus{}
	for m, err := range y.store.CampaignMembers(y.Context(), id) {
		require.NoError(y, err)
		out[m.ID] = m.Status
	}
	return out
}

func TestCampaignIsDriven(t *testing.T) {
	t.Parallel()
	t.Run("from the selection to its end", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken(make([]string, 25)...)
		id := y.campaign(siding.CampaignPlan{Canary: 5, Ramp: []int64{10}, MinSuccess: 0.9})
		s := y.step(id)
		require.Equal(t, []any{siding.CampaignRunning, int64(25), false}, []any{s.State, s.Moved, s.Waits})
		for _, want := range []int64{5, 10, 10} {
			s = y.step(id)
			require.Equal(t, want, s.Moved)
			require.True(t, s.Waits)
			require.Zero(t, y.step(id).Moved, "nothing more before those have ended")
			require.Len(t, y.work(nil), int(want))
		}
		require.Equal(t, siding.CampaignFinished, y.step(id).State)
	})
	t.Run("by repairs, and one bad member never stops it", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken("fine", "bad\xff", "worse\xff", "explodes")
		explodes := quarantine.Facts{Check: func(m siding.Message) *siding.Failure {
			if bytes.HasPrefix(m.Body, []byte("worse")) {
				panic("a check that panics\x1b[2J")
			}
			return nil
		}}
		var asked []string
		y.Facts = func(_ context.Context, queue, recipe string) (quarantine.Facts, error) {
			asked = append(asked, queue+" "+recipe)
			return explodes, nil
		}
		id := y.campaign(siding.CampaignPlan{Repairs: []string{"strip-invalid-utf8"}, Recipe: "r.yaml"})
		y.step(id)
		y.step(id)
		require.Equal(t, []string{"q r.yaml"}, asked, "once")
		require.Equal(t, []string{"bad"}, y.work(nil))
		require.Equal(t, map[string]siding.MemberStatus{
			"m0": siding.MemberUnchanged, "m1": siding.MemberDone, "m2": siding.MemberInvalid, "m3": siding.MemberUnchanged,
		}, y.statuses(id))
		for m, err := range y.store.CampaignMembers(t.Context(), id, siding.MemberInvalid) {
			require.NoError(t, err)
			require.Contains(t, m.Text, "a check that panics")
			require.NotContains(t, m.Text, "\x1b")
		}
		require.Equal(t, siding.CampaignFinished, y.step(id).State)
	})
	t.Run("by repairs that this version does not know, it is an error, and nothing is sent", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken("a")
		id := y.campaign(siding.CampaignPlan{Repairs: []string{"no-such-repair"}})
		y.step(id)
		_, err := y.Step(t.Context(), id)
		require.ErrorContains(t, err, "no-such-repair")
		require.Equal(t, siding.MemberPending, y.statuses(id)["m0"])
	})
	t.Run("by an expression, which is asked about each", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken("a", "error", "b", "a")
		var failed []string
		y.Where = func(expression string) (quarantine.Judge, error) {
			return func(_ context.Context, l siding.Listed) (bool, error) {
				if string(l.Body) == "error" {
					return false, errors.New("no such field")
				}
				return string(l.Body) == expression, nil
			}, nil
		}
		y.Unjudged = func(l siding.Listed, _ error) { failed = append(failed, l.ID) }
		id := y.campaign(siding.CampaignPlan{Where: "a"})
		require.EqualValues(t, 2, y.step(id).Selected)
		require.Equal(t, map[string]siding.MemberStatus{"m0": siding.MemberPending, "m3": siding.MemberPending}, y.statuses(id))
		require.Equal(t, []string{"m1"}, failed)
	})
	t.Run("by an expression without an end, the selecting ends and starts nothing", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken("a")
		y.Where = func(string) (quarantine.Judge, error) {
			return func(context.Context, siding.Listed) (bool, error) {
				return false, fmt.Errorf("for ever: %w", quarantine.ErrEndless)
			}, nil
		}
		id := y.campaign(siding.CampaignPlan{Where: "repeat(1)"})
		_, err := y.Step(t.Context(), id)
		require.ErrorIs(t, err, quarantine.ErrEndless)
		c, err := y.store.Campaign(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, siding.CampaignSelecting, c.State)
	})
	t.Run("what another campaign has is told, and left out", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken("a", "b")
		first := y.campaign(siding.CampaignPlan{Selection: siding.Selection{IDs: []string{"m0"}}})
		y.step(first)
		var n int64
		var which siding.CampaignID
		y.Elsewhere = func(k int64, other siding.CampaignID) { n, which = n+k, other }
		require.EqualValues(t, 1, y.step(y.campaign(siding.CampaignPlan{})).Selected)
		require.Equal(t, []any{int64(1), first}, []any{n, which})
	})
	t.Run("a stop in the middle of a repair writes no verdict", func(t *testing.T) {
		t.Parallel()
		y := newYard(t)
		y.broken("a\xff", "b\xff")
		ctx, cancel := context.WithCancel(t.Context())
		y.Facts = func(context.Context, string, string) (quarantine.Facts, error) {
			return quarantine.Facts{Check: func(siding.Message) *siding.Failure {
				cancel()
				return siding.FailureOf(siding.Permanent(errors.New("cut off")))
			}}, nil
		}
		id := y.campaign(siding.CampaignPlan{Repairs: []string{"strip-invalid-utf8"}})
		y.step(id)
		_, err := y.Step(ctx, id)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, siding.MemberPending, y.statuses(id)["m0"])
	})
}

func TestCampaignHasOneDriverAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.broken(make([]string, 10)...)
		other := &quarantine.Driver{Store: y.store, Owner: "other"}
		id := y.campaign(siding.CampaignPlan{Canary: 2, MinSuccess: 0.9})
		y.step(id)
		s, err := other.Step(t.Context(), id)
		require.NoError(t, err)
		require.True(t, s.Busy)
		require.Zero(t, s.Moved)
		require.EqualValues(t, 2, y.step(id).Moved)

		time.Sleep(time.Minute) // the first has died
		s, err = other.Step(t.Context(), id)
		require.NoError(t, err)
		require.False(t, s.Busy)
		require.True(t, y.step(id).Busy)

		other.Close(t.Context())
		require.False(t, y.step(id).Busy, "it was given up")
	})
}

func TestCampaignRunsToItsEnd(t *testing.T) {
	t.Parallel()
	// driven runs a campaign while a worker settles what comes.
	driven := func(t *testing.T, y *yard, id siding.CampaignID, fail func(string) bool) siding.Campaign {
		t.Helper()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					y.work(fail)
				}
			}
		})
		c, err := y.Driver.Run(t.Context(), id, nil)
		close(stop)
		wg.Wait()
		require.NoError(t, err)
		return c
	}
	t.Run("in as much time as its rate takes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t)
			y.broken(make([]string, 100)...)
			began := time.Now()
			c := driven(t, y, y.campaign(siding.CampaignPlan{Rate: 10}), nil)
			require.Equal(t, siding.CampaignFinished, c.State)
			require.InDelta(t, 9, time.Since(began).Seconds(), 1)
		})
	})
	t.Run("or until it stops, with the rest untouched", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t)
			y.broken(make([]string, 1000)...)
			c := driven(t, y, y.campaign(siding.CampaignPlan{Canary: 10, MinSuccess: 0.9}), func(string) bool { return true })
			require.Equal(t, siding.CampaignStopped, c.State)
			require.EqualValues(t, 990, c.Pending)
			require.Contains(t, c.Why, "the canary")
		})
	})
	t.Run("or until it is told to end, and goes on later", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t)
			y.broken("a", "b")
			id := y.campaign(siding.CampaignPlan{Canary: 1, MinSuccess: 1})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := y.Driver.Run(ctx, id, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, siding.CampaignFinished, driven(t, y, id, nil).State)
		})
	})
}

func TestCampaignsOfAQueueAreSwept(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.broken("a", "b", "c")
	mine := y.campaign(siding.CampaignPlan{Selection: siding.Selection{Queue: "q", IDs: []string{"m0"}}})
	anyQueue := y.campaign(siding.CampaignPlan{Selection: siding.Selection{IDs: []string{"m1"}}})
	bad := y.campaign(siding.CampaignPlan{Selection: siding.Selection{IDs: []string{"m2"}}, Repairs: []string{"no-such-repair"}})
	others := y.campaign(siding.CampaignPlan{Selection: siding.Selection{Queue: "another"}})
	_, err := y.Sweep(t.Context(), "q")
	require.NoError(t, err)
	steps, err := y.Sweep(t.Context(), "q")
	require.ErrorContains(t, err, "no-such-repair")
	require.Len(t, steps, 2)
	require.Equal(t, siding.MemberSent, y.statuses(mine)["m0"])
	require.Equal(t, siding.MemberSent, y.statuses(anyQueue)["m1"])
	require.Equal(t, siding.MemberPending, y.statuses(bad)["m2"])
	c, err := y.store.Campaign(t.Context(), others)
	require.NoError(t, err)
	require.Equal(t, siding.CampaignSelecting, c.State)
}
