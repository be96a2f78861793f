package storetest

import (
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// quarantineWrites has the writes of [siding.Quarantine].
func quarantineWrites() []faultyWrite {
	first := func(errs []error, err, allowed error, repeated bool) error {
		if err == nil && !(repeated && outcome(errs[0]) == outcome(allowed)) {
			err = errs[0]
		}
		return err
	}
	// What is recorded, and how the groups stand, with the message itself.
	shows := func(f *fixture) any {
		var entries []siding.AuditEntry
		for _, e := range f.audit(siding.AuditOptions{Queue: f.queue}) {
			e.Number = 0
			entries = append(entries, e)
		}
		return []any{f.get("a"), f.groupsOf(siding.GroupQuery{Empty: true}), entries}
	}
	note := func(f *fixture) any {
		n, err := f.store.Note(f.ctx, "setting/"+f.queue)
		recorded := 0
		for _, e := range f.audit(siding.AuditOptions{Actions: []siding.Action{siding.ActionSetting}}) {
			if e.Act.ID == f.queue {
				recorded++
			}
		}
		return []any{string(n.Value), n.Version, outcome(err), recorded}
	}
	return []faultyWrite{
		{"Return", func(f *fixture) func(bool) error {
			f.dead("a")
			return func(repeated bool) error {
				errs, err := f.store.Return(f.ctx, f.queue, siding.Return{ID: "a", Body: []byte("2"), Headers: map[string]string{"x": "y"}})
				return first(errs, err, siding.ErrWrongState, repeated)
			}
		}, shows},
		{"MarkGroup", func(f *fixture) func(bool) error {
			f.dead("a")
			return func(repeated bool) error {
				if repeated {
					return nil
				}
				return f.store.MarkGroup(f.ctx, f.keyOf("no good"), siding.GroupKnown, "why")
			}
		}, shows},
		{"Settle", func(f *fixture) func(bool) error { // setting aside, into a group that was resolved
			f.failed("no good", "b")
			f.mark("no good", siding.GroupResolved, "")
			d := f.leased("a")
			return func(repeated bool) error {
				out, err := f.store.Settle(f.ctx, siding.Settlement{Token: d.Token, Policy: f.policy, Failure: permanent("no good")})
				if err != nil {
					return err
				}
				return first([]error{out[0].Err}, nil, siding.ErrStaleLease, repeated)
			}
		}, shows},
		{"SetNote", func(f *fixture) func(bool) error {
			f.ctx = siding.WithAct(f.ctx, siding.Act{ID: f.queue})
			return func(repeated bool) error {
				_, err := f.store.SetNote(f.ctx, siding.Note{Key: "setting/" + f.queue, Value: []byte("1")})
				return first([]error{err}, nil, siding.ErrConflict, repeated)
			}
		}, note},
		{"RedriveSelected", func(f *fixture) func(bool) error {
			f.dead("a")
			f.dead("b")
			return func(bool) error {
				_, err := f.store.RedriveSelected(f.ctx, siding.Selection{Queue: f.queue}, 10)
				return err
			}
		}, shows},
		{"DropBodies", func(f *fixture) func(bool) error {
			f.dead("a")
			f.dead("b")
			return func(bool) error {
				_, err := f.store.DropBodies(f.ctx, siding.Drop{What: siding.DropDead, Queue: f.queue, Before: f.clock.Now().Add(time.Hour), Limit: 10})
				return err
			}
		}, shows},
		{"Enqueue", func(f *fixture) func(bool) error { // of a message whose body was dropped
			f.dead("a")
			f.drop(siding.DropDead, 10)
			return func(bool) error {
				_, err := f.store.Enqueue(f.ctx, f.queue, siding.EnqueueOptions{}, msg("a"))
				return err
			}
		}, shows},
		{"Regroup", func(f *fixture) func(bool) error {
			f.outdates()
			for i := range 3 {
				f.failed("no such field", fmt.Sprint(i))
			}
			f.failed("no such field", "a")
			f.outdate("no such field", "0-abcdef")
			return func(bool) error {
				_, err := f.store.Regroup(f.ctx, 100)
				return err
			}
		}, shows},
	}
}
