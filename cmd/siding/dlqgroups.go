package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// groupLine is a group of dead letters, with --json.
type groupLine struct {
	Type             string            `json:"type"` // group
	V                int               `json:"v"`
	Queue            string            `json:"queue"`
	Fingerprint      string            `json:"fingerprint"`
	Cause            siding.Cause      `json:"cause"`
	State            siding.GroupState `json:"state"`
	Regression       bool              `json:"regression"` // it came back after it was resolved
	RegressedAt      stamp             `json:"regressed_at"`
	Note             string            `json:"note"`
	By               string            `json:"by"` // who changed state or note last
	ChangedAt        stamp             `json:"changed_at"`
	Dead             int64             `json:"dead"`    // in the quarantine now
	Arrived          int64             `json:"arrived"` // ever
	FirstSeen        stamp             `json:"first_seen"`
	LastSeen         stamp             `json:"last_seen"`
	Trend            string            `json:"trend"` // rising, steady, falling or quiet
	LastHour         int64             `json:"last_hour"`
	LastDay          int64             `json:"last_day"`
	SampleID         string            `json:"sample_id"`
	SampleText       string            `json:"sample_text"`
	SuggestedRepairs []string          `json:"suggested_repairs"` // that mend a sample
}

func newGroupLine(g siding.Group, repairs []string, now time.Time) groupLine {
	return groupLine{
		Type: "group", V: 1, Queue: g.Key.Queue, Fingerprint: g.Key.Fingerprint, Cause: g.Cause, State: g.State,
		Regression: regressed(g), RegressedAt: stamp(g.RegressedAt), Note: g.Note, By: g.By, ChangedAt: stamp(g.ChangedAt),
		Dead: g.Dead, Arrived: g.Arrived, FirstSeen: stamp(g.FirstSeen), LastSeen: stamp(g.LastSeen), Trend: g.Hours.Trend(now),
		LastHour: g.Hours.Last(1, now), LastDay: g.Hours.Last(24, now), SampleID: g.SampleID, SampleText: g.SampleText,
		SuggestedRepairs: append([]string{}, repairs...),
	}
}

func regressed(g siding.Group) bool { return !g.RegressedAt.IsZero() }

// groupFlags choose groups.
type groupFlags struct {
	queue, recipe string
	states        []string
	all           bool
}

func (a *app) dlqGroupsCommand() *cobra.Command {
	var f groupFlags
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "List the kinds of failure: how many, since when, and what mends them",
		Long: "Groups lists dead letters by what they have in common: the cause, and the error's text without the values in it. The\n" +
			"repair shown is one that mends the latest of the group; \"siding dlq diagnose --fingerprint GROUP\" says more. A group\n" +
			"is new until it is marked, see \"siding dlq groups mark\"; one that comes back after it was resolved is a regression.",
		Example: example("siding dlq groups", "siding dlq groups --state new --json", "siding dlq groups mark 2-1f2e3d4c5b6a known --note 'see ticket 12'"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.groups(cmd.Context(), f)
		},
	}
	run := cmd.RunE
	group(cmd)
	cmd.RunE = run
	fl := cmd.Flags()
	fl.StringVar(&f.queue, "queue", "", "only this queue")
	fl.StringSliceVar(&f.states, "state", nil, "only groups in this state: "+strings.Join(texts(siding.GroupStates()), ", ")+" (default: all but ignored)")
	fl.BoolVar(&f.all, "all", false, "also ignored groups, and those that have no dead letter any more")
	recipeFlag(cmd, &f.recipe)
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(texts(siding.GroupStates()), cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.dlqMarkCommand())
	return cmd
}

// recipeFlag is for commands that look into dead letters.
func recipeFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "recipe", "", "the recipe whose schemas and limits hold (default: the one by which the queue was last worked)")
}

func parseGroupStates(names []string) ([]siding.GroupState, error) {
	var states []siding.GroupState
	for _, name := range names {
		if !slices.Contains(siding.GroupStates(), siding.GroupState(name)) {
			return nil, usagef("%q is no state of a group; the states are %s", siding.Scrub(name, 64), strings.Join(texts(siding.GroupStates()), ", "))
		}
		states = append(states, siding.GroupState(name))
	}
	return states, nil
}

func (a *app) groups(ctx context.Context, f groupFlags) error {
	q := siding.GroupQuery{Queue: f.queue, Empty: f.all}
	var err error
	if q.States, err = parseGroupStates(f.states); err != nil {
		return err
	}
	if err := a.regroup(ctx); err != nil {
		return err
	}
	store, path, err := a.openReading(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	now, err := store.Now(ctx)
	if err != nil {
		return storeError(err)
	}
	list, err := store.Groups(ctx, q)
	if err != nil {
		return storeError(err)
	}
	var ignored, ignoredDead int64
	if len(q.States) == 0 && !f.all {
		list = slices.DeleteFunc(list, func(g siding.Group) bool {
			if g.State != siding.GroupIgnored {
				return false
			}
			ignored, ignoredDead = ignored+1, ignoredDead+g.Dead
			return true
		})
	}
	if err := a.writeGroups(ctx, a.newDesk(store, f.recipe), list, now); err != nil {
		return storeError(err)
	}
	switch {
	case ignored > 0:
		a.hintf("ignored, and not shown: %s with %s; --all shows them", counted(ignored, "group"), counted(ignoredDead, "dead letter"))
	case len(list) == 0:
		a.hintf("nothing is set aside that matches")
	}
	if len(list) > 0 {
		a.hintf("look into one: siding dlq diagnose%s --fingerprint %s", siding.Scrub(a.storeFlag(path), 4096), shellQuote(list[0].Key.Fingerprint))
	}
	return nil
}

func (a *app) writeGroups(ctx context.Context, d *desk, list []siding.Group, now time.Time) error {
	t := newTable(a.out, "DEAD", "CAUSE", "STATE", "TREND", "FIRST SEEN", "LAST SEEN", "GROUP", "QUEUE", "MENDED BY", "ERROR")
	for _, g := range list {
		repairs, err := d.suggestFor(ctx, g)
		var usage *usageError
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case errors.As(err, &usage):
			return err
		case err != nil: // one that cannot be looked into is listed like the others
			a.notef("group %s: its sample cannot be looked into: %v", g.Key.Fingerprint, err)
		}
		if a.json {
			if err := writeJSON(a.out, newGroupLine(g, repairs, now)); err != nil {
				return err
			}
			continue
		}
		t.row(g.Dead, g.Cause, groupState(g), g.Hours.Trend(now), when(g.FirstSeen), when(g.LastSeen), g.Key.Fingerprint, g.Key.Queue,
			dash(oneLine(strings.Join(repairs, " "), 80)), oneLine(g.SampleText, 120))
	}
	if a.json || len(list) == 0 {
		return nil
	}
	return t.flush()
}

// groupState says in a cell what operators have made of a group.
func groupState(g siding.Group) string {
	text := string(g.State)
	if regressed(g) {
		text += ", REGRESSION"
	}
	if g.Note != "" {
		text += ": " + oneLine(g.Note, 40)
	}
	return text
}

// regroupPiece is how many dead letters get a new fingerprint in one write.
const regroupPiece = 1000

// regroup brings dead letters that an older version has grouped up to date; most stores have none. A store that cannot
// be written is shown as it is.
func (a *app) regroup(ctx context.Context) error {
	reading, _, err := a.openReading(ctx)
	if err != nil {
		return err
	}
	list, err := reading.Groups(ctx, siding.GroupQuery{})
	closing(reading)
	var old int64
	for _, g := range list {
		if !strings.HasPrefix(g.Key.Fingerprint, siding.FingerprintVersion+"-") {
			old += g.Dead
		}
	}
	if err != nil || old == 0 {
		return storeError(err)
	}
	store, _, err := a.openWriting(ctx)
	if err != nil {
		a.hintf("%s were grouped by an older version, and the store cannot be written: %v", counted(old, "dead letter"), err)
		return nil
	}
	defer closing(store)
	show := !a.quiet && isTerminal(a.err)
	for done := int64(0); ; {
		n, err := store.Regroup(ctx, regroupPiece)
		if done += n; show {
			_, _ = fmt.Fprintf(a.err, "\rgrouping anew: %d of %d", min(done, old), old)
		}
		switch {
		case err == nil && n > 0:
			continue
		case show:
			_, _ = fmt.Fprintln(a.err)
		}
		return storeError(interrupted(ctx, err))
	}
}
