package postgres

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

// arrival is a message that was set aside.
type arrival struct {
	groupKey
	cause    siding.Cause
	id, text string
	now      int64
}

// arrive takes in that a message of a queue was set aside for a failure.
func (t *tx) arrive(queue int64, id string, e *siding.LastError) error {
	a := arrival{groupKey{queue, e.Fingerprint}, e.Cause, id, e.Text, t.now}
	if !t.exclusive {
		t.wrote, t.arrivals = true, append(t.arrivals, a)
		return nil
	}
	return t.takeIn(a)
}

func (t *tx) takeIn(a arrival) error {
	g, err := t.group(a.groupKey, a.cause)
	if err != nil {
		return err
	}
	g.Arrive(a.id, a.text, fromMicros(a.now))
	g.changed = true
	return nil
}

// takeInArrivals takes in what this transaction has set aside. The groups are locked last of all but the sums, and in one
// order, so that of two processes one waits for the other for as long as a commit takes, and never both.
func (t *tx) takeInArrivals() error {
	if len(t.arrivals) == 0 {
		return nil
	}
	locks := make([]int32, 0, len(t.arrivals))
	for _, a := range t.arrivals {
		locks = append(locks, lockOf(fmt.Sprintf("group %d %s", a.queue, a.fingerprint)))
	}
	slices.Sort(locks)
	for _, l := range slices.Compact(locks) {
		if err := t.send("SELECT pg_advisory_xact_lock(?, ?)", t.s.at.class, l); err != nil {
			return err
		}
	}
	for _, a := range t.arrivals {
		if err := t.takeIn(a); err != nil {
			return err
		}
	}
	t.arrivals = nil
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
		err = t.send(`INSERT INTO failure_groups (queue, fingerprint, `+groupColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (queue, fingerprint) DO UPDATE SET cause = excluded.cause,
			state = excluded.state, note = excluded.note, operator = excluded.operator, changed_at = excluded.changed_at,
			regressed_at = excluded.regressed_at, first_seen = excluded.first_seen, last_seen = excluded.last_seen,
			arrived = excluded.arrived, hours = excluded.hours, sample_id = excluded.sample_id, sample_text = excluded.sample_text,
			heirs = excluded.heirs`, k.queue, k.fingerprint, string(g.Cause), string(g.State), g.Note, g.By,
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
