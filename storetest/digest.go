package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// digestCases are about answers that were given under another recipe.
func digestCases() []testCase {
	return []testCase{
		{"asking again makes done members of another digest ready, with the old answer kept", func(f *fixture) {
			in := f.input("key", "a", "b", "c")
			require.Len(f, f.work(in, "d1"), 3)
			f.input("other", "d")
			in = f.input("key", "a", "b", "c", "new")
			require.EqualValues(f, 3, f.inputStatsFor(in, "d2").Stale)
			n, err := f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.EqualValues(f, 3, n)
			r := f.stateIs("a", siding.StateReady)
			f.revision(r, siding.RevisionReasked, "", `d1"a"`, "d1")
			require.Empty(f, r.Result)
			require.Zero(f, r.Attempt)
			n, err = f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.Zero(f, n)
			require.Len(f, f.work(in, "d2"), 4)
			require.Equal(f, `d2"a"`, string(f.get("a").Result))
			n, err = f.store.Reask(f.ctx, in, "d2")
			require.NoError(f, err)
			require.Zero(f, n)
		}},
		{"keeping answers marks them, and asks nobody", func(f *fixture) {
			in := f.input("key", "a", "b")
			f.work(in, "d1")
			n, err := f.store.KeepAnswers(f.ctx, in, "d2")
			require.NoError(f, err)
			require.EqualValues(f, 2, n)
			r := f.stateIs("a", siding.StateDone)
			require.Equal(f, "d2", r.Digest)
			require.Equal(f, `d1"a"`, string(r.Result))
			require.Zero(f, f.inputStatsFor(in, "d2").Stale)
			n, err = f.store.KeepAnswers(f.ctx, in, "d2")
			require.NoError(f, err)
			require.Zero(f, n)
		}},
		{"a journaled answer that passes another digest replaces the result", func(f *fixture) {
			f.enqueue(msg("a"))
			d := f.leaseOne()
			id := f.asked(ask(d, 1), "x")
			f.judged(d, id, true, nil)
			j := siding.Judgement{Call: id, Accepted: true, Digest: "d2"}
			require.NoError(f, f.store.Readopt(f.ctx, f.queue, "a", j, []byte(`"readopted"`)))
			r := f.stateIs("a", siding.StateDone)
			require.Equal(f, `"readopted"`, string(r.Result))
			require.Equal(f, "d2", r.Digest)
			require.Equal(f, "d2", r.Calls[0].JudgedUnder)
			require.Equal(f, siding.VerdictAccepted, r.Calls[0].Verdict)
			f.revision(r, siding.RevisionReadopted, "", "1", "d1")
			require.ErrorIs(f, f.store.Readopt(f.ctx, f.queue, "nobody", j, nil), siding.ErrNotFound)
			f.enqueueWith(siding.EnqueueOptions{Supersede: true}, siding.NewMessage{ID: "a", Body: []byte("2")})
			j.Digest = "d3"
			before := f.get("a")
			require.ErrorIs(f, f.store.Readopt(f.ctx, f.queue, "a", j, nil), siding.ErrWrongState)
			require.Equal(f, before, f.get("a"))
		}},
	}
}
