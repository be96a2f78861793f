package postgres

import (
	"context"
	"slices"

	"github.com/siding-dev/siding"
)

// deadOld and deadSum find the groups of a queue that have dead letters and hold what stands between them.
const (
	deadOld = "SELECT queue, fingerprint FROM tallies WHERE input = 0 AND state = 'dead' AND "
	deadSum = " GROUP BY queue, fingerprint HAVING sum(n) <> 0"
)

// Regroup gives dead letters of an older version of the fingerprint one of this version; see [siding.Quarantine]. The
// groups that an older version has left empty are counted too: they go over by their sample.
func (s *Store) Regroup(ctx context.Context, limit int) (int64, error) {
	return s.regroup(ctx, int64(limit), siding.FingerprintVersion+"-", siding.Fingerprint)
}

// regroup is Regroup to any version, whose fingerprints have a prefix.
func (s *Store) regroup(ctx context.Context, limit int64, prefix string, fingerprint func(siding.Cause, string) string) (int64, error) {
	old := "substr(fingerprint, 1, ?) <> ?"
	var outdated bool
	err := s.read(ctx, func(c *conn) (err error) { // mostly there is nothing to do, and nobody is to wait for that
		_, err = c.one(func(r *row) { outdated = r.bool(0) }, "SELECT EXISTS (SELECT 1 FROM failure_groups WHERE "+old+") OR EXISTS ("+deadOld+old+deadSum+")",
			len(prefix), prefix, len(prefix), prefix)
		return err
	})
	if err != nil || !outdated {
		return 0, err
	}
	var n int64
	err = s.write(ctx, "regroup", int(limit)*256, func(t *tx) error {
		n = 0
		if err := t.keepSums(); err != nil { // the sums are looked at
			return err
		}
		var keys []groupKey
		err := t.query(func(r *row) error {
			keys = append(keys, groupKey{r.int(0), r.str(1)})
			return r.err
		}, "SELECT queue, fingerprint FROM failure_groups WHERE "+old+" UNION "+deadOld+old+deadSum,
			len(prefix), prefix, len(prefix), prefix)
		for i := 0; i < len(keys) && n < limit && err == nil; i++ {
			var moved int64
			moved, err = t.regroup(keys[i], limit-n, fingerprint)
			n += moved
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// regroup moves up to limit of the dead letters of a group to the groups where they belong, and drops it when it is
// empty. It gives how many it moved, the group itself included.
func (t *tx) regroup(k groupKey, limit int64, fingerprint func(siding.Cause, string) string) (int64, error) {
	g, err := t.group(k, "")
	if err != nil {
		return 0, err
	}
	type letter struct {
		stored
		to string
	}
	var letters []letter
	err = t.query(func(r *row) error {
		l := letter{stored: stored{id: r.int(0), queue: k.queue, hasInput: !r.null(1), cause: r.str(3), fingerprint: k.fingerprint}}
		l.State, l.Attempt = siding.StateDead, int(r.int(2))
		l.to = fingerprint(siding.Cause(l.cause), r.str(4))
		letters, r.err = append(letters, l), nil // what cannot be read counts as nothing: one bad row stops no pass
		return nil
	}, `SELECT m.id, m.input, m.attempt, m.cause, e.error FROM messages m LEFT JOIN last_errors e ON e.message = m.id
		WHERE m.state = 'dead' AND m.queue = ? AND m.fingerprint = ? LIMIT ?`, k.queue, k.fingerprint, limit)
	for i := 0; i < len(letters) && err == nil; i++ {
		l := &letters[i]
		was := l.standing()
		l.fingerprint = l.to
		err = t.send("UPDATE messages SET fingerprint = ? WHERE id = ? AND state = 'dead'", l.to, l.id)
		if err == nil {
			err = t.send("UPDATE last_errors SET fingerprint = ? WHERE message = ?", l.to, l.id)
		}
		if err == nil {
			err = t.move(l.id, l.queue, l.hasInput, was, l.standing())
		}
		if err == nil {
			err = t.inherit(g, groupKey{k.queue, l.to}, siding.Cause(l.cause))
		}
	}
	n := int64(len(letters))
	if err != nil || n >= limit {
		return n, err
	}
	if len(g.heirs) == 0 && g.known && g.err == nil {
		if err := t.inherit(g, groupKey{k.queue, fingerprint(g.Cause, g.SampleText)}, g.Cause); err != nil {
			return n, err
		}
	}
	delete(t.groups, k)
	dropped, err := t.exec("DELETE FROM failure_groups WHERE queue = ? AND fingerprint = ?", k.queue, k.fingerprint)
	return n + dropped, err
}

// inherit has a group take over what is known of an older one, once.
func (t *tx) inherit(old *keptGroup, to groupKey, cause siding.Cause) error {
	if slices.Contains(old.heirs, to.fingerprint) {
		return nil
	}
	g, err := t.group(to, cause)
	if err != nil {
		return err
	}
	if old.known && old.err == nil {
		g.Inherit(old.Group)
	} else if g.FirstSeen.IsZero() {
		g.FirstSeen, g.LastSeen = fromMicros(t.now), fromMicros(t.now)
	}
	g.changed = true
	old.heirs, old.changed = append(old.heirs, to.fingerprint), old.known
	return nil
}
