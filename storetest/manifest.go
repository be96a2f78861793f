package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func (f *fixture) begin(key string) siding.InputID {
	f.Helper()
	id, err := f.store.BeginInput(f.ctx, f.queue, key)
	require.NoError(f, err)
	require.NotZero(f, id)
	return id
}

func (f *fixture) seal(id siding.InputID) {
	f.Helper()
	require.NoError(f, f.store.SealInput(f.ctx, id))
}

// record gives the n-th record of an input.
func record(n int64, id, body string) siding.NewMessage {
	return siding.NewMessage{ID: id, Body: []byte(body), Source: source(n, body)}
}

func source(n int64, body string) *siding.Source {
	var hash siding.Hash
	copy(hash[:], body)
	return &siding.Source{Ordinal: n, File: "in.jsonl", Line: n + 1, Offset: n * 100, SourceHash: hash}
}

// read puts the records into an input as a run does: superseding, and many at once.
func (f *fixture) read(in siding.InputID, records ...siding.NewMessage) []siding.Enqueued {
	f.Helper()
	return f.enqueueWith(siding.EnqueueOptions{Input: in, Supersede: true}, records...)
}

// input reads a whole input whose records have their IDs as bodies.
func (f *fixture) input(key string, ids ...string) siding.InputID {
	f.Helper()
	in := f.begin(key)
	for n, id := range ids {
		f.read(in, record(int64(n), id, `"`+id+`"`))
	}
	f.seal(in)
	return in
}

func (f *fixture) inputStats(in siding.InputID) siding.InputStats {
	f.Helper()
	return f.inputStatsFor(in, "d1")
}

func (f *fixture) inputStatsFor(in siding.InputID, digest string) siding.InputStats {
	f.Helper()
	st, err := f.store.InputStats(f.ctx, in, digest)
	require.NoError(f, err)
	require.Equal(f, st.Enqueued, st.Done+st.Dead+st.Held+st.Pending+st.Discarded)
	return st
}

func (f *fixture) members(in siding.InputID, o siding.MemberOptions) []siding.Member {
	f.Helper()
	var out []siding.Member
	for m, err := range f.store.InputMembers(f.ctx, in, o) {
		require.NoError(f, err)
		out = append(out, m)
	}
	return out
}

func memberIDs(ms []siding.Member) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Message.ID
	}
	return out
}

// work leases every member of an input that can be leased, and settles it under a digest.
func (f *fixture) work(in siding.InputID, digest string) []string {
	f.Helper()
	r := f.request(100)
	r.Input = in
	ds := f.leaseWith(r).Deliveries
	for _, d := range ds {
		out := f.settleWith(siding.Settlement{Token: d.Token, Digest: digest, Result: []byte(digest + string(d.Body))})
		require.NoError(f, out.Err)
	}
	return ids(ds)
}

func manifestCases() []testCase {
	return []testCase{
		{"members come in the order of the input, with their places and results", func(f *fixture) {
			in := f.begin("key")
			f.read(in, record(2, "c", "3"), record(0, "a", "1"))
			f.read(in, record(1, "b", "2"))
			f.seal(in)
			f.work(in, "d1")
			got := f.members(in, siding.MemberOptions{Bodies: true})
			require.Equal(f, []string{"a", "b", "c"}, memberIDs(got))
			for n, m := range got {
				body := fmt.Sprint(n + 1)
				require.Equal(f, *source(int64(n), body), m.Source)
				require.Equal(f, "d1"+body, string(m.Result))
				require.Equal(f, body, string(m.Message.Body))
				require.Equal(f, siding.StateDone, m.Message.State)
			}
			require.Empty(f, f.members(in, siding.MemberOptions{})[0].Message.Body, "bodies only when asked for")
		}},
		{"members can be chosen by state and by digest", func(f *fixture) {
			in := f.input("key", "a", "b", "c", "d")
			f.fail(f.lease(1)[0], permanent("no"))
			require.NoError(f, f.settleWith(siding.Settlement{Token: f.lease(1)[0].Token, Digest: "d1"}).Err)
			require.NoError(f, f.settleWith(siding.Settlement{Token: f.lease(1)[0].Token, Digest: "d2"}).Err)
			require.Equal(f, []string{"a", "d"}, memberIDs(f.members(in, siding.MemberOptions{
				States: []siding.State{siding.StateDead, siding.StateReady},
			})))
			require.Equal(f, []string{"b"}, memberIDs(f.members(in, siding.MemberOptions{Stale: "d2"})))
		}},
		{"a walk over members may change them, and may stop", func(f *fixture) {
			in := f.input("key", "a", "b", "c")
			for m, err := range f.store.InputMembers(f.ctx, in, siding.MemberOptions{}) {
				require.NoError(f, err)
				f.discard(m.Message.ID)
				if m.Message.ID == "b" {
					break
				}
			}
			require.Equal(f, []string{"c"}, memberIDs(f.members(in, siding.MemberOptions{States: []siding.State{siding.StateReady}})))
		}},
		{"every state of a member is counted once", func(f *fixture) {
			in := f.input("key", "done", "dead", "leased", "discarded", "ready", "retrying")
			for _, d := range f.lease(10) {
				switch d.ID {
				case "done":
					require.NoError(f, f.settleWith(siding.Settlement{Token: d.Token, Digest: "d0"}).Err)
				case "dead":
					f.fail(d, permanent("no good"))
				case "discarded":
					require.NoError(f, f.discard(d.ID)[0])
				case "retrying":
					f.fail(d, transient("no"))
				case "ready":
					f.fail(d, interrupted(siding.CauseShutdown))
				}
			}
			st := f.inputStats(in)
			require.EqualValues(f, 6, st.Enqueued)
			require.EqualValues(f, 1, st.Done)
			require.EqualValues(f, 1, st.Dead)
			require.EqualValues(f, 1, st.Discarded)
			require.EqualValues(f, 3, st.Pending+st.Held)
			require.EqualValues(f, 1, st.Leased)
			require.EqualValues(f, 1, st.Retrying)
			require.EqualValues(f, 1, st.Stale)
			require.Zero(f, f.inputStatsFor(in, "d0").Stale)
			require.Len(f, st.Causes, 1)
			want := permanent("no good").Stored()
			require.Equal(f, siding.CauseCount{Cause: want.Cause, Fingerprint: want.Fingerprint, Count: 1, Sample: "no good"}, st.Causes[0])
		}},
		{"the same ID and bytes twice are one message", func(f *fixture) {
			in := f.begin("key")
			out := f.read(in, record(0, "a", "1"), record(1, "a", "1"))
			require.Equal(f, siding.EnqueueNew, out[0].Status)
			require.Equal(f, siding.EnqueueDuplicate, out[1].Status)
			require.Equal(f, siding.EnqueueDuplicate, f.read(in, record(2, "a", "1"))[0].Status)
			f.seal(in)
			require.EqualValues(f, 1, f.inputStats(in).Enqueued)
			require.Len(f, f.members(in, siding.MemberOptions{}), 1)
			require.EqualValues(f, 0, f.members(in, siding.MemberOptions{})[0].Source.Ordinal)
			require.Len(f, f.work(in, "d1"), 1)
		}},
		{"other bytes under a taken ID are set aside under an ID of their own", func(f *fixture) {
			in := f.begin("key")
			out := f.read(in, record(0, "a", "1"), record(1, "a", "2"), record(2, "a", "3"), record(3, "a", "2"))
			require.Equal(f, siding.EnqueueNew, out[0].Status)
			require.Equal(f, "a", out[0].ID)
			for n, body := range map[int]string{1: "2", 2: "3"} {
				require.Equal(f, siding.EnqueueDead, out[n].Status)
				require.Equal(f, siding.DuplicateID("a", []byte(body)), out[n].ID)
				r := f.stateIs(out[n].ID, siding.StateDead)
				require.Equal(f, siding.CauseDuplicateID, r.LastError.Cause)
				require.Equal(f, body, string(r.Body))
				require.Empty(f, r.History)
			}
			require.Equal(f, siding.EnqueueDuplicate, out[3].Status)
			require.Equal(f, out[1].ID, out[3].ID)
			f.seal(in)
			st := f.inputStats(in)
			require.EqualValues(f, 3, st.Enqueued)
			require.EqualValues(f, 2, st.Dead)
			require.Equal(f, "1", string(f.stateIs("a", siding.StateReady).Body), "the first is untouched")
		}},
		{"a second run of an input with duplicates changes nothing", func(f *fixture) {
			records := []siding.NewMessage{record(0, "a", "1"), record(1, "a", "2"), record(2, "", "x"), record(3, "", "x"), record(4, "a", "1")}
			in := f.begin("key")
			first := f.read(in, records...)
			f.seal(in)
			f.work(in, "d1")
			in = f.begin("key")
			second := f.enqueueWith(siding.EnqueueOptions{Input: in, Supersede: true, RedriveDead: true}, records...)
			f.seal(in)
			for i := range records {
				require.Equal(f, first[i].ID, second[i].ID)
			}
			require.Equal(f, siding.EnqueueUnchanged, second[0].Status)
			require.Equal(f, siding.EnqueueDead, second[1].Status, "a duplicate is not brought back to life")
			require.Equal(f, siding.EnqueueUnchanged, second[2].Status)
			require.Equal(f, siding.EnqueueDuplicate, second[4].Status)
			st := f.inputStats(in)
			require.EqualValues(f, 4, st.Enqueued)
			require.EqualValues(f, 3, st.Done)
			require.Empty(f, f.work(in, "d1"))
		}},
		{"a record without an ID is named by its bytes and its place among equals", func(f *fixture) {
			in := f.begin("key")
			out := f.read(in, record(0, "", "x"), record(1, "", "y"), record(2, "", "x"))
			hash := func(body string) siding.Hash { return source(0, body).SourceHash }
			require.Equal(f, siding.RecordID(hash("x"), 0), out[0].ID)
			require.Equal(f, siding.RecordID(hash("y"), 0), out[1].ID)
			require.Equal(f, siding.RecordID(hash("x"), 1), out[2].ID)
			for _, e := range out {
				require.Equal(f, siding.EnqueueNew, e.Status)
			}
			require.EqualValues(f, 3, f.inputStats(in).Enqueued)
		}},
		{"an unfit ID in an input is refused and no member", func(f *fixture) {
			in := f.begin("key")
			out, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Input: in}, record(0, "a\x00", "1"))
			require.NoError(f, err)
			require.ErrorIs(f, out[0].Err, siding.ErrInvalidID)
			require.Zero(f, f.inputStats(in).Enqueued)
		}},
		{"a record with a fault of its own is a member that is dead", func(f *fixture) {
			in := f.begin("key")
			m := record(0, "", "{")
			m.Dead = &siding.Failure{Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidID, Err: errInjected}
			require.Equal(f, siding.EnqueueDead, f.read(in, m)[0].Status)
			st := f.inputStats(in)
			require.EqualValues(f, 1, st.Enqueued)
			require.EqualValues(f, 1, st.Dead)
			require.Equal(f, siding.CauseInvalidID, st.Causes[0].Cause)
		}},
		{"an insert in the middle is one new message, and the rest keep their answers", func(f *fixture) {
			f.work(f.input("key", "a", "b"), "d1")
			in := f.input("key", "a", "new", "b")
			require.Equal(f, []string{"new"}, f.work(in, "d1"))
			got := f.members(in, siding.MemberOptions{})
			require.Equal(f, []string{"a", "new", "b"}, memberIDs(got))
			require.EqualValues(f, 2, got[2].Source.Ordinal)
			require.EqualValues(f, 3, got[2].Source.Line)
			require.Equal(f, `d1"b"`, string(got[2].Result))
		}},
		{"a record that is gone from the input is no member any more, and is not lost", func(f *fixture) {
			f.work(f.input("key", "a", "b"), "d1")
			in := f.input("key", "b")
			require.Equal(f, []string{"b"}, memberIDs(f.members(in, siding.MemberOptions{})))
			require.EqualValues(f, 1, f.inputStats(in).Enqueued)
			f.stateIs("a", siding.StateDone)
		}},
		{"an input is found by its key once it is sealed", func(f *fixture) {
			_, err := f.store.FindInput(f.ctx, f.queue, "key")
			require.ErrorIs(f, err, siding.ErrNotFound)
			first := f.input("key", "a")
			other := f.input("other key", "b")
			second := f.begin("key")
			for key, want := range map[string]siding.InputID{"key": first, "other key": other} {
				got, err := f.store.FindInput(f.ctx, f.queue, key)
				require.NoError(f, err)
				require.Equal(f, want, got)
			}
			f.seal(second)
			got, err := f.store.FindInput(f.ctx, f.queue, "key")
			require.NoError(f, err)
			require.Equal(f, second, got)
			_, err = f.store.FindInput(f.ctx, f.queue+"-another", "key")
			require.ErrorIs(f, err, siding.ErrNotFound)
		}},
		{"a run that dies while it reads leaves the earlier manifest as it was", func(f *fixture) {
			first := f.input("key", "a", "b")
			unsealed := f.begin("key")
			f.read(unsealed, record(0, "a", `"a"`))
			f.kill()
			got, err := f.store.FindInput(f.ctx, f.queue, "key")
			require.NoError(f, err)
			require.Equal(f, first, got)
			require.EqualValues(f, 2, f.inputStats(first).Enqueued)

			second := f.begin("key") // drops what the dead process left unsealed
			require.NotEqual(f, unsealed, second)
			_, err = f.store.InputStats(f.ctx, unsealed, "d1")
			require.ErrorIs(f, err, siding.ErrNotFound)
			f.read(second, record(0, "b", `"b"`))
			f.seal(second) // drops the earlier generation, whose process is gone
			_, err = f.store.InputStats(f.ctx, first, "d1")
			require.ErrorIs(f, err, siding.ErrNotFound)
			require.Len(f, f.members(second, siding.MemberOptions{}), 1)
		}},
		{"a generation whose process lives is never dropped", func(f *fixture) {
			other := f.another()
			theirs, err := other.BeginInput(f.ctx, f.queue, "key")
			require.NoError(f, err)
			_, err = other.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Input: theirs}, record(0, "a", "1"))
			require.NoError(f, err)
			mine := f.input("key", "b")
			require.EqualValues(f, 1, f.inputStats(theirs).Enqueued)
			require.NoError(f, other.SealInput(f.ctx, theirs))
			require.EqualValues(f, 1, f.inputStats(mine).Enqueued)
		}},
		{"two inputs on one store are leased and counted apart", func(f *fixture) {
			one, two := f.input("one", "a", "b"), f.input("two", "c", "d")
			f.enqueue(msg("outside"))
			r := f.request(1)
			r.Input = one
			l := f.leaseWith(r)
			require.Len(f, l.Deliveries, 1)
			require.Equal(f, 1, l.InFlight)
			r.Input = two
			require.Equal(f, 1, f.leaseWith(r).InFlight)
			require.EqualValues(f, 1, f.inputStats(one).Leased)
			require.Len(f, f.work(one, "d1"), 1)
			require.Len(f, f.work(two, "d1"), 1)
			require.Empty(f, f.work(one, "d1"))
			require.Equal(f, 1, f.leaseWith(siding.LeaseRequest{Queue: f.queue, Input: one, Policy: f.policy}).InFlight)
			f.stateIs("outside", siding.StateReady)
		}},
		{"a message that two inputs have is worked once, and both see it finish", func(f *fixture) {
			one := f.input("one", "a", "shared")
			two := f.input("two", "shared", "b")
			require.Equal(f, []string{"shared", "b"}, f.work(two, "d1"))
			f.work(one, "d1")
			for _, in := range []siding.InputID{one, two} {
				st := f.inputStats(in)
				require.EqualValues(f, 2, st.Enqueued)
				require.EqualValues(f, 2, st.Done)
				require.Len(f, f.members(in, siding.MemberOptions{States: []siding.State{siding.StateDone}}), 2)
			}
			require.Equal(f, 1, f.get("shared").Deliveries)
		}},
		{"the next lease of an input is said to come due, whatever else there is", func(f *fixture) {
			in := f.input("one", "a")
			f.enqueue(msg("outside"))
			r := f.request(1)
			r.Input = in
			d := f.leaseWith(r).Deliveries[0]
			f.fail(d, transient("no"))
			f.near(f.clock.Now().Add(2*time.Second), f.leaseWith(r).NextAt)
		}},
		{"nothing is added to an input that is sealed", func(f *fixture) {
			in := f.input("key", "a")
			_, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Input: in}, record(1, "b", "2"))
			require.ErrorIs(f, err, siding.ErrWrongState)
			require.EqualValues(f, 1, f.inputStats(in).Enqueued)
		}},
		{"inputs that do not exist are not found", func(f *fixture) {
			const nobodys = 1 << 40
			_, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{Input: nobodys}, msg("a"))
			require.ErrorIs(f, err, siding.ErrNotFound)
			require.ErrorIs(f, f.store.SealInput(f.ctx, nobodys), siding.ErrNotFound)
			_, err = f.store.InputStats(f.ctx, nobodys, "d1")
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.Reask(f.ctx, nobodys, "d1")
			require.ErrorIs(f, err, siding.ErrNotFound)
			_, err = f.store.KeepAnswers(f.ctx, nobodys, "d1")
			require.ErrorIs(f, err, siding.ErrNotFound)
			for _, err := range f.store.InputMembers(f.ctx, nobodys, siding.MemberOptions{}) {
				require.ErrorIs(f, err, siding.ErrNotFound)
			}
		}},
	}
}
