package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/siding-dev/siding"
)

// StartCall asks to send a request; see [siding.Journal].
func (s *Store) StartCall(ctx context.Context, r siding.CallRequest) (siding.CallStart, error) {
	if r.Deadline <= 0 {
		return siding.CallStart{}, fmt.Errorf("a call with a deadline of %v cannot be made", r.Deadline)
	}
	var out siding.CallStart
	err := s.do(&op{ctx: ctx, name: "start-call", bytes: 1024, shared: true, tokens: []siding.LeaseToken{r.Token}, run: func(t *tx) (err error) {
		out, err = t.startCall(r)
		return err
	}})
	if err != nil {
		return siding.CallStart{}, err
	}
	return out, nil
}

func (t *tx) startCall(r siding.CallRequest) (siding.CallStart, error) {
	m, found, err := t.message(r.Token.Message)
	if err != nil {
		return siding.CallStart{}, err
	}
	if !found || !m.heldBy(r.Token) {
		return siding.CallStart{}, fmt.Errorf("start a call: %w", siding.ErrStaleLease)
	}
	for _, id := range r.Rejected {
		if err := t.judge(m.id, siding.Judgement{Call: id, Digest: r.Digest}); err != nil {
			return siding.CallStart{}, err
		}
	}
	past, err := t.earlier(m.id, r)
	if err != nil {
		return siding.CallStart{}, err
	}
	for _, c := range past.usable {
		body, found, err := answerOf(t.conn, c.ID)
		if err != nil {
			return siding.CallStart{}, err
		}
		if found {
			c.EventID = m.ID
			c.Queue, err = queueName(t.conn, m.queue)
			return siding.CallStart{Answer: &c, Body: body}, err
		}
	}
	if past.busyUntil > 0 {
		return siding.CallStart{BusyUntil: fromMicros(past.busyUntil)}, nil
	}
	out := siding.CallStart{Unknown: past.unknown}
	if past.unknown > 0 && r.OnUnknown == siding.UnknownQuarantine {
		return out, nil
	}
	if r.Budget > 0 {
		if err := t.mustBeAlone(); err != nil {
			return siding.CallStart{}, err
		}
		if out.Spent, out.Held, err = t.overBudget(m.queue, r); out.Held || err != nil {
			return out, err
		}
	}
	id, err := t.insertCall(&m, r)
	out.Call = siding.CallID(id)
	return out, err
}

// overBudget tells whether a call could exceed its budget, and then what the queue's calls have cost at most.
func (t *tx) overBudget(queue int64, r siding.CallRequest) (spent siding.Money, over bool, err error) {
	key := spendKey{tallyScope: tallyScope{queue: queue}}
	sum := t.spends[key] // what this transaction has not written yet
	_, err = t.one(func(r *row) { sum = sum.add(r.spendAt(0)) },
		totalSpend, queue, 0)
	if err != nil {
		return 0, false, err
	}
	spent = sum.cost.Add(sum.maybeMax)
	next := spent
	if r.Priced {
		next = next.Add(max(r.WorstCost, 0))
	}
	if next <= r.Budget {
		return 0, false, nil
	}
	return spent, true, nil
}

// earlier is what the journal has for a request.
type earlier struct {
	usable    []siding.Call // answers, the best first
	busyUntil int64
	unknown   int // calls of unknown fate: also those that have no end, and whose deadline is past or whose process is dead
}

// earlier looks through the calls of a message.
func (t *tx) earlier(message int64, r siding.CallRequest) (past earlier, err error) {
	var started []siding.Call
	var senders []int64
	err = t.query(func(row *row) error {
		c := row.call(0)
		if row.err != nil {
			return row.err
		}
		switch same := c.RequestHash == r.RequestHash; {
		case c.Fate == siding.FateAnswered:
			asked := same || c.AskHash == r.AskHash && r.AskHash != siding.Hash{}
			open := c.Verdict != siding.VerdictRejected || c.JudgedUnder != r.Digest
			if asked && open && !slices.Contains(r.Rejected, c.ID) {
				past.usable = append(past.usable, c)
			}
		case same && c.Fate == siding.FateUnknown:
			past.unknown++
		case same && c.Fate == siding.FateStarted:
			started, senders = append(started, c), append(senders, row.int(callWidth))
		}
		return nil
	}, "SELECT "+callColumns+", c.process FROM calls c WHERE c.message = ? ORDER BY c.id DESC", message)
	if err != nil {
		return past, err
	}
	for i, c := range started {
		gone, err := t.senderGone(senders[i])
		if err != nil {
			return past, err
		}
		deadline := c.Deadline.UnixMicro()
		if !gone && deadline > t.now {
			past.busyUntil = max(past.busyUntil, deadline)
			continue
		}
		past.unknown++ // it stays as it is: its end, if one still comes, says more
	}
	rank := func(c siding.Call) int {
		switch c.Verdict {
		case siding.VerdictAccepted:
			return 0
		case siding.VerdictNone:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(past.usable, func(a, b siding.Call) int { return rank(a) - rank(b) })
	return past, nil
}

// senderGone tells whether the process that started a call is proven dead.
func (t *tx) senderGone(process int64) (bool, error) {
	p, found, err := t.registeredProcess(process)
	return err == nil && (!found || p.gone), err
}

func (t *tx) insertCall(m *stored, r siding.CallRequest) (int64, error) {
	var ask any
	if r.AskHash != (siding.Hash{}) {
		ask = r.AskHash[:]
	}
	worst := max(r.WorstCost, 0)
	id, err := t.insert(`INSERT INTO calls (message, delivery, process, request_hash, ask_hash, digest, lane, started_at,
		deadline, fate, output_limit, worst_cost, priced) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'started', ?, ?, ?) RETURNING id`,
		m.id, m.Deliveries, t.process, r.RequestHash[:], ask, siding.Scrub(r.Digest, 256), siding.Scrub(r.Lane, 256), t.now,
		fromMicros(t.now).Add(r.Deadline).UnixMicro(), r.OutputLimit, int64(worst), r.Priced)
	if err != nil {
		return 0, err
	}
	if !r.Priced {
		worst = 0 // it means nothing, and is in no sum
	}
	return id, t.charge(m.id, m.queue, spend{calls: 1, maybe: 1, maybeMax: worst})
}

// EndCall records how a call ended; see [siding.Journal].
func (s *Store) EndCall(ctx context.Context, e siding.CallEnd) error {
	if !slices.Contains(siding.Fates(), e.Fate) || e.Fate == siding.FateStarted {
		return fmt.Errorf("a call cannot end as %q", siding.Scrub(string(e.Fate), 64))
	}
	return s.do(&op{ctx: ctx, name: "end-call", bytes: len(e.Answer) + 1024, shared: true, run: func(t *tx) error { return t.endCall(e) }})
}

func (t *tx) endCall(e siding.CallEnd) error {
	var message, queue int64
	var fate siding.Fate
	var worst siding.Money
	found, err := t.one(func(r *row) {
		message, queue, fate, worst = r.int(0), r.int(1), siding.Fate(r.str(2)), siding.Money(r.int(3))
	}, "SELECT c.message, m.queue, c.fate, CASE WHEN c.priced THEN c.worst_cost ELSE 0 END FROM calls c JOIN messages m ON m.id = c.message WHERE c.id = ? FOR NO KEY UPDATE OF c", int64(e.Call))
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("call %d: %w", e.Call, siding.ErrNotFound)
	}
	late := fate == siding.FateUnknown && e.Fate == siding.FateAnswered
	if fate != siding.FateStarted && !late {
		return nil // it has ended already: the caller has asked again because the reply was lost
	}
	var failure any
	if f := e.Failure.Stored(); f != nil {
		b, err := json.Marshal(f)
		if err != nil {
			return err
		}
		failure = string(b)
	}
	answered := e.Fate == siding.FateAnswered
	u, cost := clampUsage(e.Usage), max(e.Cost, 0)
	if !answered {
		u = siding.Usage{}
	}
	if !answered {
		cost = 0
	}
	err = t.guarded(`UPDATE calls SET fate = ?, ended_at = ?, status = ?, request_id = ?, input_tokens = ?, output_tokens = ?,
		cache_write_5m_tokens = ?, cache_write_1h_tokens = ?, cache_read_tokens = ?, cost = ?, priced = CASE WHEN ?::boolean THEN ?::boolean ELSE priced END, error = ?
		WHERE id = ? AND fate = ?`,
		string(e.Fate), t.now, e.Status, siding.Scrub(e.RequestID, 256), u.Input, u.Output, u.CacheWrite5m, u.CacheWrite1h,
		u.CacheRead, int64(cost), answered, e.Priced, failure, int64(e.Call), string(fate))
	if err != nil {
		return err
	}
	if answered {
		answer := e.Answer
		if answer == nil {
			answer = []byte{}
		}
		if err := t.send("INSERT INTO answers (call, answer) VALUES (?, ?) ON CONFLICT (call) DO UPDATE SET answer = excluded.answer", int64(e.Call), answer); err != nil {
			return err
		}
	}
	if e.Fate == siding.FateUnknown {
		return nil // it stays counted as maybe billed
	}
	d := spend{maybe: -1, maybeMax: -worst, cost: cost, usage: u}
	if answered && !e.Priced { // its cost means nothing, and is in no sum
		d.cost, d.unpriced = 0, 1
	}
	return t.charge(message, queue, d)
}

// clampUsage keeps sums of what a service reports within range.
func clampUsage(u siding.Usage) siding.Usage {
	c := func(n int64) int64 { return min(max(n, 0), 1<<40) }
	return siding.Usage{
		Input: c(u.Input), Output: c(u.Output), CacheWrite5m: c(u.CacheWrite5m), CacheWrite1h: c(u.CacheWrite1h), CacheRead: c(u.CacheRead),
	}
}
