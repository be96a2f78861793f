package storetest

import (
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// by gives a context in which an operator acts.
func (f *fixture) by(name, act string) *fixture {
	g := *f
	g.ctx = siding.WithAct(f.ctx, siding.Act{ID: act, By: name, Text: "siding dlq …"})
	return &g
}

func (f *fixture) back(list ...siding.Return) []error {
	f.Helper()
	out, err := f.store.Return(f.ctx, f.queue, list...)
	require.NoError(f, err)
	require.Len(f, out, len(list))
	return out
}

// hashOf gives the hash of a body, as a return names the one that a repair was made of.
func hashOf(body []byte) siding.Hash { return sha256.Sum256(body) }

func returnCases() []testCase {
	mended := []byte(`{"id":"a","mended":true}`)
	supersede := siding.EnqueueOptions{Supersede: true}
	return []testCase{
		{"a repaired message goes back under its ID, and its history has the body that it had", func(f *fixture) {
			f.dead("a")
			was := f.get("a")
			errs := f.by("ann", "").back(siding.Return{ID: "a", From: hashOf(was.Body), Body: mended, Note: "set:field=/mended,value=true"})
			require.Equal(f, []error{nil}, errs)
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, mended, r.Body)
			require.Equal(f, was.History, r.History)
			require.Equal(f, 1, r.Redrives)
			require.Zero(f, r.Attempt)
			require.Nil(f, r.LastError)
			require.Len(f, r.Revisions, 2)
			require.Equal(f, siding.RevisionRepaired, r.Revisions[0].Kind)
			require.Equal(f, was.Body, r.Revisions[0].Body)
			require.Nil(f, r.Revisions[0].Headers)
			require.Equal(f, "set:field=/mended,value=true", r.Revisions[0].Note)
			require.Equal(f, siding.RevisionRedriven, r.Revisions[1].Kind)
			for _, v := range r.Revisions {
				require.Equal(f, "ann", v.By)
				require.Zero(f, v.Campaign)
			}
			d := f.leaseOne()
			require.Equal(f, mended, d.Body)
			f.done(d, "1")
		}},
		{"a repair changes nothing for whoever enqueues the message again", func(f *fixture) {
			f.dead("a")
			f.back(siding.Return{ID: "a", Body: mended})
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, msg("a")), "the same as it was received")
			require.Equal(f, mended, f.get("a").Body)
			f.fail(f.leaseOne(), permanent("still no good"))
			require.Equal(f, siding.EnqueueDead, f.status(supersede, msg("a")))
			require.Equal(f, siding.EnqueueRedriven, f.status(siding.EnqueueOptions{RedriveDead: true}, msg("a")))
			require.Equal(f, mended, f.get("a").Body)
			f.done(f.leaseOne(), "1")
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, msg("a")))
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, siding.NewMessage{ID: "a", Body: mended}), "that is another than was received")
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, siding.RevisionSuperseded, r.Revisions[len(r.Revisions)-1].Kind)
			require.Equal(f, mended, r.Revisions[len(r.Revisions)-1].Body)
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, siding.NewMessage{ID: "a", Body: mended}))
		}},
		{"a body that superseded a repaired message while it was leased takes its place", func(f *fixture) {
			f.dead("a")
			f.back(siding.Return{ID: "a", Body: mended})
			d := f.leaseOne()
			other := siding.NewMessage{ID: "a", Body: []byte("other")}
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, other))
			f.fail(d, permanent("no"))
			r := f.stateIs("a", siding.StateReady)
			require.Equal(f, "other", string(r.Body))
			require.Equal(f, mended, r.Revisions[len(r.Revisions)-1].Body)
			require.Equal(f, siding.EnqueueUnchanged, f.status(supersede, other))
			require.Equal(f, siding.EnqueueSuperseded, f.status(supersede, msg("a")), "what was received first is another now")
		}},
		{"a repaired message that is done is asked again with its repaired body", func(f *fixture) {
			in := f.input("key", "a")
			d := f.leaseOne()
			f.fail(d, permanent("no"))
			f.back(siding.Return{ID: "a", Body: mended})
			f.work(in, "d1")
			n, err := f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.EqualValues(f, 1, n)
			require.Equal(f, mended, f.leaseOne().Body)
		}},
		{"headers are replaced as a whole, and the body stays", func(f *fixture) {
			m := msg("a")
			m.Headers = map[string]string{"x": "1", "y": "2"}
			f.enqueue(m)
			f.fail(f.leaseOne(), permanent("no"))
			require.NoError(f, f.back(siding.Return{ID: "a", Headers: map[string]string{"x": "3", "bad\x1b[31m": "\x00"}})[0])
			r := f.get("a")
			require.Equal(f, m.Body, r.Body)
			require.Equal(f, map[string]string{"x": "3", `bad\x1b[31m`: `\x00`}, r.Headers)
			require.Equal(f, m.Headers, r.Revisions[0].Headers)
			require.Nil(f, r.Revisions[0].Body)
			f.fail(f.leaseOne(), permanent("no"))
			require.NoError(f, f.back(siding.Return{ID: "a", Headers: map[string]string{}})[0])
			require.Empty(f, f.get("a").Headers)
		}},
		{"what is replaced by the same is redriven as it was", func(f *fixture) {
			m := msg("a")
			m.Headers = map[string]string{"x": "1"}
			f.enqueue(m)
			f.fail(f.leaseOne(), permanent("no"))
			require.NoError(f, f.back(siding.Return{ID: "a", Body: m.Body, Headers: m.Headers})[0])
			r := f.stateIs("a", siding.StateReady)
			require.Len(f, r.Revisions, 1)
			require.Equal(f, siding.RevisionRedriven, r.Revisions[0].Kind)
		}},
		{"a body may become empty, and any bytes", func(f *fixture) {
			f.dead("a")
			require.NoError(f, f.back(siding.Return{ID: "a", Body: []byte{}})[0])
			require.Empty(f, f.get("a").Body)
			require.False(f, f.get("a").NoBody)
			f.fail(f.leaseOne(), permanent("no"))
			odd := []byte("\x00\xff\x1b[31m" + strings.Repeat("x", 1<<20))
			require.NoError(f, f.back(siding.Return{ID: "a", From: hashOf(nil), Body: odd, Note: "\x1b[31m" + strings.Repeat("y", 1<<20)})[0])
			r := f.get("a")
			require.Equal(f, odd, r.Body)
			require.Equal(f, siding.Scrub(r.Revisions[2].Note, siding.MaxHeader), r.Revisions[2].Note)
			require.Equal(f, odd, f.leaseOne().Body)
		}},
		{"only dead messages go back, and each is answered for itself", func(f *fixture) {
			f.dead("dead")
			f.dead("changed")
			f.dead("twice")
			f.done(f.leased("done"), "1")
			f.leased("leased")
			f.enqueue(msg("ready"), msg("discarded"))
			f.discard("discarded")
			back := func(id string) siding.Return { return siding.Return{ID: id, Body: mended} }
			changed := back("changed")
			changed.From = hashOf([]byte("what it was before"))
			errs := f.back(back("done"), back("leased"), back("ready"), back("discarded"), back("nobody"), changed, back("dead"),
				back("twice"), back("twice"))
			for i, want := range []error{
				siding.ErrWrongState, siding.ErrWrongState, siding.ErrWrongState, siding.ErrWrongState, siding.ErrNotFound,
				siding.ErrConflict, nil, nil, siding.ErrWrongState,
			} {
				require.Equal(f, outcome(want), outcome(errs[i]), "return %d", i)
			}
			require.Equal(f, msg("changed").Body, f.stateIs("changed", siding.StateDead).Body)
			require.Len(f, f.get("twice").Revisions, 2)
			require.Empty(f, f.back())
		}},
		{"a return is compared with the body as it is, not as it was received", func(f *fixture) {
			f.dead("a")
			f.back(siding.Return{ID: "a", Body: mended})
			f.fail(f.leaseOne(), permanent("no"))
			require.ErrorIs(f, f.back(siding.Return{ID: "a", From: hashOf(msg("a").Body), Body: []byte("2")})[0], siding.ErrConflict)
			require.NoError(f, f.back(siding.Return{ID: "a", From: hashOf(mended), Body: msg("a").Body})[0])
			require.Equal(f, msg("a").Body, f.get("a").Body)
		}},
	}
}

func noteCases() []testCase {
	set := func(f *fixture, key string, value []byte, version int64) (int64, error) {
		return f.store.SetNote(f.ctx, siding.Note{Key: key, Value: value, Version: version})
	}
	return []testCase{
		{"a note is kept exactly, and its version rises", func(f *fixture) {
			key := f.queue + "/note"
			_, err := f.store.Note(f.ctx, key)
			require.ErrorIs(f, err, siding.ErrNotFound)
			for i, value := range [][]byte{[]byte("\x00\xff\x1b"), {}, []byte(strings.Repeat("x", siding.MaxNote))} {
				v, err := set(f, key, value, int64(i))
				require.NoError(f, err)
				require.EqualValues(f, i+1, v)
				n, err := f.store.Note(f.ctx, key)
				require.NoError(f, err)
				f.near(f.now(), n.ChangedAt)
				n.ChangedAt = n.ChangedAt.AddDate(-9999, 0, 0)
				require.Equal(f, siding.Note{Key: key, Value: value, Version: v, ChangedAt: n.ChangedAt}, n)
			}
		}},
		{"a note that was changed since it was read is not overwritten", func(f *fixture) {
			key := f.queue + "/note"
			v, err := set(f, key, []byte("1"), 0)
			require.NoError(f, err)
			for _, stale := range []int64{0, v + 1, v - 1} {
				_, err = set(f, key, []byte("2"), stale)
				require.ErrorIs(f, err, siding.ErrConflict)
			}
			_, err = set(f, key, nil, v+1)
			require.ErrorIs(f, err, siding.ErrConflict)
			n, err := f.store.Note(f.ctx, key)
			require.NoError(f, err)
			require.Equal(f, "1", string(n.Value))
		}},
		{"a note that was removed is not there, and a new one has another version", func(f *fixture) {
			key := f.queue + "/note"
			v1, err := set(f, key, []byte("1"), 0)
			require.NoError(f, err)
			_, err = set(f, key, nil, v1)
			require.NoError(f, err)
			_, err = f.store.Note(f.ctx, key)
			require.ErrorIs(f, err, siding.ErrNotFound)
			v3, err := set(f, key, []byte("3"), 0)
			require.NoError(f, err)
			require.Greater(f, v3, v1)
			_, err = set(f, key, []byte("4"), v1)
			require.ErrorIs(f, err, siding.ErrConflict)
		}},
		{"a key that cannot be used and a value that is too long are refused", func(f *fixture) {
			for _, key := range []string{"", "a\x00", strings.Repeat("x", siding.MaxIDBytes+1)} {
				_, err := set(f, key, []byte("1"), 0)
				require.ErrorIs(f, err, siding.ErrInvalidID)
			}
			_, err := set(f, f.queue, make([]byte, siding.MaxNote+1), 0)
			require.Error(f, err)
			_, err = f.store.Note(f.ctx, f.queue)
			require.ErrorIs(f, err, siding.ErrNotFound)
		}},
		{"one of several who have read the same version writes", func(f *fixture) {
			key := f.queue + "/note"
			got := contest(f, func(s siding.Store, i int) (string, error) {
				_, err := s.SetNote(f.ctx, siding.Note{Key: key, Value: []byte{byte(i)}})
				if errors.Is(err, siding.ErrConflict) {
					return "lost", nil
				}
				return "won", err
			})
			require.Equal(f, map[string]int{"won": 1, "lost": contestants - 1}, tally(got))
		}},
	}
}
