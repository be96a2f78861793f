package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/siding-dev/siding"
)

// tx is a write transaction that carries out operations one after the other.
//
// Most are carried out beside those of other processes (shared): such a transaction waits for the rows and gates that its
// operations name, in one order, before it is told the time, so that what it reads of them is what was committed before.
// What concerns rows that nobody named is done alone: no other transaction of the store is at work then.
type tx struct {
	*conn
	s         *Store
	exclusive bool
	// now is the store's time of the operation, in microseconds; each operation has its own, later than all before.
	now int64
	// process is processes.id of this store, which the transaction may have made anew.
	process int64
	// rows are the messages that were locked at the beginning, for the first that asks for each.
	rows map[int64]*stored
	// fresh are the messages that the beginning has made, for the operations that enqueue them.
	fresh map[freshKey]int64
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
	// groups are those that the transaction has looked at; its end writes those that have changed. arrivals are what it has set
	// aside beside other processes, whose end then takes it in.
	groups   map[groupKey]*keptGroup
	arrivals []arrival
	// entries are those of the audit trail that the transaction adds to.
	entries map[entryKey]*keptEntry
	// solos are leases that this transaction has made beside which there may be no other, over those that it has found to be over.
	solos, over []siding.LeaseToken
}

// errAlone asks for the whole group to be carried out again while nobody else writes.
var errAlone = errors.New("this is to be done alone")

// mustBeAlone ends a transaction that meets something that concerns more than it has locked; it is done again, alone.
func (t *tx) mustBeAlone() error {
	if !t.exclusive {
		return errAlone
	}
	return nil
}

// settings are those of a write transaction. What it reads stands in indexes, always: a plan that was made while a table was
// small must not read all of it when it has grown. A commit is durable, whatever the server's default.
const settings = `SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true),
	set_config('jit', 'off', true), CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`

// begin starts a transaction: it waits for its turn and for what the operations name, reads what the store is, and is
// told the time, all in one way to the server and back.
func (s *Store) begin(c *conn, group []*op, alone bool) (*tx, error) {
	t := &tx{
		conn: c, s: s, exclusive: alone, rows: map[int64]*stored{}, tallies: map[tallyKey]int64{}, spends: map[spendKey]spend{},
		made: newNames(), swept: map[int64]bool{}, leased: map[tallyScope]int64{}, gates: map[siding.GateKey]*keptGate{}, campaigns: map[siding.CampaignID]*keptCampaign{},
		entries: map[entryKey]*keptEntry{}, groups: map[groupKey]*keptGroup{},
	}
	turn := "SELECT pg_advisory_xact_lock_shared(?, ?)"
	if alone {
		turn = "SELECT pg_advisory_xact_lock(?, ?)"
	}
	err := errors.Join(c.send("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"), c.send(settings), c.send(turn, s.at.class, writeLock))
	if err == nil && !alone {
		err = t.lockNamed(group)
	}
	if err != nil {
		return t, err
	}
	var id string
	var format int64
	found := false
	c.ask(func(r *row) error {
		id, format, t.process, t.now, found = r.str(0), r.int(1), r.int(2), r.int(3), true
		return r.err
	}, `SELECT store_id, format, (SELECT p.id FROM processes p WHERE p.id = ? AND NOT p.gone), tick(?, ?, ?) FROM meta`,
		s.process.Load(), len(group), s.wall(), s.at.class)
	err = c.flush()
	c.wrote = false // nothing that must be kept
	switch {
	case err != nil:
	case !found || id != s.info.ID:
		err = errors.New(s.at.shown + ": the store has been replaced by another while it was open; start again")
	case format > Format:
		err = s.newerStore(format)
	case t.process == 0 && s.process.Load() != 0:
		err = t.register() // it was taken for gone
	}
	t.now--
	return t, err
}

// lockNamed locks the gates and the messages that the operations of a group name, in the order of their numbers.
func (t *tx) lockNamed(group []*op) error {
	var gates []int32
	var messages []int64
	for _, o := range group {
		for _, k := range o.gates {
			for _, one := range k.All() {
				k := scrubbed(one)
				gates = append(gates, lockOf(k.String()))
				t.gates[k] = nil
			}
		}
		for _, token := range o.tokens {
			messages = append(messages, token.Message)
		}
	}
	slices.Sort(gates)
	for _, g := range slices.Compact(gates) {
		if err := t.send("SELECT pg_advisory_xact_lock(?, ?)", t.s.at.class, g); err != nil {
			return err
		}
	}
	for _, k := range slices.Collect(maps.Keys(t.gates)) {
		t.ask(func(r *row) error { t.keep(k, r.str(0)); return r.err }, "SELECT coalesce((SELECT gate FROM gates WHERE scope = ? AND name = ?), '')",
			string(k.Scope), k.Name)
	}
	if len(messages) > 0 {
		slices.Sort(messages)
		t.ask(func(r *row) error {
			if m := r.message(); r.err == nil { // one that cannot be read is read again by who asks for it
				t.rows[m.id] = &m
			}
			return nil
		}, "SELECT "+messageColumns+" FROM messages m WHERE m.id = ANY (?) ORDER BY m.id FOR NO KEY UPDATE", slices.Compact(messages))
	}
	return nil
}

// message gives a message by its number, locked.
func (t *tx) message(id int64) (m stored, found bool, err error) {
	if p := t.rows[id]; p != nil {
		delete(t.rows, id)
		return *p, true, nil
	}
	found, err = t.one(func(r *row) { m = r.message() }, "SELECT "+messageColumns+" FROM messages m WHERE m.id = ? FOR NO KEY UPDATE", id)
	return m, found, err
}

// step carries out one operation, at a time of its own.
func (t *tx) step(o *op) error {
	t.now++
	if err := t.s.hook(PointBefore, o.name); err != nil {
		return err
	}
	if err := o.run(t); err != nil {
		return err
	}
	return t.s.hook(PointAfter, o.name)
}

// end writes the sums and the gates, and commits. Where nothing has changed nothing waits for the disk. uncertain tells
// that the commit was under way when the error came.
func (t *tx) end() (uncertain bool, err error) {
	if err := t.takeInArrivals(); err != nil {
		return false, err
	}
	if err := t.keepSums(); err != nil {
		return false, err
	}
	if err := errors.Join(t.keepGroups(), t.keepEntries(), t.keepGates(), t.keepCampaigns()); err != nil {
		return false, err
	}
	if err := t.flush(); err != nil { // what is wrong with it shows before the commit
		return false, err
	}
	if !t.wrote {
		err = t.send("SET LOCAL synchronous_commit TO off")
	}
	if err = errors.Join(err, t.send("COMMIT"), t.flush()); err != nil {
		return true, err
	}
	t.s.names.add(t.made)
	for _, token := range t.solos {
		t.s.solos[token] = true
	}
	for _, token := range t.over {
		delete(t.s.solos, token)
	}
	if t.process != 0 {
		t.s.process.Store(t.process)
	}
	return false, nil
}

// rollback undoes the transaction. Where that fails the connection is closed, which undoes it too.
func (t *tx) rollback(ctx context.Context) {
	if _, err := t.c.Exec(ctx, "ROLLBACK"); err != nil {
		_ = t.c.Close(ctx)
	}
}
