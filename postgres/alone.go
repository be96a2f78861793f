package postgres

import (
	"maps"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// patience is how long a message that is to be leased alone waits for ordinary work to end.
const patience = 5 * time.Minute

// wanted narrows which ready messages may be given: where untried is set, those that have not failed before and are not
// among not.
type wanted struct {
	untried bool
	not     []int64
}

var anyMessage = wanted{not: []int64{}}

const wantedSQL = " AND (NOT ?::boolean OR m.attempt = 0) AND m.id <> ALL (?::bigint[])"

// The messages to be leased alone, of which there are few, are found by the queue's index, also for an input: another
// generation of it may have enqueued them again since.
const (
	apartOf      = ` FROM messages m WHERE m.state = 'ready' AND m.queue = ? AND m.turn >= 2`
	apartOfInput = apartOf + ` AND EXISTS (SELECT 1 FROM members s WHERE s.message = m.id AND s.input = ?)`
	apartFirst   = ` AND m.available_at <= ?` + wantedSQL + ` ORDER BY m.turn, m.priority DESC, m.available_at, m.id LIMIT 1`
	apartLater   = ` AND m.available_at > ?` + wantedSQL
)

var (
	apartFirstOf      = "SELECT m.id" + apartOf + apartFirst
	apartFirstOfInput = "SELECT m.id" + apartOfInput + apartFirst
	apartLaterOf      = "SELECT min(m.available_at)" + apartOf + apartLater
	apartLaterOfInput = "SELECT min(m.available_at)" + apartOfInput + apartLater
)

func (c *claim) apart(queue, input string, args ...any) (string, []any) {
	if c.Input != 0 {
		return input, append([]any{c.q, int64(c.Input)}, args...)
	}
	return queue, append([]any{c.q}, args...)
}

// anyApart tells whether a message of the queue waits to be leased alone.
func (t *tx) anyApart(c *claim) (bool, error) {
	if c.glimpse.apart {
		return c.glimpse.anyApart, nil
	}
	return t.one(func(*row) {}, anyApartOf, c.q)
}

// apartDue gives the message that is to be leased alone before others of its kind: of those that have been due since a
// time, the one with the fewest solo crashes; 0 when there is none.
func (t *tx) apartDue(c *claim, w wanted, since int64) (int64, error) {
	query, args := c.apart(apartFirstOf, apartFirstOfInput, since, w.untried, w.not)
	return t.number(query, args...)
}

// apartAfter gives when the next of them comes due after a time; 0 when there is none.
func (t *tx) apartAfter(c *claim, w wanted, since int64) (int64, error) {
	query, args := c.apart(apartLaterOf, apartLaterOfInput, since, w.untried, w.not)
	return t.number(query, args...)
}

// alone gives the message that is to be leased alone, or 0, and whether its turn has come: then nothing else is leased,
// also while this process is not empty yet. ordinary tells whether messages wait that may be leased with others.
func (t *tx) alone(c *claim, w wanted, ordinary bool) (id int64, turn bool, err error) {
	since := t.now
	if ordinary {
		since -= patience.Microseconds()
	}
	if id, err = t.apartDue(c, w, since); id == 0 || err != nil {
		return 0, false, err
	}
	// A lease that has run out counts no more: where nobody leases from its queue, nobody takes it back.
	busy, err := t.one(func(*row) {}, `SELECT m.id FROM messages m
		WHERE m.state = 'leased' AND m.process = ? AND m.lease_until > ? LIMIT 1`, t.process, t.now)
	if busy || err != nil {
		return 0, true, err
	}
	return id, true, nil
}

// soloInFlight tells whether this process has a lease beside which there may be no other.
func (t *tx) soloInFlight() (bool, error) {
	for _, token := range append(slices.Collect(maps.Keys(t.s.solos)), t.solos...) {
		current, err := t.current(token, t.now)
		if current || err != nil {
			return current, err
		}
		t.over = append(t.over, token)
	}
	return false, nil
}

// current tells whether a lease is not over, and runs beyond a time.
func (t *tx) current(token siding.LeaseToken, beyond int64) (bool, error) {
	return t.one(func(*row) {}, "SELECT id FROM messages WHERE id = ? AND state = 'leased' AND lease_nonce = ? AND lease_until > ?",
		token.Message, token.Nonce, beyond)
}
