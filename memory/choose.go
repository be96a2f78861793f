package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// waiting are the ready messages of a request's scope.
type waiting struct {
	untried, failed []*message // that may be leased with others, by priority and age
	alone           []*message // that may not
	later           time.Time  // when the next comes due that is not due yet; zero: none
}

func (w waiting) ordinary() int { return len(w.untried) + len(w.failed) }

// waiting gives the messages that wait; wanted says which count.
func (x *tx) waiting(queue string, wanted func(*message) bool) (w waiting) {
	x.each(queue, func(m *message) {
		switch {
		case m.State != siding.StateReady || m.WaitsFor != "" || !wanted(m):
		case m.AvailableAt.After(x.now):
			if w.later.IsZero() || m.AvailableAt.Before(w.later) {
				w.later = m.AvailableAt
			}
		case m.Suspect || m.Alone:
			w.alone = append(w.alone, m)
		case m.Attempt == 0:
			w.untried = append(w.untried, m)
		default:
			w.failed = append(w.failed, m)
		}
	})
	byPriority := func(a, b *message) int { return cmp.Compare(b.Priority, a.Priority) } // stable: then by age
	slices.SortStableFunc(w.untried, byPriority)
	slices.SortStableFunc(w.failed, byPriority)
	return w
}

// patience is how long a message that has to be alone waits for ordinary work to end.
const patience = 5 * time.Minute

// solo gives the message that is to be leased alone, or nil, and whether its turn has come: then nothing else is leased,
// also while this process is not empty yet.
func (x *tx) solo(w waiting) (m *message, turn bool) {
	for _, one := range w.alone {
		if w.ordinary() > 0 && x.now.Sub(one.AvailableAt) < patience {
			continue
		}
		if m == nil || one.SoloCrashes < m.SoloCrashes {
			m = one
		}
	}
	if m == nil {
		return nil, false
	}
	if x.inFlight(func(*message) bool { return true }) {
		return nil, true
	}
	return m, true
}

// inFlight tells whether this process has a message leased of which f holds. A lease that has run out counts no more:
// where nobody leases from its queue, nobody takes it back.
func (x *tx) inFlight(f func(*message) bool) (found bool) {
	x.each("", func(m *message) {
		found = found || m.State == siding.StateLeased && m.lease.proc == x.proc && x.now.Before(m.lease.until) && f(m)
	})
	return found
}

// choose gives the messages to lease, at most so many: untried ones by priority and age, with at most r.MaxRetries of
// those that have failed before; where untried ones leave room, those that have failed fill it. A message that has to be
// alone is the only one.
func (x *tx) choose(r siding.LeaseRequest, w waiting, most int) []*message {
	if m, turn := x.solo(w); turn {
		return one(m)
	}
	retries := min(len(w.failed), most)
	if r.MaxRetries >= 0 {
		retries = min(retries, max(r.MaxRetries, most-len(w.untried)))
	}
	return append(w.failed[:retries:retries], w.untried[:min(len(w.untried), most-retries)]...)
}

// probe chooses the one message that finds out whether a fault has ended, by chance.
func (x *tx) probe(r siding.LeaseRequest, w waiting) []*message {
	if m, turn := x.solo(w); turn {
		return one(m)
	}
	all := w.untried
	if len(all) == 0 || r.MaxRetries != 0 {
		all = append(slices.Clip(all), w.failed...)
	}
	if len(all) == 0 {
		return nil
	}
	n := min(max(int(r.Rand*float64(len(all))), 0), len(all)-1)
	return all[n : n+1]
}

func one(m *message) []*message {
	if m == nil {
		return nil
	}
	return []*message{m}
}
