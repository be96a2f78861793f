package main

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/cmd/siding/triage"
	"github.com/siding-dev/siding/quarantine"
)

// triageStep is how many letters are worked on between two looks at the keyboard: mended ones have to be read whole.
const (
	triageStep     = operateBatch
	triageMendStep = 50
)

// triageWork does an operation on letters, some at each step.
type triageWork struct {
	desk  *triageDesk
	t     triage.Target
	op    operation
	dry   bool
	words string
	act   siding.Act // the same for all steps

	mu    sync.Mutex
	store siding.Store // opened for writing by the first step; nil before, and on a preview
	o     *operator
	next  func() (siding.Listed, error, bool)
	stop  func()
	ended bool
	err   error
}

// Totals previews a group.
func (t *triageDesk) Totals(_ context.Context, key siding.GroupKey, repairs []string) triage.Work {
	list, err := quarantine.ParseRepairs(repairs)
	w := &triageWork{desk: t, t: triage.Target{Key: key}, dry: true, err: err}
	w.op = operation{verb: "sent back", mend: newMender(list), needsBody: true}
	return w
}

// SendBack sends letters back.
func (t *triageDesk) SendBack(_ context.Context, to triage.Target, repairs []string) triage.Work {
	list, err := quarantine.ParseRepairs(repairs)
	w := &triageWork{desk: t, t: to, err: err, words: "siding redrive" + targetWords(to) + repairArgs(repairs)}
	w.op = operation{
		verb: "sent back", needsBody: true,
		do: func(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error) {
			return s.Redrive(ctx, queue, ids...)
		},
	}
	if len(list) > 0 {
		w.op.mend = newMender(list)
		w.op.do = w.op.mend.send
	}
	return w
}

// Discard gives letters up.
func (t *triageDesk) Discard(_ context.Context, to triage.Target, reason string) triage.Work {
	w := &triageWork{desk: t, t: to, words: "siding dlq discard" + targetWords(to) + " --note " + shellQuote(reason)}
	w.op = operation{
		verb: "discarded",
		do: func(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error) {
			return s.Discard(ctx, queue, reason, ids...)
		},
	}
	return w
}

// open makes ready. What is set aside from now on is not taken.
func (w *triageWork) open(ctx context.Context) error {
	if w.err != nil || w.o != nil {
		return w.err
	}
	store := w.desk.store
	if !w.dry {
		var err error
		if w.store, _, err = w.desk.silent.openWriting(ctx); err != nil {
			return err
		}
		store = w.store
	}
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	s := groupSelection(w.t.Key)
	if w.t.ID != "" {
		s.Fingerprints, s.IDs = nil, []string{w.t.ID}
	}
	s.Until, s.Bodies = now, w.op.mend != nil
	w.o = &operator{app: w.desk.silent, store: store, op: w.op, line: operatedLine{DryRun: w.dry}}
	if m := w.op.mend; m != nil {
		m.silent = true
		m.open(w.desk.desk, w.dry)
	}
	w.next, w.stop = iter.Pull2(store.List(ctx, s))
	return nil
}

// Next works on some more letters, and writes what became of them.
func (w *triageWork) Next(ctx context.Context) (triage.Counts, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return triage.Counts{}, false, nil
	}
	if !w.dry {
		if w.act.ID == "" {
			w.act = siding.ActOf(w.desk.silent.act(ctx, w.words))
		}
		ctx = siding.WithAct(ctx, w.act)
	}
	if err := w.open(ctx); err != nil {
		return triage.Counts{}, false, err
	}
	n := triageStep
	if w.op.mend != nil {
		n = triageMendStep
	}
	var failed error
	more := true
	for range n {
		l, err, ok := w.next()
		if more = ok; !ok {
			break
		}
		if err != nil { // one that cannot be read stays, and the others go on
			continue
		}
		w.o.line.Matched++
		if failed = w.o.each(ctx, l, nil); failed != nil {
			break
		}
	}
	failed = errors.Join(failed, w.o.flush(context.WithoutCancel(ctx)))
	c := w.counts()
	if w.dry && !more && failed == nil {
		c.Note = w.op.mend.end(ctx).Estimate.short()
	}
	return c, more && failed == nil, failed
}

func (w *triageWork) counts() triage.Counts {
	l := w.o.line
	c := triage.Counts{Seen: l.Matched, Changed: l.Changed, Missed: l.Missed, NoBody: l.NoBody}
	if m := w.op.mend; m != nil {
		c.Unchanged, c.Invalid = m.line.Unchanged, m.line.Invalid
		if w.dry {
			c.Changed = m.line.WouldChange
		}
	}
	return c
}

// Close ends the work where it is.
func (w *triageWork) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.stop != nil {
		w.stop()
	}
	if w.store != nil {
		closing(w.store)
	}
}
