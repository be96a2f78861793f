package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func (f *fixture) drop(what siding.DropWhat, limit int) int64 {
	f.Helper()
	n, err := f.store.DropBodies(f.ctx, siding.Drop{What: what, Queue: f.queue, Before: f.now(), Limit: limit})
	require.NoError(f, err)
	return n
}

func retentionCases() []testCase {
	supersede := siding.EnqueueOptions{Supersede: true}
	return []testCase{
		{"a dead letter loses its body and nothing else, and cannot be sent back", func(f *fixture) {
			m := msg("a")
			m.Headers = map[string]string{"x": "y"}
			f.enqueue(m)
			f.fail(f.leaseOne(), permanent("no good"))
			was := f.get("a")
			require.EqualValues(f, 1, f.drop(siding.DropDead, 10))
			require.Zero(f, f.drop(siding.DropDead, 10))
			r := f.stateIs("a", siding.StateDead)
			require.True(f, r.NoBody)
			require.Empty(f, r.Body)
			require.Equal(f, siding.RevisionDropped, r.Revisions[0].Kind)
			require.Nil(f, r.Revisions[0].Body)
			r.Body, r.NoBody, r.Revisions = was.Body, false, was.Revisions
			require.Equal(f, was, r)
			require.True(f, f.list(siding.Selection{Queue: f.queue})[0].NoBody)

			require.ErrorIs(f, f.redrive("a")[0], siding.ErrNoBody)
			require.ErrorIs(f, f.back(siding.Return{ID: "a"})[0], siding.ErrNoBody)
			require.ErrorIs(f, f.back(siding.Return{ID: "a", Headers: map[string]string{}})[0], siding.ErrNoBody)
			require.ErrorIs(f, f.back(siding.Return{ID: "a", From: hashOf(m.Body), Body: []byte("2")})[0], siding.ErrNoBody)
			n, err := f.store.RedriveSelected(f.ctx, siding.Selection{Queue: f.queue}, 10)
			require.NoError(f, err)
			require.Zero(f, n)
			f.stateIs("a", siding.StateDead)
			require.Empty(f, f.lease(10))
			require.NoError(f, f.discard("a")[0])
		}},
		{"a dropped body is there again when the same is enqueued", func(f *fixture) {
			f.dead("a")
			f.drop(siding.DropDead, 10)
			require.Equal(f, siding.EnqueueDead, f.status(siding.EnqueueOptions{}, msg("a")))
			r := f.stateIs("a", siding.StateDead)
			require.False(f, r.NoBody)
			require.Equal(f, msg("a").Body, r.Body)
			require.NoError(f, f.redrive("a")[0])
			f.fail(f.leaseOne(), permanent("no"))
			f.drop(siding.DropDead, 10)
			require.Equal(f, siding.EnqueueRedriven, f.status(siding.EnqueueOptions{RedriveDead: true}, msg("a")))
			require.Equal(f, msg("a").Body, f.leaseOne().Body)
		}},
		{"a repair that was dropped is gone: the body as received comes again", func(f *fixture) {
			f.dead("a")
			f.back(siding.Return{ID: "a", Body: []byte("mended")})
			f.fail(f.leaseOne(), permanent("no"))
			f.drop(siding.DropDead, 10)
			require.Equal(f, siding.EnqueueDead, f.status(siding.EnqueueOptions{}, msg("a")))
			require.Equal(f, msg("a").Body, f.get("a").Body)
		}},
		{"a message without a body takes another one", func(f *fixture) {
			f.dead("a")
			f.dead("b")
			f.drop(siding.DropDead, 10)
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, siding.NewMessage{ID: "a", Body: []byte("2")}))
			require.NoError(f, f.back(siding.Return{ID: "b", Body: []byte("2")})[0])
			for _, d := range f.lease(10) {
				require.Equal(f, "2", string(d.Body))
				require.False(f, d.NoBody)
			}
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, msg("b")), "what it is compared with has stayed")
		}},
		{"done messages lose their bodies and keep their results, and are not asked again without", func(f *fixture) {
			in := f.input("key", "a", "b")
			body := f.get("a").Body
			f.work(in, "d1")
			require.EqualValues(f, 2, f.drop(siding.DropDone, 10))
			require.Zero(f, f.drop(siding.DropDone, 10))
			r := f.stateIs("a", siding.StateDone)
			require.True(f, r.NoBody)
			require.NotEmpty(f, r.Result)
			n, err := f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.Zero(f, n)
			f.stateIs("a", siding.StateDone)
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, siding.NewMessage{ID: "a", Body: body}))
			require.False(f, f.get("a").NoBody)
			n, err = f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.EqualValues(f, 1, n)
			require.Equal(f, "a", f.leaseOne().ID)
			kept, err := f.store.KeepAnswers(f.ctx, in, "d2")
			require.NoError(f, err)
			require.EqualValues(f, 1, kept, "an answer can be kept without a body")
		}},
		{"earlier bodies and answers go, and the history stays", func(f *fixture) {
			f.done(f.leased("a"), "1")
			f.status(supersede, siding.NewMessage{ID: "a", Body: []byte("2")})
			f.fail(f.leaseOne(), permanent("no"))
			f.back(siding.Return{ID: "a", Body: []byte("3"), Note: "mended"})
			require.EqualValues(f, 2, f.drop(siding.DropHistory, 10))
			require.Zero(f, f.drop(siding.DropHistory, 10))
			r := f.get("a")
			require.Equal(f, "3", string(r.Body))
			require.Len(f, r.Revisions, 3)
			for _, v := range r.Revisions {
				require.Empty(f, v.Body)
				require.Empty(f, v.Result)
			}
			require.Equal(f, "mended; dropped by retention", r.Revisions[1].Note)
			require.Equal(f, siding.RevisionRedriven, r.Revisions[2].Kind)
		}},
		{"only what is old enough is dropped, of the queue that is named, in pieces", func(f *fixture) {
			for i := range 7 {
				f.dead(fmt.Sprint("m", i))
				f.clock.Advance(time.Minute)
			}
			d := siding.Drop{What: siding.DropDead, Queue: f.queue, Before: f.now().Add(-2*time.Minute - 30*time.Second), Limit: 2}
			other := d
			other.Queue = f.queue + "-another"
			n, err := f.store.DropBodies(f.ctx, other)
			require.NoError(f, err)
			require.Zero(f, n)
			for _, want := range []int64{2, 2, 1, 0} {
				n, err := f.store.DropBodies(f.ctx, d)
				require.NoError(f, err)
				require.Equal(f, want, n)
			}
			for i := range 7 {
				require.Equal(f, i < 5, f.get(fmt.Sprint("m", i)).NoBody, "m%d", i)
			}
			require.Equal(f, []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6"}, f.listedIDs(siding.Selection{Queue: f.queue}), "the order stays")
			require.Equal(f, []string{"m0", "m1", "m2"}, f.listedIDs(siding.Selection{Queue: f.queue, Limit: 3, Causes: []siding.Cause{siding.CauseInvalidRequest}}))
		}},
		{"a message that is done late is found by the next pass", func(f *fixture) {
			early := f.leased("early")
			for i := range 4 {
				f.done(f.leased(fmt.Sprint("m", i)), "1")
			}
			require.EqualValues(f, 3, f.drop(siding.DropDone, 3))
			f.done(early, "1")
			require.EqualValues(f, 2, f.drop(siding.DropDone, 3)+f.drop(siding.DropDone, 3))
			require.Zero(f, f.drop(siding.DropDone, 3))
		}},
		{"what is dropped is recorded", func(f *fixture) {
			f.dead("a")
			f.dead("b")
			f.ctx = siding.WithAct(f.ctx, siding.Act{ID: f.queue, By: "retention"})
			f.drop(siding.DropDead, 1)
			f.drop(siding.DropDead, 1)
			f.drop(siding.DropDead, 1)
			e := f.entry(f.queue, siding.ActionDrop)
			require.EqualValues(f, 2, e.Count)
			require.Contains(f, e.Detail, "dead before 20")
			require.Equal(f, f.queue, e.Queue)
			require.Equal(f, "retention", f.get("a").Revisions[0].By)
		}},
		{"what cannot be dropped is an error", func(f *fixture) {
			for _, d := range []siding.Drop{{What: "odd", Limit: 1}, {What: siding.DropDead}} {
				_, err := f.store.DropBodies(f.ctx, d)
				require.Error(f, err)
			}
		}},
		{"a streak's dead letter whose body was dropped is not taken back", func(f *fixture) {
			f.numbered(0, 5)
			ds := f.gated(5).Deliveries
			for _, d := range ds[:4] {
				f.alike(d)
			}
			require.EqualValues(f, 4, f.drop(siding.DropDead, 10))
			f.alike(ds[4])
			for _, d := range ds[:4] {
				f.stateIs(d.ID, siding.StateDead)
			}
			f.stateIs(ds[4].ID, siding.StateReady)
		}},
		{"a body that is dropped and a message that goes back at once are never both", func(f *fixture) {
			for i := range 24 {
				f.dead(fmt.Sprint(i))
			}
			contest(f, func(s siding.Store, i int) (struct{}, error) {
				var err error
				for n := range 8 {
					switch id := fmt.Sprint((n*5 + i*3) % 24); i % 4 {
					case 0:
						_, err = s.DropBodies(f.ctx, siding.Drop{What: siding.DropDead, Queue: f.queue, Before: f.clock.Now().Add(time.Hour), Limit: 2})
					case 1:
						_, err = s.Redrive(f.ctx, f.queue, id)
					case 2:
						_, err = s.RedriveSelected(f.ctx, siding.Selection{Queue: f.queue}, 2)
					case 3:
						_, err = s.Return(f.ctx, f.queue, siding.Return{ID: id, From: hashOf(msg(id).Body), Body: []byte("2")})
					}
					if err != nil {
						return struct{}{}, err
					}
				}
				return struct{}{}, nil
			})
			for _, l := range f.list(siding.Selection{Queue: f.queue, Bodies: true}) {
				require.Equal(f, l.NoBody, len(l.Body) == 0, l.ID)
				require.False(f, l.NoBody && l.State != siding.StateDead, l.ID)
			}
		}},
	}
}
