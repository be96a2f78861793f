package storetest

import (
	"bytes"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func enqueueCases() []testCase {
	supersede := siding.EnqueueOptions{Supersede: true}
	other := func(id string) siding.NewMessage { return siding.NewMessage{ID: id, Body: []byte(`{"other":true}`)} }
	return []testCase{
		{"a new message is ready at once", func(f *fixture) {
			require.Equal(f, siding.EnqueueNew, f.status(siding.EnqueueOptions{}, msg("a")))
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, `{"id":"a"}`, string(r.Body))
			require.Zero(f, r.Attempt+r.Gray+r.Waits+r.Interruptions+r.Redrives+r.Deliveries)
			require.Nil(f, r.LastError)
			require.Empty(f, r.History)
			f.near(f.clock.Now(), r.ReceivedAt)
			f.near(f.clock.Now(), r.AvailableAt)
		}},
		{"each message of a batch is answered in its place and for itself", func(f *fixture) {
			f.enqueue(msg("known"), msg("taken"))
			out, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg("first"), msg(""), msg("known"), other("taken"), msg("last"))
			require.NoError(f, err)
			require.Len(f, out, 5)
			for i, want := range []siding.EnqueueStatus{
				siding.EnqueueNew, siding.EnqueueRefused, siding.EnqueueUnchanged, siding.EnqueueRefused, siding.EnqueueNew,
			} {
				require.Equal(f, want, out[i].Status, "message %d", i)
			}
			require.Equal(f, "first", out[0].ID)
			require.ErrorIs(f, out[1].Err, siding.ErrInvalidID)
			require.ErrorIs(f, out[3].Err, siding.ErrConflict)
			require.Equal(f, `{"id":"taken"}`, string(f.get("taken").Body))
			f.stateIs("last", siding.StateReady)
		}},
		{"no messages are no error", func(f *fixture) { f.enqueue() }},
		{"an ID that cannot be used is refused", func(f *fixture) {
			for _, id := range []string{"", "a\x00b", "a\nb", "\x1b[31m", "\xff", strings.Repeat("x", siding.MaxIDBytes+1)} {
				out, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, siding.NewMessage{ID: id})
				require.NoError(f, err)
				require.Equal(f, siding.EnqueueRefused, out[0].Status)
				require.ErrorIs(f, out[0].Err, siding.ErrInvalidID)
			}
			require.Empty(f, f.lease(10))
		}},
		{"odd but usable IDs are kept as they are", func(f *fixture) {
			for _, id := range []string{strings.Repeat("x", siding.MaxIDBytes), "🚃 siding", `'";--`, "%_*?", " ", "A", "a"} {
				f.enqueue(msg(id))
				require.Equal(f, id, f.get(id).ID)
			}
			require.Len(f, f.lease(10), 7)
		}},
		{"the same ID in two queues is two messages", func(f *fixture) {
			f.enqueue(msg("a"))
			out, err := f.store.Enqueue(f.ctx, f.queue+"-another", siding.EnqueueOptions{}, other("a"))
			require.NoError(f, err)
			require.Equal(f, siding.EnqueueNew, out[0].Status)
			require.Equal(f, `{"id":"a"}`, string(f.leaseOne().Body))
		}},
		{"an equal body changes nothing while it is ready, leased or done", func(f *fixture) {
			f.enqueue(msg("a"))
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, msg("a")))
			d := f.leaseOne()
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, msg("a")))
			f.done(d, `"r"`)
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, msg("a")))
			r := f.stateIs("a", siding.StateDone)
			require.Equal(f, `"r"`, string(r.Result))
			require.Empty(f, r.Revisions)
		}},
		{"an equal body says that the message is dead, and leaves it so", func(f *fixture) {
			f.dead("a")
			require.Equal(f, siding.EnqueueDead, f.status(supersede, msg("a")))
			f.stateIs("a", siding.StateDead)
			require.Empty(f, f.lease(10))
		}},
		{"an equal body redrives a dead message when asked to", func(f *fixture) {
			f.dead("a")
			require.Equal(f, siding.EnqueueRedriven, f.status(siding.EnqueueOptions{RedriveDead: true}, msg("a")))
			r := f.stateIs("a", siding.StateReady)
			require.Zero(f, r.Attempt)
			require.Equal(f, 1, r.Redrives)
			require.Nil(f, r.LastError)
			require.Len(f, r.History, 1)
			require.Equal(f, "a", f.leaseOne().ID)
		}},
		{"a discarded message stays discarded, whatever is enqueued", func(f *fixture) {
			f.enqueue(msg("a"))
			require.NoError(f, f.discard("a")[0])
			all := siding.EnqueueOptions{Supersede: true, RedriveDead: true}
			require.Equal(f, siding.EnqueueDiscarded, f.status(all, msg("a")))
			require.Equal(f, siding.EnqueueDiscarded, f.status(all, other("a")))
			require.Equal(f, `{"id":"a"}`, string(f.stateIs("a", siding.StateDiscarded).Body))
		}},
		{"a different body is a conflict in every state", func(f *fixture) {
			f.dead("dead")
			f.done(f.leased("done"), `"r"`)
			f.leased("leased")
			f.enqueue(msg("ready"), msg("discarded"))
			require.NoError(f, f.discard("discarded")[0])
			for _, state := range siding.States() {
				before := f.get(string(state))
				out, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{RedriveDead: true}, other(string(state)))
				require.NoError(f, err)
				require.ErrorIs(f, out[0].Err, siding.ErrConflict, state)
				require.Equal(f, siding.EnqueueRefused, out[0].Status)
				require.Equal(f, before, f.get(string(state)))
			}
		}},
		{"a different body supersedes a ready message, which begins anew", func(f *fixture) {
			f.fail(f.leased("a"), transient("no"))
			n := other("a")
			n.ContentType, n.Headers, n.Priority, n.FairnessKey = "text/plain", map[string]string{"k": "v"}, 7, "tenant"
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, n))
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, string(n.Body), string(r.Body))
			require.Zero(f, r.Attempt)
			require.Nil(f, r.LastError)
			require.Equal(f, "text/plain", r.ContentType)
			require.Equal(f, n.Headers, r.Headers)
			require.EqualValues(f, 7, r.Priority)
			require.Equal(f, "tenant", r.FairnessKey)
			require.Len(f, r.History, 1, "history is kept")
			f.revision(r, siding.RevisionSuperseded, `{"id":"a"}`, "", "")
			require.Equal(f, string(n.Body), string(f.leaseOne().Body), "ready at once")
		}},
		{"a different body supersedes a dead message, which is ready again", func(f *fixture) {
			f.dead("a")
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, other("a")))
			r := f.stateIs("a", siding.StateReady)
			require.Empty(f, r.Reason)
			require.True(f, r.DeadAt.IsZero())
			require.Zero(f, r.Attempt)
			f.revision(r, siding.RevisionSuperseded, `{"id":"a"}`, "", "")
		}},
		{"a different body has a done message asked again", func(f *fixture) {
			d := f.leased("a")
			out := f.settleWith(siding.Settlement{Token: d.Token, Result: []byte(`"old"`), Digest: "d1"})
			require.NoError(f, out.Err)
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, other("a")))
			r := f.stateIs("a", siding.StateReady)
			require.Empty(f, r.Result)
			require.Empty(f, r.Digest)
			f.revision(r, siding.RevisionSuperseded, `{"id":"a"}`, `"old"`, "d1")
		}},
		{"a different body waits for a leased message's delivery, however that ends", func(f *fixture) {
			ends := map[string]func(f *fixture, d *siding.Delivery){
				"done":      func(f *fixture, d *siding.Delivery) { f.done(d, `"old"`) },
				"transient": func(f *fixture, d *siding.Delivery) { f.fail(d, transient("no")) },
				"permanent": func(f *fixture, d *siding.Delivery) { f.fail(d, permanent("no")) },
				"lease lost": func(f *fixture, _ *siding.Delivery) {
					f.clock.Advance(2 * time.Minute)
					f.lease(0)
				},
			}
			for id, end := range ends {
				d := f.leased(id)
				require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, other(id)))
				require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, other(id)), "it is what waits already")
				require.Equal(f, `{"id":"`+id+`"}`, string(f.stateIs(id, siding.StateLeased).Body))
				end(f, d)
				r := f.stateIs(id, siding.StateReady)
				require.Equal(f, `{"other":true}`, string(r.Body), id)
				require.Zero(f, r.Attempt+r.Interruptions, id)
				require.Nil(f, r.LastError, id)
				require.Len(f, r.History, 1, id)
				result := ""
				if id == "done" {
					result = `"old"`
				}
				f.revision(r, siding.RevisionSuperseded, `{"id":"`+id+`"}`, result, "")
				f.done(f.leaseOne(), `"new"`)
				require.Equal(f, `"new"`, string(f.get(id).Result))
			}
		}},
		{"of several bodies that supersede a leased message, the last one counts", func(f *fixture) {
			d := f.leased("a")
			f.enqueueWith(supersede, other("a"))
			f.enqueueWith(supersede, siding.NewMessage{ID: "a", Body: []byte(`3`)})
			f.done(d, `"old"`)
			require.Equal(f, `3`, string(f.leaseOne().Body))
		}},
		{"a waiting body is not lost when the process dies", func(f *fixture) {
			f.leased("a")
			f.enqueueWith(supersede, other("a"))
			f.kill()
			require.Equal(f, `{"other":true}`, string(f.stateIs("a", siding.StateReady).Body))
		}},
		{"a message that brings its fault is set aside at once", func(f *fixture) {
			m := msg("a")
			m.Dead = &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidUTF8, Err: errInjected}
			require.Equal(f, siding.EnqueueDead, f.status(siding.EnqueueOptions{}, m))
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, siding.ReasonPoison, r.Reason)
			require.Equal(f, siding.OutcomePermanent, r.LastError.Outcome)
			require.Equal(f, siding.CauseInvalidUTF8, r.LastError.Cause)
			require.NotEmpty(f, r.LastError.Fingerprint)
			require.Zero(f, r.Attempt)
			require.Empty(f, r.History)
			f.near(f.clock.Now(), r.DeadAt)
			require.Empty(f, f.lease(10))
			require.Equal(f, siding.EnqueueDead, f.status(siding.EnqueueOptions{RedriveDead: true}, m), "no better the second time")
		}},
		{"a body that brings its fault supersedes like any other, and is set aside", func(f *fixture) {
			f.enqueue(msg("a"))
			m := other("a")
			m.Dead = permanent("broken")
			require.Equal(f, siding.EnqueueDead, f.status(supersede, m))
			require.Equal(f, string(m.Body), string(f.stateIs("a", siding.StateDead).Body))
			d := f.leased("b")
			m.ID = "b"
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, m), "when its delivery settles")
			f.done(d, "1")
			r := f.stateIs("b", siding.StateDead)
			require.Equal(f, "broken", r.LastError.Text)
			require.Empty(f, r.Result)
			require.Empty(f, f.lease(5))
		}},
		{"a full queue refuses new messages and nothing else", func(f *fixture) {
			f.dead("dead")
			f.done(f.leased("done"), "1")
			limit := siding.EnqueueOptions{MaxDepth: 2}
			out, err := f.store.Enqueue(f.ctx, f.queue, limit, msg("a"), msg("b"), msg("c"), msg("a"))
			require.NoError(f, err)
			require.NoError(f, out[0].Err)
			require.NoError(f, out[1].Err)
			require.ErrorIs(f, out[2].Err, siding.ErrFull)
			require.Equal(f, siding.EnqueueUnchanged, out[3].Status)
			d := f.lease(1)[0]
			out, err = f.store.Enqueue(f.ctx, f.queue, limit, msg("c"))
			require.NoError(f, err)
			require.ErrorIs(f, out[0].Err, siding.ErrFull, "a leased message is undone too")
			f.done(d, "1")
			require.Equal(f, siding.EnqueueNew, f.status(limit, msg("c")))
		}},
		{"a message is not leased before its time", func(f *fixture) {
			m := msg("a")
			m.NotBefore = f.clock.Now().Add(time.Hour)
			f.enqueue(m)
			l := f.leaseWith(f.request(1))
			require.Empty(f, l.Deliveries)
			f.near(m.NotBefore, l.NextAt)
			f.clock.Advance(time.Hour - time.Second)
			require.Empty(f, f.lease(1))
			f.clock.Advance(2 * time.Second)
			require.Len(f, f.lease(1), 1)
		}},
		{"a message that is not done by its time is set aside as expired", func(f *fixture) {
			m := msg("a")
			m.ExpiresAt = f.clock.Now().Add(time.Minute)
			f.enqueue(m)
			f.clock.Advance(59 * time.Second)
			require.True(f, m.ExpiresAt.Equal(f.stateIs("a", siding.StateReady).ExpiresAt))
			f.clock.Advance(2 * time.Second)
			require.Empty(f, f.lease(0))
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, siding.ReasonExpired, r.Reason)
			require.Equal(f, siding.CauseExpired, r.LastError.Cause)
			require.Zero(f, r.Attempt)
			require.Empty(f, r.History)
		}},
		{"a message whose lease and time have run out is taken back and set aside at once", func(f *fixture) {
			m := msg("a")
			m.ExpiresAt = f.clock.Now().Add(10 * time.Second)
			f.enqueue(m)
			f.leaseOne()
			f.clock.Advance(2 * time.Minute)
			l := f.leaseWith(f.request(0))
			require.True(f, l.NextAt.IsZero())
			r := f.stateIs("a", siding.StateDead)
			require.Equal(f, siding.ReasonExpired, r.Reason)
			require.Equal(f, 1, r.Interruptions)
			require.Len(f, r.History, 1)
		}},
		{"a delivery under way may outlive the message's time", func(f *fixture) {
			m := msg("a")
			m.ExpiresAt = f.clock.Now().Add(10 * time.Second)
			f.enqueue(m)
			d := f.leaseOne()
			f.clock.Advance(20 * time.Second)
			f.lease(0)
			f.done(d, `"just in time"`)
		}},
		{"a body is kept exactly, whatever it holds", func(f *fixture) {
			every := make([]byte, 256)
			for i := range every {
				every[i] = byte(i)
			}
			bodies := map[string][]byte{
				"empty": {}, "every byte": every, "nul": {0}, "not utf-8": []byte("\xff\xfe\xc0\x80\xed\xa0\x80"),
				"large": bytes.Repeat(every, 5<<20/256),
			}
			for id, body := range bodies {
				f.enqueue(siding.NewMessage{ID: id, Body: body})
				require.True(f, bytes.Equal(body, f.get(id).Body), id)
				d := f.leaseOne()
				require.True(f, bytes.Equal(body, d.Body), id)
				f.done(d, "1")
				require.Equal(f, siding.EnqueueUnchanged, f.status(siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: body}))
			}
		}},
		{"what comes with a message is kept", func(f *fixture) {
			m := siding.NewMessage{
				ID: "a", ContentType: "text/csv", Headers: map[string]string{"trace": "1", "empty": ""}, Priority: -32768,
				FairnessKey: "tenant", ExpiresAt: f.clock.Now().Add(time.Hour),
				Source: &siding.Source{Ordinal: 3, File: "in.jsonl", Line: 4, Offset: 99, SourceHash: siding.Hash{1}},
			}
			f.enqueue(m)
			d := f.leaseOne()
			require.Equal(f, m.ContentType, d.ContentType)
			require.Equal(f, m.Headers, d.Headers)
			require.Equal(f, m.Priority, d.Priority)
			require.Equal(f, m.FairnessKey, d.FairnessKey)
			require.True(f, m.ExpiresAt.Equal(d.ExpiresAt))
			require.Equal(f, m.Source, f.get("a").Source)
		}},
		{"a message without a content type is JSON", func(f *fixture) {
			f.enqueue(msg("a"))
			require.Contains(f, []string{"", "application/json"}, f.leaseOne().ContentType)
		}},
		{"a store that is closed and opened has everything", func(f *fixture) {
			f.dead("dead")
			f.fail(f.leased("retried"), transient("no"))
			d := f.leased("done")
			f.done(d, `"r"`)
			before := map[string]*siding.Record{}
			for _, id := range []string{"dead", "retried", "done"} {
				before[id] = f.get(id)
			}
			info, err := f.store.Info(f.ctx)
			require.NoError(f, err)
			f.reopen()
			for id, r := range before {
				require.Equal(f, r, f.get(id))
			}
			again, err := f.store.Info(f.ctx)
			require.NoError(f, err)
			require.Equal(f, info.ID, again.ID)
			require.Equal(f, info.Format, again.Format)
			require.NotEmpty(f, info.ID)
		}},
	}
}

// revision asks for the only revision of a message.
func (f *fixture) revision(r *siding.Record, kind siding.RevisionKind, body, result, digest string) {
	f.Helper()
	require.Len(f, r.Revisions, 1)
	v := r.Revisions[0]
	require.Equal(f, kind, v.Kind)
	require.Equal(f, body, string(v.Body))
	require.Equal(f, result, string(v.Result))
	require.Equal(f, digest, v.Digest)
	f.near(f.clock.Now(), v.At)
}
