package sqlite

import (
	"errors"
	"fmt"
	"maps"

	"github.com/siding-dev/siding"
)

// tx is a write transaction that carries out operations one after the other.
type tx struct {
	*conn
	s *Store
	// now is the store's time of the operation, in microseconds; each operation has its own, later than all before.
	now int64
	// tallies and spends are changes of sums that the end of the transaction writes, so that a group of operations
	// writes each sum once.
	tallies map[tallyKey]int64
	spends  map[spendKey]spend
	// made are the names that this transaction has given numbers.
	made names
	// swept has the queues whose leases and expiries have been looked at, leased their counts of leased messages.
	swept  map[int64]bool
	leased map[tallyScope]int64
	// gates are those that the transaction has looked at; its end writes what has become of them.
	gates map[siding.GateKey]*keptGate
	// campaigns are those that the transaction has looked at; its end writes what has become of them.
	campaigns map[siding.CampaignID]*keptCampaign
	// groups are those that the transaction has looked at; its end writes those that have changed.
	groups map[groupKey]*keptGroup
	// entries are those of the audit trail that the transaction adds to.
	entries map[entryKey]*keptEntry
	// over are leases among the process's solos that this transaction has found to be over.
	over []siding.LeaseToken
	// broken tells that SQLite has given up the whole transaction.
	broken bool
}

// begin starts a transaction: it waits for SQLite's write lock and reads what the store is, and its clock.
func (s *Store) begin() (*tx, error) {
	if err := s.writer.run("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	t := &tx{
		conn: s.writer, s: s, tallies: map[tallyKey]int64{}, spends: map[spendKey]spend{}, made: newNames(),
		swept: map[int64]bool{}, leased: map[tallyScope]int64{}, gates: map[siding.GateKey]*keptGate{},
		campaigns: map[siding.CampaignID]*keptCampaign{},
		entries:   map[entryKey]*keptEntry{}, groups: map[groupKey]*keptGroup{},
	}
	t.wrote = false
	var id string
	var format int64
	found, err := t.one(func(r *row) {
		id, format = r.str(0), r.int(1)
		s.clock.learn(r.int(2), r.int(3))
	}, "SELECT store_id, format, clock_last, clock_offset FROM meta")
	switch {
	case err != nil:
	case !found || id != s.info.ID:
		err = errors.New("the file has been replaced by another while it was open; start again")
	case format > Format:
		err = newerStore(s.path, format)
	}
	if err != nil {
		return nil, errors.Join(err, t.rollback())
	}
	return t, nil
}

// step carries out one operation, at a time of its own.
func (t *tx) step(o *op, savepoint bool) (err error) {
	t.now = t.s.clock.tick()
	if err := t.s.hook(PointBefore, o.name); err != nil {
		return err
	}
	if !savepoint {
		return o.run(t)
	}
	if err := t.run("SAVEPOINT op"); err != nil {
		t.broken = true
		return err
	}
	if err = o.run(t); err == nil {
		err = t.flush() // so that the savepoint undoes the sums and the gates too
	}
	if err == nil {
		err = t.s.hook(PointAfter, o.name)
	}
	if err != nil {
		// What is remembered of the transaction may be the operation's: forget it, and read it again where it is needed.
		clear(t.tallies)
		clear(t.spends)
		clear(t.swept)
		clear(t.leased)
		clear(t.gates)
		clear(t.campaigns)
		clear(t.entries)
		clear(t.groups)
		t.over = nil
		t.made = newNames()
		// A full disk may have ended the transaction; then there is no savepoint to return to.
		if e := t.run("ROLLBACK TO op"); e != nil {
			t.broken = true
			return errors.Join(err, e)
		}
	}
	if e := t.run("RELEASE op"); e != nil {
		t.broken = true
		return errors.Join(err, e)
	}
	return err
}

// end writes the sums, the gates and the clock, and commits. Where nothing has changed there is nothing to sync.
func (t *tx) end() error {
	err := t.flush()
	if err == nil && t.wrote {
		last, offset := t.s.clock.state()
		_, err = t.exec("UPDATE meta SET clock_last = ?, clock_offset = ?", last, offset)
	}
	if err == nil {
		err = t.run("COMMIT")
	}
	if err != nil {
		return errors.Join(err, t.rollback())
	}
	t.s.names.add(t.made)
	for _, token := range t.over {
		delete(t.s.solos, token)
	}
	return nil
}

// rollback ends the transaction and undoes it, also where SQLite has already done so.
func (t *tx) rollback() error {
	if err := t.run("ROLLBACK"); err != nil && !isFault(err) {
		return err
	}
	return nil
}

// guarded is an UPDATE or DELETE that must change exactly one row; otherwise the store contradicts itself.
func (t *tx) guarded(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("a guarded write changed %d rows instead of one: %.80q", n, query)
	}
	return err
}

// names are the numbers of queues and files.
type names struct{ queues, files map[string]int64 }

func newNames() names { return names{queues: map[string]int64{}, files: map[string]int64{}} }

func (n names) add(m names) {
	maps.Copy(n.queues, m.queues)
	maps.Copy(n.files, m.files)
}

// queue gives the number of a queue; 0 when there is none and it is not to be made.
func (t *tx) queue(name string, create bool) (int64, error) {
	if id := t.s.names.queues[name]; id != 0 {
		return id, nil
	}
	if id := t.made.queues[name]; id != 0 {
		return id, nil
	}
	id, err := t.number("SELECT id FROM queues WHERE name = ?", name)
	if err == nil && id == 0 && create {
		if err := checkQueue(name); err != nil {
			return 0, err
		}
		_, id, err = t.insert("INSERT INTO queues (name) VALUES (?)", name)
	}
	if err != nil || id == 0 {
		return 0, err
	}
	t.made.queues[name] = id
	return id, nil
}

// file gives the number of a file's name, and makes it.
func (t *tx) file(name string) (int64, error) {
	name = siding.Scrub(name, siding.MaxHeader)
	if id := t.s.names.files[name]; id != 0 {
		return id, nil
	}
	if id := t.made.files[name]; id != 0 {
		return id, nil
	}
	id, err := t.number("SELECT id FROM files WHERE name = ?", name)
	if err == nil && id == 0 {
		_, id, err = t.insert("INSERT INTO files (name) VALUES (?)", name)
	}
	if err != nil {
		return 0, err
	}
	t.made.files[name] = id
	return id, nil
}

// checkQueue says what is wrong with a queue's name.
func checkQueue(name string) error {
	if err := siding.CheckID(name); err != nil {
		return fmt.Errorf("the queue's name %q cannot be used: %w", siding.Scrub(name, 64), err)
	}
	return nil
}
