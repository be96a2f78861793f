package storetest

import (
	"cmp"
	"context"
	"slices"

	"github.com/siding-dev/siding"
)

// waits: what waits for the result of another queue can never be leased, and stands where its copy does.
func (c *checker) waits(ctx context.Context, store siding.Store, r *siding.Record) {
	rule := func(holds bool, format string, args ...any) {
		if !holds {
			c.broken(r.Queue, r.ID, format, args...)
		}
	}
	ready := r.State == siding.StateReady
	rule(!ready || (r.WaitsFor != "") == r.AvailableAt.Equal(siding.Never), "waits for %q, and may be leased at %v", r.WaitsFor, r.AvailableAt)
	returned := 0
	for _, v := range r.Revisions {
		switch v.Kind {
		case siding.RevisionReturned:
			returned++
		case siding.RevisionSuperseded:
			returned = 0
		}
	}
	rule(r.Returned == returned, "says that %d results have come into it, and its history %d", r.Returned, returned)
	if r.WaitsFor == "" {
		return
	}
	rule(ready || r.State == siding.StateDead, "is %s, and waits for %q", r.State, r.WaitsFor)
	copied, err := store.Get(ctx, r.WaitsFor, r.ID)
	if err != nil {
		c.broken(r.Queue, r.ID, "waits for a copy in %q that cannot be read: %v", r.WaitsFor, err)
		return
	}
	alive := copied.State == siding.StateReady || copied.State == siding.StateLeased
	rule(ready && alive || !ready && copied.State == siding.StateDead, "is %s, and its copy in %q is %s", r.State, r.WaitsFor, copied.State)
}

// countWaiting adds to the count of those that wait for a queue.
func countWaiting(q *siding.QueueStats, other string) {
	at, found := slices.BinarySearchFunc(q.Waiting, siding.WaitCount{Queue: other}, func(a, b siding.WaitCount) int {
		return cmp.Compare(a.Queue, b.Queue)
	})
	if !found {
		q.Waiting = slices.Insert(q.Waiting, at, siding.WaitCount{Queue: other})
	}
	q.Waiting[at].Count++
}
