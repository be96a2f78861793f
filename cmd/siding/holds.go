package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

func (a *app) holdsCommand() *cobra.Command {
	list := a.holdsListCommand()
	cmd := &cobra.Command{
		Use:   "holds",
		Short: "Look at what is held because the fault is not the messages', end a hold, or make one",
		Long: "An account, a lane (a model on an account, a host, a program) or a recipe is held when it is at fault and not the\n" +
			"messages: nothing is set aside, and no further call is made. Most holds end by themselves once the fault is mended:\n" +
			"each start of \"siding run\" or \"siding work\" tries one message.",
		Example: example("siding holds", "siding holds resume --all"),
	}
	group(cmd)
	cmd.RunE = list.RunE
	cmd.AddCommand(list, a.holdsResumeCommand(), a.holdsHoldCommand())
	return cmd
}

func (a *app) holdsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List what is held, and lanes that rest because the service asks for fewer calls",
		Example: example("siding holds list", "siding holds list --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, path, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			gates, err := gatesInTheWay(cmd.Context(), store)
			switch {
			case err != nil:
				return storeError(err)
			case a.json:
				return a.holdLines(gates)
			case len(gates) == 0:
				a.hintf("nothing is held in %s", path)
				return nil
			}
			return a.holdTable(gates)
		},
	}
}

// gatesInTheWay gives the gates that are held or rest.
func gatesInTheWay(ctx context.Context, store siding.Gatekeeper) (list []siding.Gate, err error) {
	all, err := store.Gates(ctx)
	for _, g := range all {
		if g.Hold != nil || !g.Throttle.Until.IsZero() {
			list = append(list, g)
		}
	}
	return list, err
}

func (a *app) holdLines(gates []siding.Gate) error {
	for _, g := range gates {
		if err := writeJSON(a.out, newHoldLine(g)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) holdTable(gates []siding.Gate) error {
	t := newTable(a.out, "SCOPE", "KIND", "CAUSE", "SINCE", "UNTIL", "NEXT PROBE", "PROBES", "TEXT")
	for _, g := range gates {
		if h := g.Hold; h != nil {
			text := h.Text
			if h.By != "" {
				text += " (" + h.By + ")"
			}
			t.row(g.Key, h.Kind, dash(string(h.Cause)), when(h.Since), when(h.Until), when(h.NextProbe), h.Probes, oneLine(text, 160))
		} else {
			t.row(g.Key, "throttled", "-", when(g.Throttle.Begun), when(g.Throttle.Until), "-", "-", "-")
		}
	}
	return t.flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (a *app) holdsResumeCommand() *cobra.Command {
	var all, asPoison bool
	cmd := &cobra.Command{
		Use:   "resume SCOPE",
		Short: "End a hold by hand",
		Long: "Resume ends the hold of a scope, as \"siding holds\" lists it, or as much of its beginning as is unambiguous. The next\n" +
			"messages find out whether the fault is mended; where it is not, the hold is made again.\n\n" +
			"A recipe is held when message after message fails alike. --as-poison says that this is the messages' own fault: those\n" +
			"that failed so are set aside, and so will be any more of them.",
		Example: example("siding holds resume account:claude/1f2e3d4c", "siding holds resume recipe:tag-jobs --as-poison", "siding holds resume --all"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !all:
				return usagef("nothing is named, so nothing is resumed; name a scope that \"siding holds\" lists, or give --all")
			case len(args) > 0 && all:
				return usagef("--all and a scope contradict each other; give one of them")
			}
			store, _, err := a.openWriting(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			held, err := chooseHeld(cmd.Context(), store, args)
			if err == nil && asPoison {
				err = checkPoison(held, all)
			}
			if err == nil {
				err = a.resume(cmd.Context(), store, held, asPoison)
			}
			return storeError(err)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end every hold of the store")
	cmd.Flags().BoolVar(&asPoison, "as-poison", false, "the failures that a recipe is held for are the messages' own: set them aside")
	return cmd
}

// chooseHeld gives the held gate that is named, or all of them where none is.
func chooseHeld(ctx context.Context, store siding.Gatekeeper, names []string) (held []siding.Gate, err error) {
	all, err := store.Gates(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Hold != nil {
			held = append(held, g)
		}
	}
	if len(names) == 0 {
		return held, nil
	}
	name := names[0]
	g, err := matchGate(held, name)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fmt.Errorf("nothing that is held is called %q; \"siding holds\" lists it: %w", siding.Scrub(name, 256), siding.ErrNotFound)
	}
	return []siding.Gate{*g}, nil
}

// matchGate gives the gate of a name, or of the only one that begins so; nil: none does.
func matchGate(gates []siding.Gate, name string) (*siding.Gate, error) {
	if name == "" { // it would be the beginning of every name
		return nil, usagef("the scope is empty; name one that \"siding holds\" lists")
	}
	var found []siding.Gate
	for _, g := range gates {
		switch key := g.Key.String(); {
		case key == name:
			return &g, nil
		case strings.HasPrefix(key, name):
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil //nolint:nilnil // none is no error here
	case 1:
		return &found[0], nil
	}
	return nil, usagef("several begin with %q; name one of them: %s", siding.Scrub(name, 256), gateNames(found))
}

func gateNames(gates []siding.Gate) string {
	names := make([]string, len(gates))
	for i, g := range gates {
		names[i] = siding.Scrub(g.Key.String(), 256)
	}
	return strings.Join(names, ", ")
}

// checkPoison refuses --as-poison for a hold that says nothing about messages.
func checkPoison(held []siding.Gate, all bool) error {
	for _, g := range held {
		if g.Hold.Kind == siding.HoldSystemic {
			return nil
		}
	}
	if all {
		return usagef("--as-poison is for recipes that are held because message after message fails alike, and there is none")
	}
	return usagef("--as-poison is for a recipe that is held because message after message fails alike; %s is held for another reason", gateNames(held))
}

func (a *app) resume(ctx context.Context, store siding.Gatekeeper, held []siding.Gate, asPoison bool) error {
	if len(held) == 0 {
		a.notef("nothing is held")
	}
	for _, g := range held {
		err := store.Resume(ctx, g.Key, asPoison && g.Hold.Kind == siding.HoldSystemic)
		if errors.Is(err, siding.ErrNotFound) {
			a.notef("%s is not held any more", siding.Scrub(g.Key.String(), 256))
			continue
		}
		if err != nil {
			return err
		}
		if a.json {
			if err := writeJSON(a.out, resumedLine{"resumed", 1, g.Key.Scope, g.Key.Name, asPoison && g.Hold.Kind == siding.HoldSystemic}); err != nil {
				return err
			}
			continue
		}
		a.notef("%s is held no longer", siding.Scrub(g.Key.String(), 256))
	}
	return nil
}

// resumedLine is a hold that was ended by hand, with --json.
type resumedLine struct {
	Type     string       `json:"type"` // resumed
	V        int          `json:"v"`
	Scope    siding.Scope `json:"scope"`
	Name     string       `json:"name"`
	AsPoison bool         `json:"as_poison"` // messages that failed alike were set aside
}
