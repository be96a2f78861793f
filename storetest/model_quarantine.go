package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

// back sends messages back with another body, which may be made of the one that they have or of another.
func (m *model) back(*rapid.T) {
	id := m.id()
	r := siding.Return{ID: id, Note: "mended"}
	if rapid.Bool().Draw(m.T, "another body") {
		r.Body = fmt.Append(nil, "mended", rapid.IntRange(0, 2).Draw(m.T, "body"))
	}
	if rapid.Bool().Draw(m.T, "other headers") {
		r.Headers = map[string]string{"n": fmt.Sprint(rapid.IntRange(0, 1).Draw(m.T, "header"))}
	}
	if rapid.Bool().Draw(m.T, "of a body") {
		if now, err := m.ref.Get(m.ctx, m.queue, id); err == nil {
			r.From = hashOf(now.Body)
		}
		if rapid.IntRange(0, 4).Draw(m.T, "of another") == 4 {
			r.From = hashOf([]byte("another"))
		}
	}
	got, err := m.f.store.Return(m.ctx, m.queue, r)
	require.NoError(m, err)
	want, err := m.ref.Return(m.ctx, m.queue, r)
	require.NoError(m, err)
	require.Equal(m, outcome(want[0]), outcome(got[0]))
}

// markGroup marks a group of the queue.
func (m *model) markGroup(*rapid.T) {
	all := m.groups(m.ref)
	if len(all) == 0 {
		m.Skip("no group yet")
	}
	of := rapid.SampledFrom(all).Draw(m.T, "group")
	if of.Key.Fingerprint == "" {
		m.Skip("the two stores have their own words for it")
	}
	state := rapid.SampledFrom(siding.GroupStates()).Draw(m.T, "state")
	for _, s := range []siding.Store{m.f.store, m.ref} {
		require.NoError(m, s.MarkGroup(m.ctx, siding.GroupKey{Queue: m.queue, Fingerprint: of.Key.Fingerprint}, state, "why"))
	}
}

// groups gives what stores must agree on about the groups of the queue.
func (m *model) groups(s siding.Store) []siding.Group {
	all, err := s.Groups(m.ctx, siding.GroupQuery{Queue: m.queue, Empty: true})
	require.NoError(m, err)
	var out []siding.Group
	for _, g := range all {
		v := siding.Group{
			Key: g.Key, Cause: g.Cause, State: g.State, Note: g.Note, Dead: g.Dead, Arrived: g.Arrived,
		}
		switch g.Cause {
		case siding.CauseExpired, siding.CauseLeaseLost, siding.CauseWorkerCrash, siding.CauseShutdown, siding.CauseHostRestart:
			v.Key.Fingerprint = "" // in a store's own words
		}
		out = append(out, v)
	}
	return out
}

// redriveSelected sends a selection back.
func (m *model) redriveSelected(*rapid.T) {
	s := siding.Selection{Queue: m.queue}
	switch rapid.IntRange(0, 3).Draw(m.T, "selection") {
	case 1:
		s.IDs = rapid.SliceOfN(rapid.SampledFrom(modelIDs), 1, 3).Draw(m.T, "ids")
	case 2:
		s.Causes = []siding.Cause{siding.CauseInvalidRequest, siding.CauseTruncated}
	case 3:
		s.Reasons = []siding.Reason{siding.ReasonExpired, siding.ReasonPoison}
	}
	limit := rapid.IntRange(1, 3).Draw(m.T, "limit")
	got, err := m.f.store.RedriveSelected(m.ctx, s, limit)
	require.NoError(m, err)
	want, err := m.ref.RedriveSelected(m.ctx, s, limit)
	require.NoError(m, err)
	require.Equal(m, want, got)
}

// drop drops bodies, of dead letters for the most part.
func (m *model) drop(*rapid.T) {
	if rapid.IntRange(0, 2).Draw(m.T, "really") != 2 { // little can be done with a message that has none
		m.Skip("not now")
	}
	d := siding.Drop{
		What: rapid.SampledFrom(siding.DropWhats()).Draw(m.T, "what"), Queue: m.queue, Limit: 100,
		Before: m.now(m.f.store).Add(time.Hour),
	}
	got, err := m.f.store.DropBodies(m.ctx, d)
	require.NoError(m, err)
	d.Before = m.now(m.ref).Add(time.Hour)
	want, err := m.ref.DropBodies(m.ctx, d)
	require.NoError(m, err)
	require.Equal(m, want, got)
}
