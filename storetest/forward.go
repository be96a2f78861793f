package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// at gives the same case at work in another queue.
func (f *fixture) at(name string) *fixture {
	g := *f
	g.queue = f.queue + "-" + name
	g.solo = nil
	return &g
}

func tooLarge(queue string) *siding.Failure {
	return siding.FailureOf(siding.Forward(queue, &siding.Failure{Cause: siding.CauseInputTooLarge, Err: errors.New("too long")}))
}

// large gives a message with a field for a result.
func large(id, text string) siding.NewMessage {
	return siding.NewMessage{ID: id, Body: []byte(`{"id":"` + id + `", "text":"` + text + `"}`), Headers: map[string]string{"h": "v"}}
}

// forwarded enqueues a message and forwards it to the queue of g.
func (f *fixture) forwarded(g *fixture, m siding.NewMessage) {
	f.Helper()
	f.enqueue(m)
	d := f.leaseOne()
	require.Equal(f, m.ID, d.ID)
	f.waits(g, f.fail(d, tooLarge(g.queue)))
}

// waits asks for the decision that a message waits for the queue of g.
func (f *fixture) waits(g *fixture, d siding.Decision) {
	f.Helper()
	require.Equal(f, siding.StateReady, d.State)
	require.Equal(f, siding.OutcomeForwarded, d.Outcome)
	require.Equal(f, g.queue, d.WaitsFor)
	require.True(f, d.AvailableAt.Equal(siding.Never))
}

// parked asks for a message that waits for the queue of g.
func (f *fixture) parked(g *fixture, id string) *siding.Record {
	f.Helper()
	r := f.stateIs(id, siding.StateReady)
	require.Equal(f, g.queue, r.WaitsFor)
	require.True(f, r.AvailableAt.Equal(siding.Never))
	require.Empty(f, f.lease(10))
	return r
}

// gives settles a delivery of the copy with a result that goes back to the queue of origin.
func (f *fixture) gives(origin *fixture, d *siding.Delivery, result string) {
	f.Helper()
	out := f.settleWith(siding.Settlement{Token: d.Token, Result: []byte(result), Then: &siding.Then{Queue: origin.queue, Field: "/text"}})
	require.NoError(f, out.Err)
	require.Equal(f, siding.StateDone, out.Decision.State)
}

// aside asks for a dead letter that names the queue of g, and gives it.
func (f *fixture) aside(g *fixture, id string, cause siding.Cause, text string) *siding.Record {
	f.Helper()
	r := f.stateIs(id, siding.StateDead)
	require.Equal(f, siding.ReasonPoison, r.Reason)
	require.Equal(f, cause, r.LastError.Cause)
	require.Contains(f, r.LastError.Text, g.queue)
	require.Contains(f, r.LastError.Text, text)
	require.Zero(f, r.Attempt)
	return r
}

func forwardCases() []testCase {
	both := func(run func(f, g *fixture)) func(*fixture) {
		return func(f *fixture) {
			g := f.at("summaries")
			run(f, g)
			g.letGo()
			g.healthy()
		}
	}
	return []testCase{
		{"a forwarded message waits for its copy, whose result comes into its body", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			r := f.parked(g, "a")
			require.Zero(f, r.Attempt)
			require.Equal(f, siding.OutcomeForwarded, r.History[0].Outcome)
			require.Equal(f, siding.CauseInputTooLarge, r.LastError.Cause)

			c := g.leaseOne()
			require.Equal(f, "a", c.ID)
			require.Equal(f, r.Body, c.Body)
			require.Equal(f, r.Headers, c.Headers)
			g.gives(f, c, `"short"`)

			d := f.leaseOne()
			require.Equal(f, `{"id":"a", "text":"short"}`, string(d.Body))
			require.Equal(f, 2, d.Number)
			require.Equal(f, 1, d.Returned)
			require.Empty(f, d.WaitsFor)
			require.Nil(f, d.LastError)
			f.done(d, "1")
			got := f.get("a")
			require.Equal(f, siding.RevisionReturned, got.Revisions[0].Kind)
			require.Equal(f, `{"id":"a", "text":"long"}`, string(got.Revisions[0].Body))
			require.Equal(f, siding.EnqueueUnchanged, f.status(siding.EnqueueOptions{}, large("a", "long")), "it is compared as received")
		})},
		{"one that a result has come into is not forwarded again", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			g.gives(f, g.leaseOne(), `"still long"`)
			d := f.fail(f.leaseOne(), tooLarge(g.queue))
			require.Equal(f, siding.StateDead, d.State)
			require.Equal(f, siding.ReasonPoison, d.Reason)
			require.Equal(f, 1, f.get("a").Attempt)
			require.Empty(f, g.lease(10))
		})},
		{"to its own queue nothing is forwarded", func(f *fixture) {
			d := f.leased("a")
			require.Equal(f, siding.StateDead, f.fail(d, tooLarge(f.queue)).State)
		}},
		{"what it failed before is forgotten when the result has come", both(func(f, g *fixture) {
			f.fail(f.leased("a"), gray("perhaps"))
			f.clock.Advance(time.Minute)
			f.waits(g, f.fail(f.leaseOne(), tooLarge(g.queue)))
			g.gives(f, g.leaseOne(), `1`)
			r := f.stateIs("a", siding.StateReady)
			require.Zero(f, r.Attempt+r.Gray)
			require.Len(f, r.History, 2)
		})},
		{"it is pending, and the work is not over while it waits", both(func(f, g *fixture) {
			in := f.begin("key")
			f.enqueueWith(siding.EnqueueOptions{Input: in}, record(0, "a", `{"text":1}`), record(1, "b", `{"text":2}`))
			f.seal(in)
			for _, d := range f.lease(10) {
				f.waits(g, f.fail(d, tooLarge(g.queue)))
			}
			st := f.inputStats(in)
			require.EqualValues(f, 2, st.Pending)
			require.Equal(f, []siding.WaitCount{{Queue: g.queue, Count: 2}}, st.Waiting)
			require.Equal(f, st.Waiting, f.stats().Waiting)
			for _, input := range []siding.InputID{0, in} {
				r := f.request(10)
				r.Input = input
				out := f.leaseWith(r)
				require.Empty(f, out.Deliveries)
				require.True(f, out.NextAt.Equal(siding.Never), "%v", out.NextAt)
			}
			for _, c := range g.lease(10) {
				g.gives(f, c, "3")
			}
			require.Empty(f, f.inputStats(in).Waiting)
			require.Len(f, f.lease(10), 2)
		})},
		{"a copy that is set aside sets it aside with its cause, and one that is redriven has it wait again", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			g.fail(g.leaseOne(), permanent("no good"))
			r := f.aside(g, "a", siding.CauseInvalidRequest, "no good")
			require.Equal(f, g.queue, r.WaitsFor)

			require.NoError(f, g.redrive("a")[0])
			f.parked(g, "a")
			g.gives(f, g.leaseOne(), `"short"`)
			require.Equal(f, `{"id":"a", "text":"short"}`, string(f.leaseOne().Body))
		})},
		{"so does one that fails for the last time, expires or is given up", both(func(f, g *fixture) {
			f.policy.MaxRetries = 0
			g.policy = f.policy
			f.forwarded(g, large("a", "long"))
			g.fail(g.leaseOne(), transient("down"))
			f.aside(g, "a", siding.CauseServerError, "down")

			expires := large("b", "long")
			expires.ExpiresAt = f.now().Add(time.Hour)
			f.forwarded(g, expires)
			f.clock.Advance(2 * time.Hour)
			require.Empty(f, g.lease(10))
			g.stateIs("b", siding.StateDead)
			f.aside(g, "b", siding.CauseExpired, "set aside")

			f.forwarded(g, large("c", "long"))
			require.NoError(f, g.discard("c")[0])
			require.Empty(f, f.aside(g, "c", siding.CauseInputTooLarge, "given up").WaitsFor)

			f.forwarded(g, large("d", "long"))
			d := g.leaseOne()
			require.NoError(f, g.discard("d")[0])
			g.stale(d)
			f.aside(g, "d", siding.CauseInputTooLarge, "given up")
		})},
		{"so does one whose lease is lost too often", both(func(f, g *fixture) {
			f.policy.MaxInterruptions = 1
			g.policy = f.policy
			f.forwarded(g, large("a", "long"))
			g.leaseOne()
			f.clock.Advance(time.Hour)
			require.Empty(f, g.lease(10))
			g.stateIs("a", siding.StateDead)
			f.aside(g, "a", siding.CauseLeaseLost, "set aside")
		})},
		{"so does one that kills its process", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			for range siding.MaxSoloCrashes + 1 {
				require.Len(f, g.lease(1), 1)
				g.kill()
				f.store = g.store
				f.clock.Advance(10 * time.Minute)
			}
			require.Equal(f, siding.ReasonCrash, g.get("a").Reason)
			f.aside(g, "a", siding.CauseWorkerCrash, "died")
		})},
		{"a result without a place sets it aside and says so", both(func(f, g *fixture) {
			f.forwarded(g, siding.NewMessage{ID: "a", Body: []byte(`["no object"]`)})
			g.gives(f, g.leaseOne(), `"short"`)
			require.Empty(f, f.aside(g, "a", siding.CauseInputTooLarge, "/text").WaitsFor)

			f.forwarded(g, siding.NewMessage{ID: "b", Body: []byte("{\"text\":\"\xff")})
			g.gives(f, g.leaseOne(), `"short"`)
			f.aside(g, "b", siding.CauseInputTooLarge, "not valid JSON")

			f.forwarded(g, large("c", "long"))
			out := g.settleWith(siding.Settlement{Token: g.leaseOne().Token, Then: &siding.Then{Queue: f.queue, Field: "/text"}})
			require.NoError(f, out.Err)
			f.aside(g, "c", siding.CauseInputTooLarge, "no result")
		})},
		{"so do results that go nowhere, or elsewhere", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			g.done(g.leaseOne(), `"short"`)
			f.aside(g, "a", siding.CauseInputTooLarge, "then:")

			f.forwarded(g, large("b", "long"))
			g.gives(f.at("elsewhere"), g.leaseOne(), `"short"`)
			f.aside(g, "b", siding.CauseInputTooLarge, "then:")
		})},
		{"a copy that is done already is worked once more", both(func(f, g *fixture) {
			g.enqueue(large("a", "long"))
			g.done(g.leaseOne(), `"early"`)
			f.forwarded(g, large("a", "long"))
			f.parked(g, "a")
			require.Equal(f, siding.RevisionReasked, g.stateIs("a", siding.StateReady).Revisions[0].Kind)
			g.gives(f, g.leaseOne(), `"short"`)
			require.Equal(f, `{"id":"a", "text":"short"}`, string(f.leaseOne().Body))
		})},
		{"one that is dead is redriven, one that is under way is waited for", both(func(f, g *fixture) {
			g.enqueue(large("a", "long"))
			g.fail(g.leaseOne(), permanent("no good"))
			f.forwarded(g, large("a", "long"))
			require.Equal(f, 1, g.stateIs("a", siding.StateReady).Redrives)
			g.gives(f, g.leaseOne(), `1`)
			f.leaseOne()

			g.enqueue(large("b", "long"))
			d := g.leaseOne()
			f.forwarded(g, large("b", "long"))
			g.gives(f, d, `2`)
			require.Equal(f, `{"id":"b", "text":2}`, string(f.leaseOne().Body))
		})},
		{"one that is given up makes the failure permanent", both(func(f, g *fixture) {
			g.enqueue(large("a", "long"))
			g.discard("a")
			f.enqueue(large("a", "long"))
			out := f.settleWith(siding.Settlement{Token: f.leaseOne().Token, Failure: tooLarge(g.queue)})
			require.Equal(f, siding.StateDead, out.Decision.State)
			require.Equal(f, siding.OutcomePermanent, out.Failure.Outcome)
			require.ErrorContains(f, out.Failure, "given up")
			require.Equal(f, 1, f.get("a").Attempt)
		})},
		{"another body under its ID is superseded, also while it is worked on", both(func(f, g *fixture) {
			g.enqueue(large("a", "other"))
			f.forwarded(g, large("a", "long"))
			c := g.leaseOne()
			require.Equal(f, `{"id":"a", "text":"long"}`, string(c.Body))
			g.gives(f, c, `1`)
			f.leaseOne()

			g.enqueue(large("b", "other"))
			d := g.leaseOne()
			f.forwarded(g, large("b", "long"))
			g.gives(f, d, `"of the other body"`)
			f.parked(g, "b")
			c = g.leaseOne()
			require.Equal(f, `{"id":"b", "text":"long"}`, string(c.Body))
			g.gives(f, c, `2`)
			require.Equal(f, `{"id":"b", "text":2}`, string(f.leaseOne().Body))
		})},
		{"a copy that is superseded is nobody's copy any more", both(func(f, g *fixture) {
			supersede := siding.EnqueueOptions{Supersede: true}
			f.forwarded(g, large("a", "long"))
			g.enqueueWith(supersede, large("a", "other"))
			f.aside(g, "a", siding.CauseInputTooLarge, "replaced")
			g.gives(f, g.leaseOne(), `1`)
			f.stateIs("a", siding.StateDead)

			f.forwarded(g, large("b", "long"))
			g.fail(g.leaseOne(), permanent("no good"))
			g.enqueueWith(supersede, large("b", "other"))
			require.Empty(f, f.stateIs("b", siding.StateDead).WaitsFor)
			g.gives(f, g.leaseOne(), `1`)
			f.stateIs("b", siding.StateDead)
		})},
		{"a repaired copy is still the copy", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			g.fail(g.leaseOne(), permanent("no good"))
			errs, err := f.store.Return(f.ctx, g.queue, siding.Return{ID: "a", Body: []byte(`{"mended":1}`)})
			if err != nil {
				f.Skip("this store cannot return repaired messages yet")
			}
			require.NoError(f, errs[0])
			f.parked(g, "a")
			g.gives(f, g.leaseOne(), `1`)
			f.leaseOne()
		})},
		{"superseding, discarding or redriving the message ends its waiting, and a late result is left where it is", both(func(f, g *fixture) {
			f.forwarded(g, large("a", "long"))
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, large("a", "new"))
			g.gives(f, g.leaseOne(), `1`)
			d := f.leaseOne()
			require.Equal(f, `{"id":"a", "text":"new"}`, string(d.Body))
			require.Zero(f, d.Returned)
			f.done(d, "1")

			f.forwarded(g, large("b", "long"))
			require.NoError(f, f.discard("b")[0])
			g.gives(f, g.leaseOne(), `1`)
			require.Empty(f, f.stateIs("b", siding.StateDiscarded).WaitsFor)

			f.forwarded(g, large("c", "long"))
			g.fail(g.leaseOne(), permanent("no good"))
			require.NoError(f, f.redrive("c")[0])
			require.NoError(f, g.redrive("c")[0])
			g.gives(f, g.leaseOne(), `1`)
			d = f.leaseOne()
			require.Equal(f, `{"id":"c", "text":"long"}`, string(d.Body))
			f.waits(g, f.fail(d, tooLarge(g.queue))) // and then it is asked for again
			g.gives(f, g.leaseOne(), `2`)
			require.Equal(f, `{"id":"c", "text":2}`, string(f.leaseOne().Body))
		})},
		{"a body that supersedes it while it is worked on is not forwarded", both(func(f, g *fixture) {
			f.enqueue(large("a", "long"))
			d := f.leaseOne()
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, large("a", "new"))
			f.fail(d, tooLarge(g.queue))
			require.Equal(f, `{"id":"a", "text":"new"}`, string(f.leaseOne().Body))
			require.Empty(f, g.lease(10))
		})},
		{"it expires while it waits", both(func(f, g *fixture) {
			m := large("a", "long")
			m.ExpiresAt = f.now().Add(time.Hour)
			f.forwarded(g, m)
			f.clock.Advance(2 * time.Hour)
			require.Empty(f, f.lease(10))
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, siding.ReasonExpired, r.Reason)
			require.Empty(f, r.WaitsFor)
		})},
		{"a copy is forwarded in its turn", both(func(f, g *fixture) {
			h := f.at("chapters")
			f.forwarded(g, large("a", "long"))
			g.waits(h, g.fail(g.leaseOne(), tooLarge(h.queue)))
			h.gives(g, h.leaseOne(), `"chapter"`)
			g.gives(f, g.leaseOne(), `"short"`)
			require.Equal(f, `{"id":"a", "text":"short"}`, string(f.leaseOne().Body))

			f.forwarded(g, large("b", "long"))
			g.waits(h, g.fail(g.leaseOne(), tooLarge(h.queue)))
			h.fail(h.leaseOne(), permanent("no good"))
			g.aside(h, "b", siding.CauseInvalidRequest, "no good")
			f.aside(g, "b", siding.CauseInvalidRequest, "no good")
			require.NoError(f, h.redrive("b")[0])
			g.parked(h, "b")
			f.parked(g, "b")
			h.healthy()
		})},
		{"and never round", both(func(f, g *fixture) {
			h := f.at("chapters")
			f.forwarded(g, large("a", "long"))
			g.waits(h, g.fail(g.leaseOne(), tooLarge(h.queue)))
			require.Equal(f, siding.StateDead, h.fail(h.leaseOne(), tooLarge(f.queue)).State)
			require.Contains(f, h.get("a").LastError.Text, "waits there for this queue")
			g.aside(h, "a", siding.CauseInputTooLarge, "waits there")
			f.aside(g, "a", siding.CauseInputTooLarge, "waits there")
		})},
		{"two queues may forward the same message", both(func(f, g *fixture) {
			o := f.at("other")
			f.forwarded(g, large("a", "long"))
			o.forwarded(g, large("a", "long"))
			g.gives(f, g.leaseOne(), `1`)
			require.Equal(f, `{"id":"a", "text":1}`, string(f.leaseOne().Body))
			o.aside(g, "a", siding.CauseInputTooLarge, "then:")

			f.forwarded(g, large("b", "long"))
			o.forwarded(g, large("b", "longer"))
			f.aside(g, "b", siding.CauseInputTooLarge, "replaced")
			o.parked(g, "b")
			o.healthy()
		})},
		{"calls for a copy are charged to the input of its origin, and once to its own queue", both(forwardCharges)},
		{"what waits is no probe, and does not keep a hold from being concluded", both(forwardGates)},
		{"a streak that is taken back has them wait again", both(forwardStreak)},
	}
}

func forwardCharges(f, g *fixture) {
	in := f.begin("key")
	f.enqueueWith(siding.EnqueueOptions{Input: in}, record(0, "a", `{"text":"long"}`), record(1, "b", `{"text":"2"}`))
	f.seal(in)
	ds := f.lease(2)
	f.waits(g, f.fail(ds[0], tooLarge(g.queue)))
	f.asked(ask(ds[1], 9), "x")
	f.done(ds[1], "1")

	c := g.leaseOne()
	id := g.start(ask(c, 1))
	require.EqualValues(f, 1, f.inputStats(in).UnknownCalls, "what is under way counts")
	g.end(answered(id, "x"))
	g.gives(f, c, `"short"`)
	st := f.inputStats(in)
	require.EqualValues(f, 2, st.Calls)
	require.EqualValues(f, 600, st.Cost)
	require.Zero(f, st.UnknownCalls)
	require.EqualValues(f, 300, g.stats().Cost)
	require.EqualValues(f, 300, f.stats().Cost)

	costs := map[string]siding.Money{}
	for _, m := range f.members(in, siding.MemberOptions{}) {
		costs[m.Message.ID] = m.Cost
	}
	require.Equal(f, map[string]siding.Money{"a": 300, "b": 300}, costs)

	again := f.begin("key")
	f.enqueueWith(siding.EnqueueOptions{Input: again}, record(0, "a", `{"text":"long"}`), record(1, "b", `{"text":"2"}`))
	f.seal(again)
	require.EqualValues(f, 600, f.inputStats(again).Cost, "a later run counts what an earlier one spent")

	// A copy that was a message before brings what it has cost.
	g.enqueue(siding.NewMessage{ID: "c", Body: []byte(`{"text":"3"}`)})
	d := g.leaseOne()
	g.asked(ask(d, 1), "x")
	g.done(d, "1")
	last := f.begin("other")
	f.enqueueWith(siding.EnqueueOptions{Input: last}, record(0, "c", `{"text":"3"}`))
	f.seal(last)
	d = f.lease(10)[1] // beside the one that the result has come into
	require.Equal(f, "c", d.ID)
	f.waits(g, f.fail(d, tooLarge(g.queue)))
	require.EqualValues(f, 300, f.inputStats(last).Cost)
}

func forwardGates(f, g *fixture) {
	keys := f.keys()
	for i := range 7 {
		f.enqueue(large(fmt.Sprintf("%03d", i), "x"))
	}
	ds := f.lease(10)
	f.waits(g, f.fail(ds[0], tooLarge(g.queue)))
	for _, d := range ds[1:6] {
		f.settleWith(siding.Settlement{Token: d.Token, Failure: permanent("alike"), Gates: keys})
	}
	f.settleWith(siding.Settlement{Token: ds[6].Token, Failure: permanent("alike"), Gates: keys})
	require.Equal(f, siding.HoldSystemic, f.gate(keys.Recipe).Hold.Kind)
	r := f.request(10)
	r.Gates = keys
	for range 10 {
		r.Rand = 0.99
		require.Empty(f, f.leaseWith(r).Deliveries)
	}
	require.True(f, f.gate(keys.Recipe).Hold.Stuck, "nobody untried is left who could say anything")
}

func forwardStreak(f, g *fixture) {
	keys := g.keys()
	for i := range 5 {
		f.forwarded(g, large(fmt.Sprintf("%03d", i), "x"))
	}
	ds := g.lease(10)
	require.Len(f, ds, 5)
	for _, d := range ds[:4] {
		g.settleWith(siding.Settlement{Token: d.Token, Failure: permanent("alike"), Gates: keys})
	}
	f.aside(g, "000", siding.CauseInvalidRequest, "alike")
	g.settleWith(siding.Settlement{Token: ds[4].Token, Failure: permanent("alike"), Gates: keys})
	for i := range 5 {
		f.parked(g, fmt.Sprintf("%03d", i))
	}
	require.NoError(f, f.store.Resume(f.ctx, keys.Recipe, true))
	for i := range 5 {
		f.aside(g, fmt.Sprintf("%03d", i), siding.CauseInvalidRequest, "alike")
	}
}
