package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

// sameTime asks for the same moment since the beginning of the run on both stores' clocks.
func (m *model) sameTime(ref, sut time.Time, what string) {
	require.WithinDuration(m, ref, sut.Add(m.refBase.Sub(m.sutBase)), 5*time.Millisecond, "%s", what)
}

// compare asks for the same of every message in both stores.
func (m *model) compare() {
	m.compareGates()
	for _, id := range modelIDs {
		got, gotErr := m.f.store.Get(m.ctx, m.queue, id)
		want, wantErr := m.ref.Get(m.ctx, m.queue, id)
		require.Equal(m, outcome(wantErr), outcome(gotErr), id)
		if wantErr != nil {
			continue
		}
		g, gotTimes := m.view(got)
		w, wantTimes := m.view(want)
		require.Equal(m, w, g, "message %s", id)
		require.Len(m, gotTimes, len(wantTimes))
		for i := range wantTimes {
			m.sameTime(wantTimes[i], gotTimes[i], "message "+id)
		}
	}
}

// view gives what stores must agree on about a message, and the times in it apart. What a store may word or number as it
// likes is taken out: call numbers, notes, the texts of its own interruptions.
func (m *model) view(r *siding.Record) (siding.Record, []time.Time) {
	var times []time.Time
	at := func(t *time.Time) {
		times = append(times, *t)
		*t = time.Time{}
	}
	v := *r
	v.Source = nil
	if v.ContentType == "" {
		v.ContentType = "application/json"
	}
	if len(v.Headers) == 0 {
		v.Headers = nil
	}
	at(&v.ReceivedAt)
	if v.State == siding.StateReady {
		at(&v.AvailableAt)
	}
	v.AvailableAt = time.Time{}
	if v.State == siding.StateDead {
		at(&v.DeadAt)
	}
	if v.State == siding.StateLeased {
		at(&v.LeasedUntil)
	}
	for _, t := range []*time.Time{&v.ExpiresAt, &v.HeldAt} {
		if !t.IsZero() {
			at(t)
		}
	}
	v.LastError = worded(v.LastError)
	v.History, v.Revisions, v.Calls = nil, nil, nil
	for _, h := range r.History {
		at(&h.StartedAt)
		at(&h.EndedAt)
		h.Error = worded(h.Error)
		v.History = append(v.History, h)
	}
	for _, rev := range r.Revisions {
		at(&rev.At)
		rev.Note = ""
		if len(rev.Body) == 0 {
			rev.Body = nil
		}
		if len(rev.Result) == 0 {
			rev.Result = nil
		}
		v.Revisions = append(v.Revisions, rev)
	}
	for i, c := range r.Calls {
		at(&c.StartedAt)
		at(&c.Deadline)
		if !c.EndedAt.IsZero() {
			at(&c.EndedAt)
		}
		c.ID = siding.CallID(i)
		c.Error = worded(c.Error)
		v.Calls = append(v.Calls, c)
	}
	return v, times
}

// worded gives a stored failure without the words that a store chose itself.
func worded(e *siding.LastError) *siding.LastError {
	if e == nil {
		return nil
	}
	c := *e
	if c.Outcome == siding.OutcomeInterrupted || c.Cause == siding.CauseExpired {
		c.Text, c.Fingerprint, c.Outcome = "", "", ""
	}
	return &c
}

// compareQueue asks for the same of the queue as a whole.
func (m *model) compareQueue() {
	stats := func(s siding.Store) siding.QueueStats {
		out, err := s.Stats(m.ctx, m.queue)
		require.NoError(m, err)
		if len(out) == 0 {
			return siding.QueueStats{Queue: m.queue}
		}
		st := out[0]
		st.OldestReady = time.Time{}
		for i, c := range st.Causes {
			if c.Cause == siding.CauseExpired {
				c.Fingerprint = ""
			}
			st.Causes[i] = siding.CauseCount{Cause: c.Cause, Fingerprint: c.Fingerprint, Count: c.Count}
		}
		if len(st.Causes) == 0 {
			st.Causes = nil
		}
		return st
	}
	listed := func(s siding.Store, states ...siding.State) (out []string) {
		for l, err := range s.List(m.ctx, siding.Selection{Queue: m.queue, States: states}) {
			require.NoError(m, err)
			out = append(out, l.ID)
		}
		return out
	}
	w, g := stats(m.ref), stats(m.f.store)
	require.ElementsMatch(m, w.Causes, g.Causes)
	w.Causes, g.Causes = nil, nil
	require.Equal(m, w, g)
	require.ElementsMatch(m, m.groups(m.ref), m.groups(m.f.store))
	require.Equal(m, listed(m.ref, siding.StateDead), listed(m.f.store, siding.StateDead))
	require.ElementsMatch(m, listed(m.ref), listed(m.f.store))
}
