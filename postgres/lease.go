package postgres

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// Lease claims messages; see [siding.Queue].
func (s *Store) Lease(ctx context.Context, r siding.LeaseRequest) (siding.Leased, error) {
	if r.Max > 0 && r.Duration <= 0 {
		return siding.Leased{}, fmt.Errorf("a lease of %v ends before it begins", r.Duration)
	}
	r.Worker = siding.Scrub(r.Worker, siding.MaxHeader)
	var out siding.Leased
	err := s.do(&op{ctx: ctx, name: "lease", shared: true, gates: []siding.GateKeys{r.Gates}, run: func(t *tx) (err error) {
		out, err = t.lease(r)
		return err
	}})
	if err != nil {
		return siding.Leased{}, err
	}
	return out, nil
}

// claim is one request at work.
type claim struct {
	siding.LeaseRequest
	q     int64
	scope tallyScope
	until time.Time
	out   siding.Leased
	glimpse
	aside int // how many were set aside instead of being given
}

func (t *tx) lease(r siding.LeaseRequest) (siding.Leased, error) {
	q, err := t.queue(r.Queue, false)
	if err != nil {
		return siding.Leased{}, err
	}
	c := &claim{LeaseRequest: r, q: q, scope: tallyScope{q, int64(r.Input)}, until: fromMicros(t.now).Add(r.Duration)}
	c.out.Now = fromMicros(t.now)
	if q == 0 { // it is empty, but gates may be in its way
		err := t.admit(c)
		return c.out, err
	}
	if r.Input != 0 {
		if _, err := inputQueue(t.conn, r.Input); err != nil {
			return c.out, err
		}
	}
	if err := t.look(c); err != nil {
		return c.out, err
	}
	if err := t.sweep(c); err != nil {
		return c.out, err
	}
	if err := t.admit(c); err != nil {
		return c.out, err
	}
	n, err := t.leasedIn(c.scope)
	c.out.InFlight = int(n)
	return c.out, err
}

// choose takes untried messages, by priority and age, and then those that have failed before: at most MaxRetries while
// untried ones wait that could have been given.
func (t *tx) choose(c *claim) error {
	// What waits for another queue is not given, and keeps the work from being over.
	if _, err := t.next(c, turnWaiting); err != nil {
		return err
	}
	if apart, err := t.anyApart(c); err != nil {
		return err
	} else if apart {
		if err := t.mustBeAlone(); err != nil {
			return err
		}
		if err := t.chooseAlone(c); err != nil {
			return err
		}
	}
	if c.Max <= 0 {
		if _, err := t.next(c, turnUntried); err != nil {
			return err
		}
		if _, err := t.next(c, turnTried); err != nil {
			return err
		}
		return t.takeForeign(c)
	}
	// Retries come first in the reckoning: they may take up to their share even when untried messages could fill everything.
	retries := c.Max
	if c.MaxRetries >= 0 {
		retries = min(retries, c.MaxRetries)
	}
	taken, err := t.take(c, turnTried, retries)
	if err != nil {
		return err
	}
	if _, err := t.take(c, turnUntried, c.Max-taken); err != nil {
		return err
	}
	waiting, err := t.next(c, turnUntried)
	if err != nil {
		return err
	}
	// Nothing untried is left that could be given: retries may use what is free.
	if !waiting && len(c.out.Deliveries) < c.Max && taken == retries {
		if _, err := t.take(c, turnTried, c.Max-len(c.out.Deliveries)); err != nil {
			return err
		}
	}
	if _, err := t.next(c, turnTried); err != nil {
		return err
	}
	if len(c.out.Deliveries) < c.Max {
		return t.takeForeign(c)
	}
	return nil
}

// chooseAlone leases a message that is to be alone, when its turn has come; then nothing else is given. It also notes when
// the next of them comes due.
func (t *tx) chooseAlone(c *claim) error {
	if c.Max > 0 {
		ordinary, err := t.due(c, turnUntried)
		if err == nil && !ordinary {
			ordinary, err = t.due(c, turnTried)
		}
		if err != nil {
			return err
		}
		id, turn, err := t.alone(c, anyMessage, ordinary)
		defer c.voidAll()
		if err == nil && id != 0 {
			_, _, err = t.give(c, readyOne, id)
		}
		if err != nil {
			return err
		}
		if turn {
			c.Max = 0
		}
	}
	at, err := t.apartAfter(c, anyMessage, math.MinInt64)
	if at != 0 {
		c.noteNext(fromMicros(at))
	}
	return err
}

// The ready messages of a queue, or of an input, stand in an index by turn, priority, time and number. Within one
// priority those that are due come before those that are not, so looking stops at the first that is not due and goes on
// with the next priority: however many wait for a later time, they cost nothing.
const (
	readyOf      = ` FROM messages m WHERE m.state = 'ready' AND m.queue = ? AND m.turn = ?`
	readyOfInput = ` FROM messages m WHERE m.state = 'ready' AND m.input = ? AND m.turn = ?`

	topPriority   = ` AND m.priority < ? ORDER BY m.priority DESC, m.available_at, m.id LIMIT 1`
	dueAtPriority = ` AND m.priority = ? AND m.available_at <= ? ORDER BY m.available_at, m.id LIMIT ?` + lockFound

	// lockFound locks the messages that a query finds, and passes by those that another process is about to lease.
	lockFound = " FOR NO KEY UPDATE OF m SKIP LOCKED"
)

var (
	topOf      = "SELECT m.priority, m.available_at" + readyOf + topPriority
	topOfInput = "SELECT m.priority, m.available_at" + readyOfInput + topPriority
	dueOf      = shortColumns + withBody(readyOf) + dueAtPriority
	dueOfInput = shortColumns + withBody(readyOfInput) + dueAtPriority
)

func withBody(from string) string {
	return strings.Replace(from, " WHERE ", " LEFT JOIN bodies b ON b.message = m.id WHERE ", 1)
}

// pick gives the query for the claim's scope and its first argument.
func (c *claim) pick(queue, input string) (string, int64) {
	if c.Input != 0 {
		return input, int64(c.Input)
	}
	return queue, c.q
}

// take gives up to n due messages to the claim: untried ones, or those that have failed before. A message is marked as
// leased at once, so that nothing is given twice.
func (t *tx) take(c *claim, turn, n int) (taken int, err error) {
	for below := int64(math.MaxInt64); taken < n && c.aside < sweepMost; {
		priority, at, found, err := t.top(c, turn, below)
		if err != nil || !found {
			return taken, err
		}
		if at > t.now {
			below = priority
			continue
		}
		// The same priority is looked at again: what cannot be given has been set aside, and the next ones move up.
		query, of := c.pick(dueOf, dueOfInput)
		aside := c.aside
		seen, given, err := t.give(c, query, of, turn, priority, t.now, n-taken)
		if c.void(turn); c.aside > aside {
			c.voidAll()
		}
		if err != nil {
			return taken, err
		}
		taken += given
		if seen == 0 {
			below = priority
		}
	}
	return taken, nil
}

// top finds the highest priority below another, and the earliest time in it.
func (t *tx) top(c *claim, turn int, below int64) (priority, at int64, found bool, err error) {
	if seen, ok := c.tops[turn]; ok && below == math.MaxInt64 {
		return seen.priority, seen.at, seen.found, nil
	}
	query, of := c.pick(topOf, topOfInput)
	found, err = t.one(func(r *row) { priority, at = r.int(0), r.int(1) }, query, of, turn, below)
	return priority, at, found, err
}

// next notes when the next message comes due that was not given, and tells whether one is due already.
func (t *tx) next(c *claim, turn int) (due bool, err error) {
	for below := int64(math.MaxInt64); ; {
		priority, at, found, err := t.top(c, turn, below)
		if err != nil || !found {
			return due, err
		}
		below = priority
		c.noteNext(fromMicros(at))
		if at <= t.now {
			return true, nil
		}
	}
}

// due tells whether a message of a turn is due.
func (t *tx) due(c *claim, turn int) (bool, error) {
	for below := int64(math.MaxInt64); ; {
		priority, at, found, err := t.top(c, turn, below)
		if err != nil || !found || at <= t.now {
			return found && err == nil, err
		}
		below = priority
	}
}

func (c *claim) noteNext(at time.Time) {
	if c.out.NextAt.IsZero() || at.Before(c.out.NextAt) {
		c.out.NextAt = at
	}
}
