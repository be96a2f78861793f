package sqlite

import (
	"strconv"

	"github.com/siding-dev/siding"
)

// numberList gives numbers as a JSON array, for json_each.
func numberList(ids []int64) string {
	b := make([]byte, 0, 8*len(ids)+2)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// redriveSet is [tx.redrive] of many dead messages with a few statements for all of them, which takes a small part of the
// time. numbers is a JSON array of messages, all of which must be dead; n is their number. (OR FAIL saves SQLite a journal
// of each statement's own: where one fails, the whole operation is undone.)
func (t *tx) redriveSet(numbers string, n int64, h hand) error {
	if err := t.moveSet(numbers); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO revisions (message, at, kind, note, operator, campaign)
		SELECT m.id, ?, 'redriven', m.reason || ', ' || m.cause || ', attempt ' || m.attempt, ?, ?
		FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value`, t.now, h.by, int64(h.campaign), numbers)
	if err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM last_errors WHERE message IN (SELECT value FROM json_each(?))", numbers); err != nil {
		return err
	}
	// As [siding.Redrive] has it.
	changed, err := t.exec(`UPDATE OR FAIL messages NOT INDEXED SET state = 'ready', turn = iif(reason = 'crash', 2, 0), suspect = reason = 'crash',
		available_at = ?, attempt = 0, gray = 0, waits = 0, interruptions = 0, solo_crashes = 0, alone = 0, held_at = NULL,
		redrives = redrives + 1, reset_after = deliveries, dead_at = NULL, reason = NULL, cause = NULL, fingerprint = NULL,
		waits_for = NULL WHERE id IN (SELECT value FROM json_each(?)) AND state = 'dead' AND no_body = 0`, t.now, numbers)
	if err == nil && changed != n {
		err = errNotAll(n, changed)
	}
	if err != nil {
		return err
	}
	return t.tellOriginsOf(numbers)
}

// moveSet counts the change of standing of dead messages that are about to be redriven.
func (t *tx) moveSet(numbers string) error {
	ofInputs := false
	count := func(r *row) error {
		from := standing{state: siding.StateDead, tried: r.bool(2), detail: r.str(3), fingerprint: r.str(4)}
		scope := tallyScope{r.int(0), r.int(1)}
		t.count(scope, from, -r.int(5))
		t.count(scope, standing{state: siding.StateReady}, r.int(5))
		ofInputs = ofInputs || r.int(6) > 0
		return r.err
	}
	err := t.query(count, `SELECT m.queue, 0, m.attempt > 0, m.cause, m.fingerprint, count(*), count(m.input)
		FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value GROUP BY m.queue, m.attempt > 0, m.cause, m.fingerprint`, numbers)
	if err != nil || !ofInputs {
		return err
	}
	return t.query(count, `SELECT m.queue, s.input, m.attempt > 0, m.cause, m.fingerprint, count(*), 0
		FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value AND m.input IS NOT NULL
		CROSS JOIN members s ON s.message = m.id GROUP BY m.queue, s.input, m.attempt > 0, m.cause, m.fingerprint`, numbers)
}
