package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// tables are the data. Rows are replaced by a changed copy, never changed in place, and every replacement goes through
// [set], so that a write that fails is undone as a whole.
type tables struct {
	messages    map[int64]*message // by number, which grows with age
	numbers     map[key]int64
	lastMessage int64
	lastNonce   int64
	stale       map[string]int64 // stale settlements by queue

	copies    map[int64][]int64 // the messages that were forwarded: those that they were forwarded as
	originsOf map[int64][]int64 // the other way round

	calls    map[siding.CallID]*call
	callsOf  map[int64][]siding.CallID // by message, oldest first
	lastCall siding.CallID

	inputs    map[siding.InputID]*input
	lastInput siding.InputID

	gates map[siding.GateKey][]byte // as JSON

	campaigns    map[siding.CampaignID]*siding.Campaign
	lastCampaign siding.CampaignID
	enlisted     map[siding.CampaignID][]*enlisted // in the order in which they became members
	campaignsOf  map[int64][]*enlisted             // by message
	groups       map[siding.GroupKey]siding.Group
	heirs        map[siding.GroupKey][]string // newer fingerprints that have taken over what is known of a group

	entries   map[int64]siding.AuditEntry
	lastEntry int64
	notes     map[string]siding.Note // those that were removed too, without a value
}

func (t *tables) empty() {
	t.messages, t.numbers, t.stale = map[int64]*message{}, map[key]int64{}, map[string]int64{}
	t.copies, t.originsOf = map[int64][]int64{}, map[int64][]int64{}
	t.calls, t.callsOf = map[siding.CallID]*call{}, map[int64][]siding.CallID{}
	t.inputs = map[siding.InputID]*input{}
	t.gates = map[siding.GateKey][]byte{}
	t.campaigns = map[siding.CampaignID]*siding.Campaign{}
	t.enlisted, t.campaignsOf = map[siding.CampaignID][]*enlisted{}, map[int64][]*enlisted{}
	t.groups, t.heirs = map[siding.GroupKey]siding.Group{}, map[siding.GroupKey][]string{}
	t.entries, t.notes = map[int64]siding.AuditEntry{}, map[string]siding.Note{}
}

type key struct{ queue, id string }

// message is a message with all that is kept of it.
type message struct {
	siding.Message
	number   int64
	source   *siding.Source
	received siding.Hash // of the body as it was received, whatever repairs have made of it
	result   []byte      // when done

	history       []siding.DeliveryRecord
	forgotten     int
	revisions     []siding.Revision
	discardReason string

	lease lease              // when leased
	next  *siding.NewMessage // what has superseded it while it was leased
}

type lease struct {
	nonce          int64
	proc           *process
	worker         string
	started, until time.Time
	solo           bool // nothing else is leased by the process until it is settled
}

type call struct {
	siding.Call
	proc   *process
	answer []byte
}

// input is one generation of an input.
type input struct {
	queue, key string
	proc       *process // that reads it
	sealed     bool
	members    []member
	byID       map[string]siding.Hash // event ID → hash of the body with which it first stood in this generation
	byOrdinal  map[int64]member       // so that a repeated write is known as one
	equals     map[siding.Hash]int64  // how many records without ID had this source hash
}

type member struct {
	number int64 // of the message
	id     string
	source siding.Source
}

// tx is one read or write under the mutex.
type tx struct {
	*database
	proc *process
	now  time.Time
	undo []func()

	loaded map[siding.GateKey]*siding.Gate // kept at the end of the write
}

// set changes one entry of a table; the change is undone when the write fails.
func set[K comparable, V any](x *tx, m map[K]V, k K, v V) {
	x.keep(restore(m, k))
	m[k] = v
}

// drop removes one entry of a table.
func drop[K comparable, V any](x *tx, m map[K]V, k K) {
	x.keep(restore(m, k))
	delete(m, k)
}

func restore[K comparable, V any](m map[K]V, k K) func() {
	old, ok := m[k]
	return func() {
		if ok {
			m[k] = old
		} else {
			delete(m, k)
		}
	}
}

func (x *tx) keep(undo func()) { x.undo = append(x.undo, undo) }

// put keeps a message, and counts one that has just been set aside in its group.
func (x *tx) put(m *message) {
	old := x.messages[m.number]
	if m.State == siding.StateDead && (old == nil || old.State != siding.StateDead || old.LastError != m.LastError) {
		x.arrive(m)
	}
	set(x, x.messages, m.number, m)
}

// each walks over all messages of a queue, oldest first; the empty name means every queue.
func (x *tx) each(queue string, f func(m *message)) {
	for n := int64(1); n <= x.lastMessage; n++ {
		if m := x.messages[n]; m != nil && (queue == "" || m.Queue == queue) {
			f(m)
		}
	}
}

// find gives a copy of the message to be changed and put back.
func (x *tx) find(queue, id string) (*message, error) {
	n, ok := x.numbers[key{queue, id}]
	if !ok {
		return nil, fmt.Errorf("message %q in queue %q: %w", siding.Scrub(id, 64), siding.Scrub(queue, 64), siding.ErrNotFound)
	}
	m := *x.messages[n]
	return &m, nil
}

// held gives a copy of the message whose current lease has this token.
func (x *tx) held(t siding.LeaseToken) (*message, error) {
	m := x.messages[t.Message]
	if m == nil || m.State != siding.StateLeased || m.lease.nonce != t.Nonce {
		return nil, fmt.Errorf("lease %d of message %d: %w", t.Nonce, t.Message, siding.ErrStaleLease)
	}
	c := *m
	return &c, nil
}

// read calls f with a steady view of the data.
func (s *Store) read(ctx context.Context, f func(x *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	return s.locked(f)
}

// write calls f to change the data; an error of f or of the hook leaves everything as it was.
func (s *Store) write(ctx context.Context, op string, f func(x *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.o.Hook("before", op); err != nil {
		return err
	}
	if err := s.guarded(op, f); err != nil {
		return err
	}
	return s.o.Hook("after-commit", op)
}

func (s *Store) guarded(op string, f func(x *tx) error) error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	return s.locked(func(x *tx) (err error) {
		kept := false
		defer func() {
			if !kept {
				for _, undo := range slices.Backward(x.undo) {
					undo()
				}
			}
		}()
		for _, step := range []func() error{
			func() error { return f(x) },
			x.keepGates,
			func() error { return s.o.Hook("after", op) },
			func() error { return s.o.Hook("before-commit", op) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		kept = true
		return nil
	})
}

func (s *Store) locked(f func(x *tx) error) error {
	if s.db.fate(s.proc) != "" {
		return siding.ErrClosed
	}
	return f(&tx{database: s.db, proc: s.proc, now: s.db.tick(s.o.Clock())})
}

// shown gives a message as callers may have it: they can change nothing of the store's through it.
func shown(m *message, body bool) siding.Message {
	c := m.Message
	c.Body = nil
	if body {
		c.Body = copied(m.Body)
	}
	c.Headers = maps.Clone(m.Headers)
	c.LastError = shownError(m.LastError)
	return c
}

func shownError(e *siding.LastError) *siding.LastError {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}

func shownSource(s *siding.Source) *siding.Source {
	if s == nil {
		return nil
	}
	c := *s
	return &c
}

// copied gives the same bytes elsewhere; nil stays nil and empty stays empty.
func copied(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
