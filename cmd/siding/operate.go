package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// operation is what is done with each message of a selection.
type operation struct {
	verb string // what became of a message: "sent back"
	do   func(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error)
	next string // what comes next, where something has to be done about it; a hint
	// whole does it with up to limit messages of a selection at once; nil: it is done one by one.
	whole func(ctx context.Context, s siding.Store, sel siding.Selection, limit int) (int64, error)
	// mend repairs each message before; nil: it stays as it is.
	mend *mender
	// needsBody says that it cannot be done to a message whose body retention has dropped.
	needsBody bool
}

// How many messages are changed in one write: of a queue one by one, and of a selection as a whole.
const (
	operateBatch = 500
	operateWhole = 10_000
)

// operatedLine is the end of an operation, with --json.
type operatedLine struct {
	Type    string `json:"type"` // operated
	V       int    `json:"v"`
	Verb    string `json:"verb"`    // sent back or discarded
	Matched int64  `json:"matched"` // what the selection named
	Changed int64  `json:"changed"` // 0 with --dry-run
	Missed  int64  `json:"missed"`  // not dead any more when their turn came, or changed meanwhile
	DryRun  bool   `json:"dry_run"`
	// NoBody is how many stay because retention has dropped their body.
	NoBody int64 `json:"no_body"`
	*repairedLine
}

// operate does an operation on a selection of dead letters.
func (a *app) operate(ctx context.Context, sf *selectFlags, all, dryRun bool, op operation) error {
	if err := sf.checkAll(all, op.verb); err != nil {
		return err
	}
	open := a.openWriting
	if dryRun {
		open = a.openReading
	}
	store, _, err := open(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	sel, err := a.resolve(ctx, store, sf)
	if err == nil {
		err = a.checkNamed(ctx, store, sf)
	}
	if err == nil {
		if op.mend != nil {
			op.mend.open(a.newDesk(store, op.mend.recipe), dryRun)
			sel.Bodies = true
		}
		err = a.operateOn(ctx, store, sel, dryRun, op)
	}
	return storeError(err)
}

// checkAll lets either a selection or --all through.
func (s *selectFlags) checkAll(all bool, verb string) error {
	switch {
	case s.empty() && !all:
		return usagef("nothing is selected, so nothing is %s; choose with --id, --cause, --queue and the like, or give --all", verb)
	case !s.empty() && all:
		return usagef("--all and a selection contradict each other; give one of them")
	}
	return nil
}

// checkNamed looks at IDs that are named one by one: each must exist, in one queue only.
func (a *app) checkNamed(ctx context.Context, store siding.Operator, sf *selectFlags) error {
	if len(sf.ids) == 0 {
		return nil
	}
	found := map[string][]siding.Message{}
	for l, err := range store.List(ctx, siding.Selection{Queue: sf.queue, IDs: sf.ids}) {
		if err != nil {
			return err
		}
		found[l.ID] = append(found[l.ID], l.Message)
	}
	for _, id := range sf.ids {
		dead, queues := 0, []string{}
		for _, m := range found[id] {
			queues = append(queues, m.Queue)
			if m.State == siding.StateDead {
				dead++
			}
		}
		switch {
		case len(queues) == 0:
			return fmt.Errorf("no message with the ID %q; nothing was done: %w", id, siding.ErrNotFound)
		case dead > 1:
			return usagef("several queues have a message %q; name one with --queue: %s", id, strings.Join(queues, ", "))
		case dead == 0:
			a.notef("%s in queue %s is %s, not set aside", id, queues[0], found[id][0].State)
		}
	}
	return nil
}

// operateOn walks over the selection and works on it in batches, so that memory does not grow with it. What is set aside
// anew after the beginning is not taken, or a message that fails at once would be sent back again and again.
func (a *app) operateOn(ctx context.Context, store siding.Store, sel *selection, dryRun bool, op operation) error {
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	if sel.Until.IsZero() || now.Before(sel.Until) {
		sel.Until = now
	}
	o := &operator{app: a, store: store, op: op, line: operatedLine{Type: "operated", V: 1, Verb: op.verb, DryRun: dryRun}}
	var t *table
	if dryRun && !a.json && op.mend == nil {
		t = newListTable(a.out)
	}
	if op.whole != nil && op.mend == nil && sel.where == nil && !dryRun {
		err = o.wholly(ctx, sel.Selection)
	} else {
		err = o.walk(ctx, sel, t)
	}
	a.reportFailed(sel)
	if t != nil && o.line.Matched > 0 {
		err = errors.Join(t.flush(), err)
	}
	if op.mend != nil {
		o.line.repairedLine = op.mend.end(ctx)
	}
	if a.json {
		err = errors.Join(writeJSON(a.out, o.line), err)
	} else if err == nil || o.line.Matched > 0 {
		o.tell()
	}
	if err == nil && !dryRun && o.stays() > 0 {
		err = said(errSetAside)
	}
	return err
}

type operator struct {
	*app
	store siding.Store
	op    operation
	line  operatedLine
	queue string
	ids   []string
}

func (o *operator) walk(ctx context.Context, sel *selection, t *table) error {
	var unread int64
	for l, err := range sel.walk(ctx, o.store) {
		switch {
		case err != nil && (isEndless(err) || ctx.Err() != nil):
			return errors.Join(o.flush(context.WithoutCancel(ctx)), endOfWalk(ctx, err))
		case err != nil:
			unread++
			o.notef("a message that cannot be read was left out: %v", err)
			continue
		}
		o.line.Matched++
		if err := o.each(ctx, l, t); err != nil {
			return errors.Join(o.flush(context.WithoutCancel(ctx)), err)
		}
	}
	if err := o.flush(ctx); err != nil {
		return err
	}
	if unread > 0 {
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", counted(unread, "message"))
	}
	return nil
}

// each does it with one message, or shows what would be done.
func (o *operator) each(ctx context.Context, l siding.Listed, t *table) error {
	take := true
	switch {
	case o.op.needsBody && l.NoBody:
		o.line.NoBody++
		take = false
	case o.op.mend != nil:
		var err error
		if take, err = o.op.mend.each(ctx, l); err != nil {
			return err
		}
	}
	switch {
	case o.line.DryRun && o.op.mend != nil:
		return nil
	case o.line.DryRun && o.json:
		return writeJSON(o.out, newDeadLetterLine(l))
	case o.line.DryRun:
		listRow(t, l)
		return nil
	case !take:
		return nil
	}
	return o.take(ctx, l.Queue, l.ID)
}

// wholly does it with a selection piece by piece, in the store's own time. What stays has no body any more.
func (o *operator) wholly(ctx context.Context, s siding.Selection) error {
	queues := []string{s.Queue}
	if s.Queue == "" {
		stats, err := o.store.Stats(ctx, "")
		if err != nil {
			return err
		}
		queues = queues[:0]
		for _, q := range stats {
			if q.Dead > 0 {
				queues = append(queues, q.Queue)
			}
		}
	}
	for _, s.Queue = range queues {
		if err := o.whollyOf(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// whollyOf does it with what a selection names in one queue.
func (o *operator) whollyOf(ctx context.Context, s siding.Selection) error {
	for {
		n, err := o.op.whole(actOn(ctx, s.Queue), o.store, s, operateWhole)
		o.line.Matched, o.line.Changed = o.line.Matched+n, o.line.Changed+n
		if err != nil {
			return interrupted(ctx, err)
		}
		if n < operateWhole {
			break
		}
	}
	for l, err := range o.store.List(ctx, s) {
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return fmt.Errorf("a message that cannot be read stays; \"siding doctor\" says more: %w", err)
		case l.NoBody:
			o.line.Matched, o.line.NoBody = o.line.Matched+1, o.line.NoBody+1
		}
	}
	return nil
}

// stays counts the messages of the selection that are set aside as before, although nobody else was at them.
func (o *operator) stays() int64 {
	n := o.line.NoBody
	if r := o.line.repairedLine; r != nil {
		n += r.Unchanged + r.Invalid
	}
	return n
}

// take adds a message to the batch, and works on it when it is full or the queue another.
func (o *operator) take(ctx context.Context, queue, id string) error {
	if queue != o.queue || len(o.ids) >= operateBatch || o.op.mend.full() {
		if err := o.flush(ctx); err != nil {
			return err
		}
	}
	o.queue, o.ids = queue, append(o.ids, id)
	return nil
}

func (o *operator) flush(ctx context.Context) error {
	if len(o.ids) == 0 {
		return nil
	}
	ids := slices.Clone(o.ids)
	o.ids = o.ids[:0]
	errs, err := o.op.do(actOn(ctx, o.queue), o.store, o.queue, ids)
	if err != nil {
		return err
	}
	for i, e := range errs {
		switch {
		case e == nil:
			o.line.Changed++
		case errors.Is(e, siding.ErrWrongState), errors.Is(e, siding.ErrNotFound), errors.Is(e, siding.ErrConflict):
			o.line.Missed++
		case errors.Is(e, siding.ErrNoBody):
			o.line.NoBody++
		default:
			err = errors.Join(err, fmt.Errorf("message %q: %w", ids[i], e))
		}
	}
	return err
}

func (o *operator) tell() {
	switch l := o.line; {
	case l.Matched == 0:
		o.notef("nothing matches: nothing was %s", o.op.verb)
		return
	case l.DryRun && o.op.mend != nil:
	case l.DryRun:
		o.notef("%s would be %s", counted(l.Matched-l.NoBody, "message"), o.op.verb)
	case l.Missed > 0:
		o.notef("%s %s; %d were not set aside any more, or had changed", counted(l.Changed, "message"), o.op.verb, l.Missed)
	default:
		o.notef("%s %s", counted(l.Changed, "message"), o.op.verb)
	}
	if o.op.next != "" && o.line.Changed > 0 {
		o.hintf("%s", o.op.next)
	}
	if o.op.mend != nil {
		o.op.mend.tell()
	}
	if o.line.NoBody > 0 {
		o.notef("%s, whose body retention has dropped; enqueue the same records again", plural(int(o.line.NoBody), "message stays", "messages stay"))
	}
}
