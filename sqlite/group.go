package sqlite

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// groupKey names a group by its queue's number.
type groupKey struct {
	queue       int64
	fingerprint string
}

// keptGroup is a group that a transaction has looked at; its end writes what has become of it.
type keptGroup struct {
	siding.Group
	heirs   []string // newer fingerprints whose groups have taken over what is known of it
	known   bool     // it has a row
	changed bool
	err     error // its row cannot be read, and is left as it is
}

const groupColumns = `cause, state, note, operator, changed_at, regressed_at, first_seen, last_seen, arrived, hours, sample_id,
	sample_text, heirs`

const groupWidth = 13

// group reads [groupColumns] from column i on.
func (r *row) group(i int) keptGroup {
	k := keptGroup{known: true, Group: siding.Group{
		Cause: siding.Cause(r.str(i)), State: siding.GroupState(r.str(i + 1)), Note: r.str(i + 2), By: r.str(i + 3),
		ChangedAt: r.time(i + 4), RegressedAt: r.time(i + 5), FirstSeen: r.time(i + 6), LastSeen: r.time(i + 7), Arrived: r.int(i + 8),
		SampleID: r.str(i + 10), SampleText: r.str(i + 11),
	}}
	err := r.err
	if err == nil && !slices.Contains(siding.GroupStates(), k.State) {
		err = fmt.Errorf("the state %q is not known", siding.Scrub(string(k.State), 64))
	}
	if err == nil {
		err = json.Unmarshal([]byte(r.str(i+9)), &k.Hours)
	}
	if heirs := r.str(i + 12); err == nil && heirs != "" {
		err = json.Unmarshal([]byte(heirs), &k.heirs)
	}
	if r.err = nil; err != nil {
		k = keptGroup{known: true, err: fmt.Errorf("what the store knows of the group cannot be read, and is forgotten when it is marked: %w", err)}
	}
	return k
}

// group gives the group with a key, to be looked at and changed: how it stands at the end of the transaction is written,
// where it is marked as changed.
func (t *tx) group(k groupKey, cause siding.Cause) (*keptGroup, error) {
	if g := t.groups[k]; g != nil {
		return g, nil
	}
	g := &keptGroup{}
	_, err := t.one(func(r *row) { *g = r.group(0) },
		"SELECT "+groupColumns+" FROM failure_groups WHERE queue = ? AND fingerprint = ?", k.queue, k.fingerprint)
	if err != nil {
		return nil, err
	}
	if !g.known {
		g.Group = siding.NewGroup(siding.GroupKey{Fingerprint: k.fingerprint}, cause)
	}
	g.Key.Fingerprint = k.fingerprint
	t.groups[k] = g
	return g, nil
}

// arrive takes in that a message of a queue was set aside for a failure.
func (t *tx) arrive(queue int64, id string, e *siding.LastError) error {
	g, err := t.group(groupKey{queue, e.Fingerprint}, e.Cause)
	if err != nil {
		return err
	}
	g.Arrive(id, e.Text, fromMicros(t.now))
	g.changed = true
	return nil
}

// keepGroups writes the groups that have changed.
func (t *tx) keepGroups() error {
	for k, g := range t.groups {
		if !g.changed || g.err != nil {
			continue
		}
		hours, err := json.Marshal(&g.Hours)
		if err != nil {
			return err
		}
		heirs := ""
		if len(g.heirs) > 0 {
			b, err := json.Marshal(g.heirs)
			if err != nil {
				return err
			}
			heirs = string(b)
		}
		_, err = t.exec(`INSERT OR REPLACE INTO failure_groups (queue, fingerprint, `+groupColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, k.queue, k.fingerprint, string(g.Cause), string(g.State), g.Note, g.By,
			micros(g.ChangedAt), micros(g.RegressedAt), g.FirstSeen.UnixMicro(), g.LastSeen.UnixMicro(), g.Arrived, string(hours),
			g.SampleID, g.SampleText, heirs)
		if err != nil {
			return err
		}
		g.known, g.changed = true, false
	}
	return nil
}

// forgotten groups begin anew.
func (g *keptGroup) forget(k groupKey, cause siding.Cause, now time.Time) {
	*g = keptGroup{Group: siding.NewGroup(siding.GroupKey{Fingerprint: k.fingerprint}, cause), known: true}
	g.FirstSeen, g.LastSeen = now, now
}
