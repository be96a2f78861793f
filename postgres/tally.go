package postgres

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// tallyScope is what messages are counted over: a queue (input 0), or the members of an input.
type tallyScope struct{ queue, input int64 }

// standing is where a message counts: its state, and what tells groups apart within it.
type standing struct {
	state       siding.State
	tried       bool   // attempt > 0
	detail      string // the digest of a done message, the cause of a dead one, the queue that a ready one waits for
	fingerprint string // of a dead one
}

type tallyKey struct {
	tallyScope
	standing
}

// count adds to a sum.
func (t *tx) count(scope tallyScope, st standing, n int64) {
	t.tallies[tallyKey{scope, st}] += n
	if st.state == siding.StateLeased {
		if _, ok := t.leased[scope]; ok {
			t.leased[scope] += n
		}
	}
}

// appear counts a new message.
func (t *tx) appear(queue int64, st standing) { t.count(tallyScope{queue: queue}, st, 1) }

// move counts a message's change of standing, in its queue and in every input of which it is a member. hasInput is
// false for messages that no input ever enqueued, which spares looking.
func (t *tx) move(message, queue int64, hasInput bool, from, to standing) error {
	delete(t.rows, message) // who asks for it next reads it anew
	if from == to {
		return nil
	}
	each := func(scope tallyScope) {
		t.count(scope, from, -1)
		t.count(scope, to, 1)
	}
	each(tallyScope{queue: queue})
	if !hasInput {
		return nil
	}
	return t.memberships(message, func(input int64) { each(tallyScope{queue, input}) })
}

// memberships calls fn with each input of which the message is a member.
func (t *tx) memberships(message int64, fn func(input int64)) error {
	return t.query(func(r *row) error {
		fn(r.int(0))
		return r.err
	}, "SELECT input FROM members WHERE message = ?", message)
}

// leasedIn gives how many messages of a queue or input are leased, changes of this transaction included.
func (t *tx) leasedIn(scope tallyScope) (int64, error) {
	if n, ok := t.leased[scope]; ok {
		return n, nil
	}
	n, err := t.number("SELECT sum(n)::bigint FROM tallies WHERE queue = ? AND input = ? AND state = 'leased'", scope.queue, scope.input)
	if err != nil {
		return 0, err
	}
	n += t.unwritten(scope, siding.StateLeased)
	t.leased[scope] = n
	return n, nil
}

// countIn gives how many messages of a queue or input are in a state, changes of this transaction included.
func (t *tx) countIn(scope tallyScope, state siding.State) (int64, error) {
	n, err := t.number("SELECT sum(n)::bigint FROM tallies WHERE queue = ? AND input = ? AND state = ?", scope.queue, scope.input, string(state))
	return n + t.unwritten(scope, state), err
}

func (t *tx) unwritten(scope tallyScope, state siding.State) (n int64) {
	for k, d := range t.tallies {
		if k.tallyScope == scope && k.state == state {
			n += d
		}
	}
	return n
}

// spendKey is what the costs of calls are summed over: a message, or else a scope.
type spendKey struct {
	message int64
	tallyScope
}

// spend is a sum over calls.
type spend struct {
	calls, maybe, unpriced int64
	cost, maybeMax         siding.Money
	usage                  siding.Usage
}

func (a spend) add(b spend) spend {
	return spend{
		calls: a.calls + b.calls, maybe: a.maybe + b.maybe, unpriced: a.unpriced + b.unpriced,
		cost: a.cost.Add(b.cost), maybeMax: a.maybeMax.Add(b.maybeMax), usage: a.usage.Add(b.usage),
	}
}

// charge adds to the sums of a message, of its queue, and of every input of which it, or a message that was forwarded as
// it, is a member.
func (t *tx) charge(message, queue int64, d spend) error {
	for _, k := range []spendKey{{message: message}, {tallyScope: tallyScope{queue: queue}}} {
		t.spends[k] = t.spends[k].add(d)
	}
	err := t.memberships(message, func(input int64) {
		k := spendKey{tallyScope: tallyScope{queue, input}}
		t.spends[k] = t.spends[k].add(d)
	})
	if err != nil {
		return err
	}
	return t.query(func(r *row) error {
		k := spendKey{tallyScope: tallyScope{r.int(0), r.int(1)}}
		t.spends[k] = t.spends[k].add(d)
		return r.err
	}, `SELECT i.queue, i.id FROM copies c JOIN members s ON s.message = c.origin JOIN inputs i ON i.id = s.input WHERE c.copy = ?`, message)
}

const spendColumns = `calls, maybe, unpriced, cost, maybe_max,
	input_tokens, output_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_read_tokens`

// spendAt reads [spendColumns] from column i on.
func (r *row) spendAt(i int) spend {
	return spend{
		calls: r.int(i), maybe: r.int(i + 1), unpriced: r.int(i + 2),
		cost: siding.Money(r.int(i + 3)), maybeMax: siding.Money(r.int(i + 4)), usage: r.usageAt(i + 5),
	}
}

func (r *row) usageAt(i int) siding.Usage {
	return siding.Usage{
		Input: r.int(i), Output: r.int(i + 1), CacheWrite5m: r.int(i + 2), CacheWrite1h: r.int(i + 3), CacheRead: r.int(i + 4),
	}
}

// slots is how many rows each sum over a queue or an input has: processes whose numbers differ by less write to rows of
// their own. What was counted by a process long gone stays where it is.
const slots = 16

// totalSpend reads what [row.spendAt] reads of the sums over a queue or input. Amounts saturate, as in [siding.Money.Add].
const totalSpend = `SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(maybe), 0)::bigint, coalesce(sum(unpriced), 0)::bigint,
	least(coalesce(sum(cost), 0), 9223372036854775807)::bigint, least(coalesce(sum(maybe_max), 0), 9223372036854775807)::bigint,
	coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint, coalesce(sum(cache_write_5m_tokens), 0)::bigint,
	coalesce(sum(cache_write_1h_tokens), 0)::bigint, coalesce(sum(cache_read_tokens), 0)::bigint
	FROM spend_totals WHERE queue = ? AND input = ?`

// addSpend follows VALUES in the tables of sums, of which x is one.
func addSpend(x, key string) string {
	set := make([]string, 0, 10)
	for c := range strings.SplitSeq(strings.Join(strings.Fields(spendColumns), ""), ",") {
		sum := x + "." + c + " + excluded." + c
		if c == "cost" || c == "maybe_max" {
			sum = "least(" + x + "." + c + "::numeric + excluded." + c + ", 9223372036854775807)::bigint"
		}
		set = append(set, c+" = "+sum)
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(set, ", ")
}

var (
	addToMessage = "INSERT INTO spend (message, " + spendColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" + addSpend("spend", "message")
	addToTotal   = "INSERT INTO spend_totals (queue, input, slot, " + spendColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" +
		addSpend("spend_totals", "queue, input, slot")
)

// keepSums writes the changes of sums: always in the same order, so that of two processes that share a slot one waits
// for the other.
func (t *tx) keepSums() error {
	if len(t.tallies) > 0 {
		if err := t.keepTallies(); err != nil {
			return err
		}
	}
	keys := slices.SortedFunc(maps.Keys(t.spends), func(a, b spendKey) int {
		return cmp.Or(cmp.Compare(a.message, b.message), cmp.Compare(a.queue, b.queue), cmp.Compare(a.input, b.input))
	})
	for _, k := range keys {
		d := t.spends[k]
		if d == (spend{}) {
			continue
		}
		u := d.usage
		sums := []any{d.calls, d.maybe, d.unpriced, int64(d.cost), int64(d.maybeMax), u.Input, u.Output, u.CacheWrite5m, u.CacheWrite1h, u.CacheRead}
		query, args := addToMessage, []any{k.message}
		if k.message == 0 {
			query, args = addToTotal, []any{k.queue, k.input, t.process % slots}
		}
		if err := t.send(query, append(args, sums...)...); err != nil {
			return err
		}
	}
	clear(t.spends)
	return nil
}

// keepTallies writes the changes of tallies, in one statement.
func (t *tx) keepTallies() error {
	keys := slices.SortedFunc(maps.Keys(t.tallies), tallyKey.compare)
	var queues, inputs, ns []int64
	var states, details, fingerprints []string
	var tried []bool
	for _, k := range keys {
		n := t.tallies[k]
		if n == 0 {
			continue
		}
		queues, inputs, ns = append(queues, k.queue), append(inputs, k.input), append(ns, n)
		states, details, fingerprints = append(states, string(k.state)), append(details, k.detail), append(fingerprints, k.fingerprint)
		tried = append(tried, k.tried)
	}
	clear(t.tallies)
	if len(ns) == 0 {
		return nil
	}
	return t.send(`INSERT INTO tallies (queue, input, state, tried, detail, fingerprint, slot, n)
		SELECT u.q, u.i, u.s, u.t, u.d, u.f, ?::bigint, u.n FROM
		unnest(?::bigint[], ?::bigint[], ?::text[], ?::boolean[], ?::text[], ?::text[], ?::bigint[]) AS u (q, i, s, t, d, f, n)
		ON CONFLICT (queue, input, state, tried, detail, fingerprint, slot) DO UPDATE SET n = tallies.n + excluded.n`,
		t.process%slots, queues, inputs, states, tried, details, fingerprints, ns)
}

func (k tallyKey) compare(o tallyKey) int {
	tried := func(k tallyKey) int {
		if k.tried {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(k.queue, o.queue), cmp.Compare(k.input, o.input), cmp.Compare(k.state, o.state),
		cmp.Compare(tried(k), tried(o)), cmp.Compare(k.detail, o.detail), cmp.Compare(k.fingerprint, o.fingerprint))
}
