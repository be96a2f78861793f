package sqlite

import (
	"cmp"
	"log/slog"
	"time"
)

// Mode says whether a store holds simulated work. A store is marked when it is created, for good.
type Mode uint8

// The modes in which a store is opened.
const (
	Any       Mode = iota // whatever it is; a new store is real
	Real                  // a simulated store is refused with [siding.ErrStoreMode]
	Simulated             // a real store is refused with [siding.ErrStoreMode]
)

// DefaultMinFree is the room on the disk without which no new call starts, in bytes.
const DefaultMinFree = 256 << 20

// Options changes how a store is opened; the zero value is what a program that works on one wants.
type Options struct {
	// MustExist refuses a path where there is no store, with an error wrapping [os.ErrNotExist]. Default: it is created.
	MustExist bool
	// ReadOnly opens the store for looking only: nothing is written, also not to the disk it lies on, and every method
	// that would write gives [siding.ErrReadOnly]. It implies MustExist.
	ReadOnly bool
	// Mode says whether the work is simulated; see there. Default [Any].
	Mode Mode
	// Clock gives the wall clock. Default [time.Now].
	Clock func() time.Time
	// MinFree is how many bytes must be free on the disk for a call to start: an answer that is paid for must find room.
	// 0 is [DefaultMinFree]; a negative number asks for none.
	MinFree int64
	// Logger gets what no caller is told: what was freed when the store was opened. Default: nothing is logged.
	Logger *slog.Logger
	// Hook is for tests of failures. It is called at the points named by the Point constants, with the name of the operation
	// (or "group" for a whole transaction); an error from it takes the place of what would have happened there, and it may
	// wait. It is called by the goroutine that writes, and must not call the store.
	Hook func(point, op string) error
}

// The points at which [Options.Hook] is called.
const (
	PointBefore       = "before"        // before an operation: it has written nothing
	PointAfter        = "after"         // after an operation, inside the transaction: an error undoes it alone
	PointBeforeCommit = "before-commit" // before the transaction is committed: an error undoes the whole group
	PointAfterCommit  = "after-commit"  // it is durable, and nobody has been told: an error takes the place of each reply
)

// busyTimeout is how long a write waits for another program that holds SQLite's write lock.
const busyTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	o.MustExist = o.MustExist || o.ReadOnly
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.MinFree = cmp.Or(o.MinFree, DefaultMinFree)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
