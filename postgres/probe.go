package postgres

import "math"

// probeMost bounds among how many messages of one turn a probe is chosen.
const probeMost = 500

const (
	countAtPriority = ` AND m.priority = ? AND m.available_at <= ?` + wantedSQL + ` LIMIT ?`
	nthAtPriority   = ` AND m.priority = ? AND m.available_at <= ?` + wantedSQL + ` ORDER BY m.available_at, m.id LIMIT 1 OFFSET ?`
	laterAtPriority = ` AND m.priority = ? AND m.available_at > ?` + wantedSQL + ` ORDER BY m.available_at LIMIT 1`
)

var (
	countOf      = "SELECT count(*) FROM (SELECT 1" + readyOf + countAtPriority + ") x"
	countOfInput = "SELECT count(*) FROM (SELECT 1" + readyOfInput + countAtPriority + ") x"
	nthOf        = "SELECT m.id" + readyOf + nthAtPriority
	nthOfInput   = "SELECT m.id" + readyOfInput + nthAtPriority
	laterOf      = "SELECT m.available_at" + readyOf + laterAtPriority
	laterOfInput = "SELECT m.available_at" + readyOfInput + laterAtPriority
)

// span are due messages of one turn and priority.
type span struct {
	turn        int
	priority, n int64
}

// spans gives the due messages of a turn that may be the probe, and how many they are, or probeMost when they are more.
func (t *tx) spans(c *claim, turn int, w wanted) (all []span, n int64, err error) {
	query, of := c.pick(countOf, countOfInput)
	for below := int64(math.MaxInt64); n < probeMost; {
		priority, at, found, err := t.top(c, turn, below)
		if err != nil || !found {
			return all, n, err
		}
		below = priority
		if at > t.now {
			continue
		}
		here, err := t.number(query, of, turn, priority, t.now, w.untried, w.not, probeMost-n)
		if err != nil {
			return nil, 0, err
		}
		all, n = append(all, span{turn, priority, here}), n+here
	}
	return all, n, nil
}

// chooseProbe gives the message that finds out whether a fault has ended, by chance; 0 when there is none now.
func (t *tx) chooseProbe(c *claim, w wanted) (int64, error) {
	all, n, err := t.spans(c, turnUntried, w)
	if err == nil && !w.untried && (n == 0 || c.MaxRetries != 0) {
		var tried []span
		var more int64
		tried, more, err = t.spans(c, turnTried, w)
		all, n = append(all, tried...), n+more
	}
	if err != nil {
		return 0, err
	}
	if id, turn, err := t.alone(c, w, n > 0); turn || err != nil {
		return id, err
	}
	if n == 0 {
		id, at, err := t.firstForeign(c, w)
		if at > t.now {
			id = 0
		}
		return id, err
	}
	k := min(max(int64(c.Rand*float64(n)), 0), n-1)
	for _, s := range all {
		if k < s.n {
			query, of := c.pick(nthOf, nthOfInput)
			return t.number(query, of, s.turn, s.priority, t.now, w.untried, w.not, k)
		}
		k -= s.n
	}
	return 0, nil
}

// later gives when the next message comes due that may be the probe and is not due yet; 0 when there is none.
func (t *tx) later(c *claim, w wanted) (int64, error) {
	earliest, err := t.apartAfter(c, w, t.now)
	if err != nil {
		return 0, err
	}
	note := func(at int64) {
		if at > t.now && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	query, of := c.pick(laterOf, laterOfInput)
	for turn := range turnApart {
		for below := int64(math.MaxInt64); ; {
			priority, _, found, err := t.top(c, turn, below)
			if err != nil {
				return 0, err
			}
			if !found {
				break
			}
			below = priority
			at, err := t.number(query, of, turn, priority, t.now, w.untried, w.not)
			if err != nil {
				return 0, err
			}
			note(at)
		}
	}
	_, at, err := t.firstForeign(c, w)
	note(at)
	return earliest, err
}
