package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/siding-dev/siding"
)

// input gives a generation by its number; the queue must be its own, where one is named.
func (x *tx) input(id siding.InputID, queue string) (*input, error) {
	in := x.inputs[id]
	if in == nil || queue != "" && queue != in.queue {
		return nil, fmt.Errorf("input %d of queue %q: %w", id, siding.Scrub(queue, 64), siding.ErrNotFound)
	}
	return in, nil
}

// identify gives a record of an input its event ID: its own, unless it has none or other bytes have taken it.
func (x *tx) identify(in *input, m siding.NewMessage, hash siding.Hash) siding.NewMessage {
	if m.Source == nil {
		m.Source = &siding.Source{Ordinal: int64(len(in.members)), SourceHash: hash}
	}
	if old, ok := in.byOrdinal[m.Source.Ordinal]; ok && old.source.SourceHash == m.Source.SourceHash {
		if old.id != m.ID && m.ID != "" {
			m.Dead = siding.DuplicateFailure(m.ID)
		}
		m.ID = old.id
		return m
	}
	if m.ID == "" {
		m.ID = siding.RecordID(m.Source.SourceHash, in.equals[m.Source.SourceHash])
	}
	if taken, ok := in.byID[m.ID]; ok && taken != hash {
		m.Dead = siding.DuplicateFailure(m.ID)
		m.ID = siding.DuplicateID(m.ID, m.Body)
	}
	return m
}

// repeats tells whether the ID stood in this generation before, with these bytes.
func (in *input) repeats(id string, hash siding.Hash) bool {
	taken, ok := in.byID[id]
	return ok && taken == hash
}

// join makes a message a member of an input.
func (x *tx) join(in *input, number int64, m siding.NewMessage, hash siding.Hash, nameless bool) {
	one := member{number: number, id: m.ID, source: *m.Source}
	old := in.members
	x.keep(func() { in.members = old })
	in.members = append(in.members, one)
	set(x, in.byID, m.ID, hash)
	set(x, in.byOrdinal, m.Source.Ordinal, one)
	if nameless {
		set(x, in.equals, m.Source.SourceHash, in.equals[m.Source.SourceHash]+1)
	}
}

// BeginInput starts a new generation of an input; see [siding.Manifest].
func (s *Store) BeginInput(ctx context.Context, queue, key string) (siding.InputID, error) {
	var id siding.InputID
	err := s.write(ctx, "BeginInput", func(x *tx) error {
		x.dropInputs(func(_ siding.InputID, in *input) bool { return !in.sealed })
		x.lastInput++
		id = x.lastInput
		set(x, x.inputs, id, &input{
			queue: queue, key: key, proc: x.proc, byID: map[string]siding.Hash{}, byOrdinal: map[int64]member{},
			equals: map[siding.Hash]int64{},
		})
		return nil
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// SealInput ends the reading of an input; see [siding.Manifest].
func (s *Store) SealInput(ctx context.Context, id siding.InputID) error {
	return s.write(ctx, "SealInput", func(x *tx) error {
		in, err := x.input(id, "")
		if err != nil {
			return err
		}
		sealed := *in
		sealed.sealed = true
		set(x, x.inputs, id, &sealed)
		x.dropInputs(func(other siding.InputID, o *input) bool {
			return other < id && o.queue == in.queue && o.key == in.key
		})
		return nil
	})
}

// dropInputs drops those generations of dead processes that which names.
func (x *tx) dropInputs(which func(siding.InputID, *input) bool) {
	for id := siding.InputID(1); id <= x.lastInput; id++ {
		if in := x.inputs[id]; in != nil && x.fate(in.proc) != "" && which(id, in) {
			drop(x, x.inputs, id)
		}
	}
}

// FindInput gives the newest sealed generation of an input; see [siding.Manifest].
func (s *Store) FindInput(ctx context.Context, queue, key string) (siding.InputID, error) {
	var found siding.InputID
	err := s.read(ctx, func(x *tx) error {
		for id, in := range x.inputs {
			if in.sealed && in.queue == queue && in.key == key {
				found = max(found, id)
			}
		}
		if found == 0 {
			return fmt.Errorf("input %q of queue %q: %w", siding.Scrub(key, 256), siding.Scrub(queue, 64), siding.ErrNotFound)
		}
		return nil
	})
	return found, err
}

// InputMembers walks over the members of an input; see [siding.Manifest].
func (s *Store) InputMembers(ctx context.Context, id siding.InputID, o siding.MemberOptions) iter.Seq2[siding.Member, error] {
	return func(yield func(siding.Member, error) bool) {
		var members []member
		err := s.read(ctx, func(x *tx) error {
			in, err := x.input(id, "")
			if err != nil {
				return err
			}
			members = slices.Clone(in.members)
			return nil
		})
		if err != nil {
			yield(siding.Member{}, err)
			return
		}
		slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.source.Ordinal, b.source.Ordinal) })
		for _, one := range members {
			var out siding.Member
			var wanted bool
			err := s.read(ctx, func(x *tx) error {
				m := x.messages[one.number]
				if wanted = wantedMember(m, o); wanted {
					out = x.shownMember(m, one, o.Bodies)
				}
				return nil
			})
			if (wanted || err != nil) && !yield(out, err) || err != nil {
				return
			}
		}
	}
}

func wantedMember(m *message, o siding.MemberOptions) bool {
	return (len(o.States) == 0 || slices.Contains(o.States, m.State)) && (o.Stale == "" || m.stale(o.Stale))
}

// stale tells whether the message is done, and was answered under another digest.
func (m *message) stale(digest string) bool {
	return m.State == siding.StateDone && m.Digest != digest
}

func (x *tx) shownMember(m *message, one member, body bool) siding.Member {
	out := siding.Member{Message: shown(m, body), Source: one.source}
	if m.State == siding.StateDone {
		out.Result = copied(m.result)
	}
	sum := x.billOf(m.number)
	out.Calls, out.Usage, out.Cost, out.UnpricedCalls = sum.calls, sum.usage, sum.cost, sum.unpriced
	return out
}

// Reask makes done members of another digest ready again; see [siding.Manifest].
func (s *Store) Reask(ctx context.Context, id siding.InputID, digest string) (int64, error) {
	return s.changeStale(ctx, "Reask", id, digest, func(x *tx, m *message) bool {
		if m.NoBody { // there is nothing to ask with
			return false
		}
		x.reask(m)
		return true
	})
}

// reask makes a done message ready again, with its answer in the history.
func (x *tx) reask(m *message) {
	m.revise(siding.Revision{At: x.now, Kind: siding.RevisionReasked, Result: m.result, Digest: m.Digest})
	m.reset()
	m.State, m.AvailableAt = siding.StateReady, x.now
}

// KeepAnswers marks done members of another digest as answered under this one; see [siding.Manifest].
func (s *Store) KeepAnswers(ctx context.Context, id siding.InputID, digest string) (int64, error) {
	return s.changeStale(ctx, "KeepAnswers", id, digest, func(_ *tx, m *message) bool {
		m.Digest = siding.Scrub(digest, siding.MaxHeader)
		return true
	})
}

func (s *Store) changeStale(ctx context.Context, op string, id siding.InputID, digest string, change func(*tx, *message) bool) (int64, error) {
	var n int64
	err := s.write(ctx, op, func(x *tx) error {
		in, err := x.input(id, "")
		if err != nil {
			return err
		}
		for _, one := range in.members {
			m := *x.messages[one.number]
			if m.stale(digest) && change(x, &m) {
				x.put(&m)
				n++
			}
		}
		if n > 0 {
			x.did(siding.ActOf(ctx), siding.ActionReask, in.queue, changedStale(op, digest), n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// changedStale says what was done, for the audit trail.
func changedStale(op, digest string) string {
	if op == "Reask" {
		return "asked again under " + digest
	}
	return "answers kept under " + digest
}

// Readopt replaces the result of a done message; see [siding.Manifest].
func (s *Store) Readopt(ctx context.Context, queue, id string, j siding.Judgement, result []byte) error {
	return s.write(ctx, "Readopt", func(x *tx) error {
		m, err := x.find(queue, id)
		if err != nil {
			return err
		}
		if !slices.Contains(x.callsOf[m.number], j.Call) {
			return fmt.Errorf("call %d of message %q: %w", j.Call, siding.Scrub(id, 64), siding.ErrNotFound)
		}
		if !m.stale(j.Digest) {
			return fmt.Errorf("message %q is %s under digest %q: %w", siding.Scrub(id, 64), m.State, m.Digest, siding.ErrWrongState)
		}
		m.revise(siding.Revision{At: x.now, Kind: siding.RevisionReadopted, Result: m.result, Digest: m.Digest})
		m.result, m.Digest = copied(result), siding.Scrub(j.Digest, siding.MaxHeader)
		x.put(m)
		x.judge(m.number, j)
		return nil
	})
}
