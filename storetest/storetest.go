// Package storetest is the conformance suite of stores: the cases, races and injected faults that every
// [siding.Store] must pass. What it asks for stands in the comments of that interface, and in no implementation.
//
// A store's own test calls [Run] with a [Harness]. The suite moves the store's clock itself, and waits for nothing.
package storetest

import (
	"testing"
	"time"

	"github.com/siding-dev/siding"
)

// Harness says how to make the stores under test.
type Harness struct {
	// New makes the data of a new and empty store, which is gone with the end of t. It is called from parallel tests.
	New func(t testing.TB, o Options) Data
}

// Options are what the suite asks of a store.
type Options struct {
	// Clock is to be the store's wall clock.
	Clock func() time.Time
	// Hook is to be called in every write, at each Point, with the name of the method in any spelling that keeps its
	// letters (StartCall, startcall, start-call); at the points around a commit, which may be of many writes at once, with
	// that or with "group". An error must fail the write there, and come back from the method. What the hook does changes
	// while the store is open.
	Hook func(point, op string) error
}

// The points of a write at which a hook is called.
const (
	PointBefore       = "before"        // nothing has been written yet
	PointAfter        = "after"         // the method's changes are made, but not kept: an error undoes them alone
	PointBeforeCommit = "before-commit" // they are about to be kept, perhaps with those of others: an error undoes all
	PointAfterCommit  = "after-commit"  // they are durable; only the answers get lost
)

// Data is what several processes may open at once. Where an ability is nil, the cases that need it are skipped.
type Data struct {
	// Open opens the data, each time as another process. The suite closes what it opens, unless it has killed it.
	Open func(t testing.TB) siding.Store
	// Kill ends the process of a store without any cleanup, so that it is proven dead; the store is not used again.
	Kill func(t testing.TB, s siding.Store)
	// Restart does the same to every process at once, so that the next Open finds that the machine was restarted.
	Restart func(t testing.TB)
	// Outdate gives the dead letters of a group the fingerprint of an older version, and what is known of it to that one's
	// group: as if that version had set them aside.
	Outdate func(t testing.TB, k siding.GroupKey, fingerprint string)
	// Corrupt makes the row of a message unreadable, as a fault of the disk would. The message is not used again.
	Corrupt func(t testing.TB, queue, id string)
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.run(t, h)
		})
	}
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		runModel(t, h)
	})
}

// group is what belongs together.
type group struct {
	name  string
	cases []testCase
	apart bool // each case needs data of its own, not only a queue
}

type testCase struct {
	name string
	run  func(f *fixture)
}

func (g group) run(t *testing.T, h Harness) {
	t.Helper()
	var ground *ground
	for _, c := range g.cases {
		if g.apart {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				own := newGround(t, h)
				if own.run(t, c) {
					own.leave(t)
				}
			})
			continue
		}
		if ground == nil {
			ground = newGround(t, h)
		}
		sound := false
		t.Run(c.name, func(t *testing.T) { sound = ground.run(t, c) })
		if !sound { // the next case begins on new ground
			ground = nil
		}
	}
	if ground != nil {
		ground.leave(t)
	}
}
