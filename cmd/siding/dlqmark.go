package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

func (a *app) dlqMarkCommand() *cobra.Command {
	var queue, note string
	cmd := &cobra.Command{
		Use:   "mark GROUP [new|known|resolved|ignored]",
		Short: "Say what is made of a group: its state, and a note",
		Long: "Mark changes the state of a group, its note, or both. A known one is being looked at; a resolved one is mended, so that what\n" +
			"arrives in it from now on is a regression; an ignored one is no longer listed. GROUP is its fingerprint, or as much of\n" +
			"its beginning as is unambiguous.",
		Example: example("siding dlq groups mark 2-1f2e3d4c5b6a known --note 'see ticket 12'", "siding dlq groups mark 2-1f2e resolved"),
		Args:    cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return texts(siding.GroupStates()), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var state siding.GroupState
			if len(args) == 2 {
				states, err := parseGroupStates(args[1:])
				if err != nil {
					return err
				}
				state = states[0]
			}
			if state == "" && note == "" {
				return usagef("nothing is to be marked; give a state (%s), a --note, or both", strings.Join(texts(siding.GroupStates()), ", "))
			}
			return a.mark(cmd.Context(), queue, args[0], state, note)
		},
	}
	cmd.Flags().StringVar(&queue, "queue", "", "the group's queue; needed where several queues have the group")
	cmd.Flags().StringVar(&note, "note", "", "a note that is shown with the group")
	return cmd
}

func (a *app) mark(ctx context.Context, queue, name string, state siding.GroupState, note string) error {
	store, _, err := a.openWriting(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	g, err := findGroup(ctx, store, queue, name)
	if err == nil {
		err = store.MarkGroup(ctx, g.Key, state, note)
	}
	if err != nil {
		return storeError(err)
	}
	if g, err = findGroup(ctx, store, g.Key.Queue, g.Key.Fingerprint); err != nil {
		return storeError(err)
	}
	if a.json {
		now, err := store.Now(ctx)
		if err != nil {
			return storeError(err)
		}
		return writeJSON(a.out, newGroupLine(g, nil, now))
	}
	a.notef("group %s of queue %s (%s): %s", g.Key.Fingerprint, g.Key.Queue, g.Cause, groupState(g))
	return nil
}

// findGroup gives the one group whose fingerprint begins with a name.
func findGroup(ctx context.Context, store siding.Quarantine, queue, name string) (siding.Group, error) {
	all, err := store.Groups(ctx, siding.GroupQuery{Queue: queue, Empty: true})
	if err != nil {
		return siding.Group{}, err
	}
	var found []siding.Group
	var names []string
	for _, g := range all {
		switch {
		case g.Key.Fingerprint == name && queue != "":
			return g, nil
		case name != "" && strings.HasPrefix(g.Key.Fingerprint, name):
			found = append(found, g)
			names = append(names, g.Key.Fingerprint+" in queue "+g.Key.Queue)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return siding.Group{}, fmt.Errorf("no group %q; \"siding dlq groups --all\" lists them: %w", siding.Scrub(name, 64), siding.ErrNotFound)
	}
	return siding.Group{}, usagef("several groups begin with %q; give more of it, or --queue: %s", siding.Scrub(name, 64),
		strings.Join(names[:min(len(names), 5)], ", "))
}
