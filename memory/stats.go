package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/siding-dev/siding"
)

// bill adds up calls.
type bill struct {
	calls, unknown, unpriced int64
	cost, unknownMax         siding.Money
	usage                    siding.Usage
}

func (b *bill) add(c *call) {
	b.calls++
	b.usage = b.usage.Add(c.Usage)
	switch {
	case c.Maybe():
		b.unknown++
		if c.Priced {
			b.unknownMax = b.unknownMax.Add(c.WorstCost)
		}
	case c.Fate == siding.FateAnswered && !c.Priced:
		b.unpriced++
	case c.Fate == siding.FateAnswered:
		b.cost = b.cost.Add(c.Cost)
	}
}

// billOf adds up the calls for a message and for its copies in other queues.
func (x *tx) billOf(number int64) (sum bill) {
	for _, n := range append([]int64{number}, x.copies[number]...) {
		for _, c := range x.callsFor(n) {
			sum.add(c)
		}
	}
	return sum
}

func (b *bill) join(o bill) {
	b.calls, b.unknown, b.unpriced = b.calls+o.calls, b.unknown+o.unknown, b.unpriced+o.unpriced
	b.cost, b.unknownMax, b.usage = b.cost.Add(o.cost), b.unknownMax.Add(o.unknownMax), b.usage.Add(o.usage)
}

// wait counts a message that waits for another queue.
func wait(counts []siding.WaitCount, m *message) []siding.WaitCount {
	if m.State != siding.StateReady || m.WaitsFor == "" {
		return counts
	}
	at, found := slices.BinarySearchFunc(counts, m.WaitsFor, func(w siding.WaitCount, q string) int { return cmp.Compare(w.Queue, q) })
	if !found {
		counts = slices.Insert(counts, at, siding.WaitCount{Queue: m.WaitsFor})
	}
	counts[at].Count++
	return counts
}

// groups counts dead letters by cause and fingerprint.
type groups map[siding.CauseCount]*siding.CauseCount

func (g groups) add(m *message) {
	if m.State != siding.StateDead || m.LastError == nil {
		return
	}
	k := siding.CauseCount{Cause: m.LastError.Cause, Fingerprint: m.LastError.Fingerprint}
	if g[k] == nil {
		c := k
		c.Sample = m.LastError.Text
		g[k] = &c
	}
	g[k].Count++
}

func (g groups) sorted() []siding.CauseCount {
	var out []siding.CauseCount
	for c := range maps.Values(g) {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b siding.CauseCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out
}

// InputStats counts the members of an input and their calls; see [siding.Manifest].
func (s *Store) InputStats(ctx context.Context, id siding.InputID, digest string) (siding.InputStats, error) {
	var out siding.InputStats
	err := s.read(ctx, func(x *tx) error {
		in, err := x.input(id, "")
		if err != nil {
			return err
		}
		var sum bill
		causes := groups{}
		for _, one := range in.members {
			m := x.messages[one.number]
			countMember(&out, m, digest)
			causes.add(m)
			sum.join(x.billOf(m.number))
		}
		out.Calls, out.UnknownCalls, out.UnpricedCalls = sum.calls, sum.unknown, sum.unpriced
		out.Cost, out.UnknownMax, out.Usage = sum.cost, sum.unknownMax, sum.usage
		out.Causes = causes.sorted()
		return nil
	})
	return out, err
}

func countMember(out *siding.InputStats, m *message, digest string) {
	out.Enqueued++
	switch m.State {
	case siding.StateDone:
		out.Done++
		if m.stale(digest) {
			out.Stale++
		}
		return
	case siding.StateDead:
		out.Dead++
		return
	case siding.StateDiscarded:
		out.Discarded++
		return
	case siding.StateLeased:
		out.Leased++
	}
	out.Pending++
	out.Waiting = wait(out.Waiting, m)
	if m.Attempt > 0 {
		out.Retrying++
	}
}

// Stats counts the messages of queues; see [siding.Operator].
func (s *Store) Stats(ctx context.Context, queue string) ([]siding.QueueStats, error) {
	var out []siding.QueueStats
	err := s.read(ctx, func(x *tx) error {
		byQueue := map[string]*siding.QueueStats{}
		bills, causes := map[string]*bill{}, map[string]groups{}
		x.each(queue, func(m *message) {
			q := m.Queue
			if byQueue[q] == nil {
				byQueue[q] = &siding.QueueStats{Queue: q, StaleSettles: x.stale[q]}
				bills[q], causes[q] = &bill{}, groups{}
			}
			x.countMessage(byQueue[q], m)
			causes[q].add(m)
			for _, c := range x.callsFor(m.number) {
				bills[q].add(c)
			}
		})
		for _, q := range slices.Sorted(maps.Keys(byQueue)) {
			st, sum := byQueue[q], bills[q]
			st.Calls, st.UnknownCalls, st.UnpricedCalls = sum.calls, sum.unknown, sum.unpriced
			st.Cost, st.UnknownMax, st.Causes = sum.cost, sum.unknownMax, causes[q].sorted()
			out = append(out, *st)
		}
		return nil
	})
	return out, err
}

func (x *tx) countMessage(out *siding.QueueStats, m *message) {
	switch m.State {
	case siding.StateReady:
		out.Ready++
		out.Waiting = wait(out.Waiting, m)
		if m.AvailableAt.After(x.now) {
			out.Delayed++
		}
		if m.Attempt > 0 {
			out.Retrying++
		}
		if out.OldestReady.IsZero() || m.ReceivedAt.Before(out.OldestReady) {
			out.OldestReady = m.ReceivedAt
		}
	case siding.StateLeased:
		out.Leased++
	case siding.StateDone:
		out.Done++
	case siding.StateDead:
		out.Dead++
	case siding.StateDiscarded:
		out.Discarded++
	}
}
