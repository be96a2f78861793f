package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/cmd/siding/triage"
	"github.com/siding-dev/siding/quarantine"
)

// dlqOnTerminal shows the page for working through dead letters; help, where there is no terminal.
func (a *app) dlqOnTerminal(cmd *cobra.Command) error {
	if a.json || !isTerminal(a.in) || !isTerminal(a.out) || a.env["TERM"] == "dumb" {
		return cmd.Help()
	}
	ctx := cmd.Context()
	if err := a.regroup(ctx); err != nil {
		return err
	}
	store, path, err := a.openReading(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	d := a.newTriageDesk(store, path)
	environ := make([]string, 0, len(a.env))
	for k, v := range a.env {
		environ = append(environ, k+"="+v)
	}
	in, ok := a.in.(*os.File)
	if !ok {
		return cmd.Help()
	}
	return storeError(interrupted(ctx, triage.Run(ctx, d, in, terminalOf(a.out), environ, a.colour(a.out))))
}

// triageDesk is the store as the page in the terminal works on it. It reads by one opening, and opens the store for
// writing only while something is changed: a person may think for hours.
type triageDesk struct {
	silent *app // says nothing on the terminal
	desk   *desk
	store  siding.Store
	path   string
}

func (a *app) newTriageDesk(store siding.Store, path string) *triageDesk {
	silent := *a
	silent.out, silent.err, silent.quiet = io.Discard, io.Discard, true
	return &triageDesk{silent: &silent, desk: silent.newDesk(store, ""), store: store, path: path}
}

// Groups gives the groups that are not ignored.
func (t *triageDesk) Groups(ctx context.Context) ([]triage.Group, error) {
	now, err := t.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	list, err := t.store.Groups(ctx, siding.GroupQuery{})
	var groups []triage.Group
	for _, g := range list {
		if g.State != siding.GroupIgnored {
			groups = append(groups, triage.Group{Group: g, Trend: g.Hours.Trend(now)})
		}
	}
	return groups, err
}

func groupSelection(key siding.GroupKey) siding.Selection {
	return siding.Selection{Queue: key.Queue, Fingerprints: []string{key.Fingerprint}, States: []siding.State{siding.StateDead}}
}

// Letters walks over a group as far as it is asked.
func (t *triageDesk) Letters(ctx context.Context, key siding.GroupKey) triage.Pages {
	p := &triagePages{}
	p.next, p.stop = iter.Pull2(t.store.List(ctx, groupSelection(key)))
	return p
}

type triagePages struct {
	mu   sync.Mutex
	next func() (siding.Listed, error, bool)
	stop func()
}

// Next reads on.
func (p *triagePages) Next(n int) ([]triage.Row, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rows []triage.Row
	for len(rows) < n {
		l, err, ok := p.next()
		if !ok {
			break
		}
		row := triage.Row{ID: l.ID, DeadAt: l.DeadAt}
		switch {
		case err != nil:
			row = triage.Row{Text: "cannot be read: " + err.Error()}
		case l.NoBody:
			row.Text = "(no body any more) "
		}
		if l.LastError != nil {
			row.Text += oneLine(l.LastError.Text, 200)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Close ends the walk.
func (p *triagePages) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
}

// Letter gives what is wrong with a letter first, and then all that is known of it.
func (t *triageDesk) Letter(ctx context.Context, queue, id string) (triage.Letter, error) {
	r, err := t.store.Get(ctx, queue, id)
	if err != nil {
		return triage.Letter{}, fmt.Errorf("message %q: %w", id, err)
	}
	l := triage.Letter{Row: triage.Row{ID: r.ID, DeadAt: r.DeadAt}, Queue: r.Queue}
	var b bytes.Buffer
	writer := *t.silent
	writer.out = &b
	if r.State == siding.StateDead {
		findings, repairs, err := t.desk.lookInto(ctx, r)
		if err != nil {
			_, _ = fmt.Fprintf(&b, "what is wrong with it could not be looked into: %v\n", err)
		}
		l.Suggested = repairs
		for _, f := range findings {
			l.Others = append(l.Others, f.Repairs...)
		}
		l.Others = unique(l.Others)
		writeFindings(&b, r.Body, findings, false)
		_, _ = fmt.Fprintln(&b)
	}
	if err := writer.showKnown(r, showFlags{}); err != nil {
		return l, err
	}
	l.Lines = strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	return l, nil
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// CheckRepair reads a repair.
func (t *triageDesk) CheckRepair(text string) error {
	_, err := quarantine.ParseRepair(text)
	return err
}

// Preview applies repairs to a letter without changing it.
func (t *triageDesk) Preview(ctx context.Context, queue, id string, repairs []string) (triage.Preview, error) {
	list, err := quarantine.ParseRepairs(repairs)
	if err != nil {
		return triage.Preview{}, err
	}
	r, err := t.store.Get(ctx, queue, id)
	switch {
	case err != nil:
		return triage.Preview{}, fmt.Errorf("message %q: %w", id, err)
	case r.State != siding.StateDead:
		return triage.Preview{Verdict: "not set aside any more"}, nil
	case r.NoBody:
		return triage.Preview{Verdict: "without a body"}, nil
	}
	p, err := t.desk.preview(ctx, r.Message, list)
	if err != nil {
		return triage.Preview{}, err
	}
	got := triage.Preview{Verdict: string(p.Verdict), Problem: p.Problem}
	if p.Verdict == quarantine.Changed {
		got.Lines = strings.Split(strings.TrimRight(diffText(quarantine.Compare(p.Before, p.After), false), "\n"), "\n")
	}
	return got, nil
}

// Mark marks a group.
func (t *triageDesk) Mark(ctx context.Context, key siding.GroupKey, state siding.GroupState, note string) error {
	store, _, err := t.silent.openWriting(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	words := "siding dlq groups mark " + shellQuote(key.Fingerprint) + " --queue " + shellQuote(key.Queue)
	if state != "" {
		words += " " + string(state)
	}
	if note != "" {
		words += " --note " + shellQuote(note)
	}
	return store.MarkGroup(t.silent.act(ctx, words), key, state, note)
}

// targetWords names letters as the flags of a command do.
func targetWords(t triage.Target) string {
	words := " --queue " + shellQuote(t.Key.Queue)
	if t.ID != "" {
		return words + " --id " + shellQuote(t.ID)
	}
	return words + " --fingerprint " + shellQuote(t.Key.Fingerprint)
}

// Campaign makes a campaign, and sends the canary.
func (t *triageDesk) Campaign(ctx context.Context, key siding.GroupKey, repairs []string, canary int64) (string, error) {
	store, path, err := t.silent.openWriting(ctx)
	if err != nil {
		return "", err
	}
	defer closing(store)
	words := "siding redrive" + targetWords(triage.Target{Key: key}) + repairArgs(repairs) + fmt.Sprintf(" --canary %d", canary)
	ctx = t.silent.act(ctx, words)
	c, err := store.CreateCampaign(ctx, siding.CampaignPlan{
		Selection: groupSelection(key), Repairs: repairs, Canary: canary, MinSuccess: minSuccess,
	})
	if err != nil {
		return "", err
	}
	if err := t.silent.openCampaign(ctx, store, path, c, false); err != nil && !onlyEnds(err) {
		return "", fmt.Errorf("campaign %d: %w", c.ID, err)
	}
	if c, err = store.Campaign(ctx, c.ID); err != nil {
		return "", err
	}
	return fmt.Sprintf("campaign %d is %s, %s; siding campaign show %d", c.ID, c.State, countsText(c), c.ID), nil
}
