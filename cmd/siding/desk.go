package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// desk looks into the dead letters of a store with what the recipes of their queues know.
type desk struct {
	*app
	store  siding.Store
	recipe string // the recipe that a flag names; empty: each queue's own, as the store remembers it

	mu    sync.Mutex
	facts map[string]quarantine.Facts
}

func (a *app) newDesk(store siding.Store, recipe string) *desk {
	return &desk{app: a, store: store, recipe: recipe, facts: map[string]quarantine.Facts{}}
}

// factsOf gives what is known of a queue's records; what there is to say of the recipe is said once.
func (d *desk) factsOf(ctx context.Context, queue string) (quarantine.Facts, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, ok := d.facts[queue]; ok {
		return f, nil
	}
	f, err := d.factsFor(ctx, d.store, queue, d.recipe)
	if err == nil {
		d.facts[queue] = f
	}
	return f, err
}

// subject gives a dead letter with the calls made for it, and with the answer that was not accepted.
func (d *desk) subject(ctx context.Context, m siding.Message, calls []siding.Call) (quarantine.Subject, error) {
	s := quarantine.Subject{Message: m, Calls: calls}
	for _, c := range slices.Backward(calls) {
		if c.Fate != siding.FateAnswered || c.Verdict == siding.VerdictAccepted {
			continue
		}
		answer, err := d.store.Answer(ctx, c.ID)
		if errors.Is(err, siding.ErrNotFound) {
			continue
		}
		s.Answer = answer
		return s, err
	}
	return s, nil
}

// diagnose looks into a message that is listed with its body.
func (d *desk) diagnose(ctx context.Context, m siding.Message) ([]quarantine.Finding, error) {
	calls, err := d.store.Calls(ctx, m.Queue, m.ID)
	if err != nil {
		return nil, err
	}
	return d.diagnoseWith(ctx, m, calls)
}

func (d *desk) diagnoseWith(ctx context.Context, m siding.Message, calls []siding.Call) ([]quarantine.Finding, error) {
	f, err := d.factsOf(ctx, m.Queue)
	if err != nil {
		return nil, err
	}
	s, err := d.subject(ctx, m, calls)
	if err != nil {
		return nil, err
	}
	return quarantine.Diagnose(ctx, s, f), nil
}

// lookInto gives what was found in a message, and the repairs that mend it.
func (d *desk) lookInto(ctx context.Context, r *siding.Record) ([]quarantine.Finding, []string, error) {
	findings, err := d.diagnoseWith(ctx, r.Message, r.Calls)
	if err != nil {
		return nil, nil, err
	}
	repairs, err := d.suggest(ctx, r.Message, findings)
	return findings, repairs, err
}

// preview says what repairs would do to a message that is listed with its body.
func (d *desk) preview(ctx context.Context, m siding.Message, r quarantine.Repairs) (quarantine.Preview, error) {
	f, err := d.factsOf(ctx, m.Queue)
	if err != nil {
		return quarantine.Preview{}, err
	}
	return r.Preview(ctx, m, f), nil
}

// suggest gives the repairs that mend a message: tried, so that none is named that would not help.
func (d *desk) suggest(ctx context.Context, m siding.Message, findings []quarantine.Finding) ([]string, error) {
	names := quarantine.Suggest(findings)
	if len(names) == 0 {
		return nil, nil
	}
	r, err := quarantine.ParseRepairs(names)
	if err != nil {
		return nil, err
	}
	p, err := d.preview(ctx, m, r)
	if err != nil || p.Verdict != quarantine.Changed {
		return nil, err
	}
	return names, nil
}

// suggestFor gives the repairs that mend a sample of a group: its latest dead letter, else its oldest one.
func (d *desk) suggestFor(ctx context.Context, g siding.Group) ([]string, error) {
	m, err := d.sample(ctx, g)
	if err != nil || m == nil {
		return nil, err
	}
	findings, err := d.diagnose(ctx, *m)
	if err != nil {
		return nil, err
	}
	return d.suggest(ctx, *m, findings)
}

// sample gives a dead letter of a group with its body; nil: there is none.
func (d *desk) sample(ctx context.Context, g siding.Group) (*siding.Message, error) {
	s := siding.Selection{
		Queue: g.Key.Queue, Fingerprints: []string{g.Key.Fingerprint}, States: []siding.State{siding.StateDead}, Bodies: true, Limit: 1,
	}
	if g.SampleID != "" {
		latest := s
		latest.IDs = []string{g.SampleID}
		if m, err := first(ctx, d.store, latest); m != nil || err != nil {
			return m, err
		}
	}
	return first(ctx, d.store, s)
}

func first(ctx context.Context, store siding.Operator, s siding.Selection) (*siding.Message, error) {
	for l, err := range store.List(ctx, s) {
		if err != nil {
			return nil, err
		}
		return &l.Message, nil
	}
	return nil, nil //nolint:nilnil // none is no error here
}
