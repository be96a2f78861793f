package postgres

import "github.com/siding-dev/siding"

// redriveSet is [tx.redrive] of many dead messages with a few statements for all of them, which takes a small part of the
// time. numbers are those of messages, all of which must be dead; n is how many.
func (t *tx) redriveSet(numbers []int64, n int64, h hand) error {
	if err := t.moveSet(numbers); err != nil {
		return err
	}
	err := t.send(`INSERT INTO revisions (message, at, kind, note, operator, campaign)
		SELECT m.id, ?::bigint, 'redriven', m.reason || ', ' || m.cause || ', attempt ' || m.attempt, ?::text, ?::bigint
		FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value`, t.now, h.by, int64(h.campaign), numbers)
	if err != nil {
		return err
	}
	if err := t.send("DELETE FROM last_errors WHERE message = ANY (?::bigint[])", numbers); err != nil {
		return err
	}
	// As [siding.Redrive] has it.
	changed, err := t.exec(`UPDATE messages SET state = 'ready', turn = CASE reason WHEN 'crash' THEN 2 ELSE 0 END, suspect = reason = 'crash',
		available_at = ?, attempt = 0, gray = 0, waits = 0, interruptions = 0, solo_crashes = 0, alone = false, held_at = NULL,
		redrives = redrives + 1, reset_after = deliveries, dead_at = NULL, reason = NULL, cause = NULL, fingerprint = NULL,
		waits_for = NULL WHERE id = ANY (?::bigint[]) AND state = 'dead' AND NOT no_body`, t.now, numbers)
	if err == nil && changed != n {
		err = errNotAll(n, changed)
	}
	if err != nil {
		return err
	}
	return t.tellOriginsOf(numbers)
}

// moveSet counts the change of standing of dead messages that are about to be redriven.
func (t *tx) moveSet(numbers []int64) error {
	ofInputs := false
	count := func(r *row) error {
		from := standing{state: siding.StateDead, tried: r.bool(2), detail: r.str(3), fingerprint: r.str(4)}
		scope := tallyScope{r.int(0), r.int(1)}
		t.count(scope, from, -r.int(5))
		t.count(scope, standing{state: siding.StateReady}, r.int(5))
		ofInputs = ofInputs || r.int(6) > 0
		return r.err
	}
	err := t.query(count, `SELECT m.queue, 0::bigint, m.attempt > 0, m.cause, m.fingerprint, count(*), count(m.input)
		FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value GROUP BY m.queue, m.attempt > 0, m.cause, m.fingerprint`, numbers)
	if err != nil || !ofInputs {
		return err
	}
	return t.query(count, `SELECT m.queue, s.input, m.attempt > 0, m.cause, m.fingerprint, count(*), 0::bigint
		FROM unnest(?::bigint[]) j (value) JOIN messages m ON m.id = j.value AND m.input IS NOT NULL
		JOIN members s ON s.message = m.id GROUP BY m.queue, s.input, m.attempt > 0, m.cause, m.fingerprint`, numbers)
}
