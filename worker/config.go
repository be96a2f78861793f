package worker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/siding-dev/siding"
)

// The defaults and bounds of [Config].
const (
	DefaultConcurrency   = 8
	DefaultLease         = 60 * time.Second
	DefaultPoll          = 200 * time.Millisecond
	DefaultGrace         = 30 * time.Second
	DefaultSettleTimeout = 10 * time.Second

	maxConcurrency = 100_000
	maxSlots       = 1_000_000 // Concurrency × BatchSize
	minLease       = time.Second
	maxLease       = 12 * time.Hour
	minPoll        = time.Millisecond
	maxSpan        = 365 * 24 * time.Hour
)

// Config says what a worker does. The zero value of every field but Queue and one of the handlers is a sound default.
type Config struct {
	// Queue is the queue to work on. Required.
	Queue string
	// Handler does the work of one message. Exactly one of Handler and BatchHandler is set.
	Handler siding.Handler
	// BatchHandler does the work of up to BatchSize messages in one call.
	//
	// Each message is settled with what its item says, together with the others when the call has ended. Where an error
	// or a panic leaves one message unsettled, the failure is that message's; where it leaves several, nobody is charged,
	// and each of them is handed over again alone, in the same slot and under the same lease, one after the other. An error
	// that is [siding.Held] is not handed over again: it holds for all that are unsettled. The context of a call ends with
	// [siding.ErrLeaseLost] only when the leases of all its messages are lost.
	BatchHandler siding.BatchHandler
	// BatchSize is how many messages a call of BatchHandler gets at most; 0 means 1. At most 1,000,000 / Concurrency.
	// Without a BatchHandler it has no meaning.
	BatchSize int
	// Policy says how often a message is tried and how long it rests. The zero value means [siding.DefaultPolicy].
	Policy siding.Policy
	// Concurrency is how many calls of the handler run at once: the worker's slots. 0 means 8; 1 to 100,000. A slot is
	// taken from the lease of a message until its settlement is durable. Where a lane is watched it is the most: fewer run
	// in the beginning, after a rest, and where the service refuses more. Where the handler tells of the service's limits
	// ([siding.Result]), calls are spaced to keep them.
	Concurrency int
	// Lease is how long a message is claimed at a time. 0 means 60 s; 1 s to 12 h. It is extended when a third has
	// passed, for as long as the handler runs; so it bounds not the work, but how long a message of a worker that
	// vanished waits.
	Lease time.Duration
	// Poll is how often the store is asked for messages while it has none. 0 means 200 ms; at least 1 ms. A message whose
	// time is known to the store is fetched at that time, and [Worker.Wake] asks at once.
	Poll time.Duration
	// Input restricts the work to the members of an input. 0 means the whole queue.
	Input siding.InputID
	// Gates name what is at fault together with others: the account, the lane and the recipe of this work. The store keeps
	// their state for all workers, and lets nothing through where the fault is not the messages'; see [siding.Gate]. A gate
	// without a name is not watched, and the zero value watches none: then a held message waits while others go on, and a
	// fault that does not pass by itself ends Run with a [*HeldError].
	Gates siding.GateKeys
	// Wait says how long to wait for a hold that is in the way of everything, from when the worker first meets it. Run then
	// returns a [*HeldError], at the earliest when nothing is in flight. 0 or less means not to wait; a hold whose date is
	// out of reach is not waited for, and while a message is about to find out whether the fault has ended, the wait goes
	// on. It must be quick and must not call the worker. nil means to wait for ever.
	Wait func(siding.Hold) time.Duration
	// Then says where the results of this queue go back to: into a field of the message with the same event ID that was
	// forwarded here and waits (see [siding.Forward]). nil means nowhere, and a message that waits for one is set aside.
	Then *siding.Then
	// Drain ends [Worker.Run] when nothing of the queue (or input) is left to do: no message is ready, none waits for a
	// later time or for the result of another queue, and none is leased by anybody. false means to go on until stopped.
	Drain bool
	// Name is the worker's name in the history of the messages. Empty means host name and process number.
	Name string
	// Digest is the recipe digest that results carry. Empty means none.
	Digest string
	// Grace is how long a graceful stop waits for running handlers, before their contexts are cancelled with the cause
	// [siding.ErrShutdown]. 0 means 30 s; negative means not to wait.
	Grace time.Duration
	// SettleTimeout is how long one attempt to write an outcome may take, and how long a stopping worker tries to write
	// what is left. 0 means 10 s; never cut short by a cancelled context. A handler that ignores its cancelled context is
	// waited for half as long; see [Worker.Run].
	SettleTimeout time.Duration
	// GiveUp ends Run with the store's error when the store has answered with nothing but errors for so long. 0 means
	// never: the worker goes on trying. A store that is closed, or not for this program, ends Run at once in any case.
	GiveUp time.Duration
	// Logger gets what an operator should see: faults of the store, lost leases, holds (warnings), dead letters and rests
	// (information), and each delivery (debug). nil means no log.
	Logger *slog.Logger
	// Observe is called with every [Event], in order, by one goroutine. It must be quick, as the worker waits for it, and
	// must not call the worker. A panic in it is logged. nil means that nobody looks.
	Observe func(Event)
	// Seed makes the worker's random choices (jitter) repeatable. 0 means a random seed.
	Seed uint64
}

// withDefaults gives the configuration with every field filled in, or what is wrong with it, all at once.
func (c Config) withDefaults() (Config, error) {
	if reflect.ValueOf(c.Policy).IsZero() {
		c.Policy = siding.DefaultPolicy()
	}
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.BatchSize = cmp.Or(c.BatchSize, 1)
	if c.BatchHandler == nil {
		c.BatchSize = 1
	}
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.Poll = cmp.Or(c.Poll, DefaultPoll)
	c.Grace = max(cmp.Or(c.Grace, DefaultGrace), 0)
	c.SettleTimeout = cmp.Or(c.SettleTimeout, DefaultSettleTimeout)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}

	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Queue == "" {
		wrong("Queue is empty; name the queue to work on")
	}
	if (c.Handler == nil) == (c.BatchHandler == nil) {
		wrong("set exactly one of Handler and BatchHandler")
	}
	if c.Concurrency < 1 || c.Concurrency > maxConcurrency {
		wrong("Concurrency is %d; it must be 1 to %d", c.Concurrency, maxConcurrency)
	} else if c.BatchSize < 1 || c.BatchSize > maxSlots/c.Concurrency {
		wrong("BatchSize is %d; with a Concurrency of %d it must be 1 to %d", c.BatchSize, c.Concurrency, maxSlots/c.Concurrency)
	}
	span := func(name string, d, least, most time.Duration) {
		if d < least || d > most {
			wrong("%s is %v; it must be %v to %v", name, d, least, most)
		}
	}
	span("Lease", c.Lease, minLease, maxLease)
	span("Poll", c.Poll, minPoll, maxSpan)
	span("Grace", c.Grace, 0, maxSpan)
	span("SettleTimeout", c.SettleTimeout, time.Millisecond, maxSpan)
	span("GiveUp", c.GiveUp, 0, maxSpan)
	for _, one := range []struct {
		key   siding.GateKey
		scope siding.Scope
	}{{c.Gates.Account, siding.ScopeAccount}, {c.Gates.Lane, siding.ScopeLane}, {c.Gates.Recipe, siding.ScopeRecipe}} {
		if one.key.Name != "" && one.key.Scope != one.scope {
			wrong("Gates: the key %q stands where one of the scope %s belongs", siding.Scrub(one.key.String(), 256), one.scope)
		}
	}
	if c.Then != nil {
		if _, err := siding.ParsePointer(c.Then.Field); err != nil || c.Then.Field == "" {
			wrong("Then.Field is %q; it must be a JSON Pointer to a field", siding.Scrub(c.Then.Field, 256))
		}
		if c.Then.Queue == "" || c.Then.Queue == c.Queue {
			wrong("Then.Queue is %q; name the other queue that the results go back to", siding.Scrub(c.Then.Queue, 256))
		}
	}
	if err := c.Policy.Validate(); err != nil {
		wrong("Policy: %w", err)
	}
	return c, errors.Join(errs...)
}
