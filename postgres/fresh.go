package postgres

import "github.com/siding-dev/siding"

// freshKey names a message by its queue and event ID.
type freshKey struct {
	queue int64
	id    string
}

// plain tells whether a message is one of the many that bring nothing but themselves.
func (in *incoming) plain(o siding.EnqueueOptions) bool {
	return in.err == nil && in.failure == nil && in.source == nil && o.Input == 0 && o.MaxDepth == 0
}

// insertFresh makes the new messages among the plain ones of all operations of the group, in one statement. Those that
// are known, or come twice, are left to their operations. The rows are made in one order in every process, so that none
// waits for another that waits for it.
func (t *tx) insertFresh(group []*op) error {
	var queues, priorities, from, received []int64
	var ids []string
	var expires, fairness []any
	seen := map[freshKey]*incoming{}
	for i, o := range group {
		if o.fresh == nil {
			continue
		}
		q, err := t.queue(o.queue, true)
		if err != nil {
			return err
		}
		now := t.now + int64(i) + 1 // as its step will have it
		for j := range o.fresh {
			in := &o.fresh[j]
			k := freshKey{q, in.id}
			if !in.plain(o.options) || seen[k] != nil {
				continue
			}
			seen[k] = in
			queues, ids, priorities, received = append(queues, q), append(ids, in.id), append(priorities, int64(in.priority)), append(received, now)
			from = append(from, in.from(now))
			expires, fairness = append(expires, micros(in.expiresAt)), append(fairness, text(in.fairnessKey))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	t.fresh = make(map[freshKey]int64, len(ids))
	err := t.query(func(r *row) error {
		k, id := freshKey{r.int(1), r.str(2)}, r.int(0)
		if in := seen[k]; in != nil && r.err == nil {
			t.fresh[k] = id
			t.row(insertBodies, id, in.hash[:], in.contentType, in.headers, in.body)
		}
		return r.err
	}, `INSERT INTO messages (queue, event_id, state, priority, available_at, received_at, expires_at, fairness_key)
		SELECT u.queue, u.id, 'ready', u.priority, u.available_at, u.received_at, u.expires_at, u.fairness_key
		FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[])
			AS u (queue, id, priority, available_at, received_at, expires_at, fairness_key)
		ORDER BY u.queue, u.id COLLATE "C" ON CONFLICT DO NOTHING RETURNING id, queue, event_id`,
		queues, ids, priorities, from, received, expires, fairness)
	return err
}

// takeFresh gives the number of a message that has just been made; 0 where it was not.
func (t *tx) takeFresh(q int64, in *incoming) int64 {
	k := freshKey{q, in.id}
	id := t.fresh[k]
	delete(t.fresh, k) // a second one of the same ID finds it known
	return id
}

const insertBodies = `INSERT INTO bodies (message, hash, content_type, headers, body)
	SELECT * FROM unnest(?::bigint[], ?::bytea[], ?::text[], ?::text[], ?::bytea[])`
