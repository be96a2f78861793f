package postgres

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

// DefaultSchema is the schema that holds a store where neither the address nor [Options] name another.
const DefaultSchema = "siding"

// DefaultConns is how many connections a store opens at most.
const DefaultConns = 6

// Options changes how a store is opened; the zero value is what a program that works on one wants.
type Options struct {
	// Schema is the schema that holds the store's tables; it is created when it is missing. Default: the parameter schema
	// of the address, else [DefaultSchema]. Several stores may share a database, each in a schema of its own.
	Schema string
	// Conns is how many connections the store opens at most, at least 2. Default [DefaultConns].
	Conns int
	// MustExist refuses a database where there is no store, with an error wrapping [os.ErrNotExist]. Default: it is created.
	MustExist bool
	// ReadOnly opens the store for looking only: nothing is written, and every method that would write gives
	// [siding.ErrReadOnly]. It implies MustExist. A standby can be looked at like that.
	ReadOnly bool
	// Mode says whether the work is simulated; see there. Default [Any].
	Mode Mode
	// Clock gives the wall clock, for tests. Default: the server's, which is the only one that all processes share.
	Clock func() time.Time
	// Logger gets what no caller is told: what was freed when the store was opened, who was found dead. Default: nothing
	// is logged.
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

func (o Options) withDefaults() Options {
	o.MustExist = o.MustExist || o.ReadOnly
	o.Conns = max(cmp.Or(o.Conns, DefaultConns), 2)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
