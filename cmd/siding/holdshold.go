package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

func (a *app) holdsHoldCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "hold SCOPE",
		Short: "Hold an account, a lane or a recipe by hand, until it is resumed",
		Long: "Hold keeps every worker of the store from starting anything more for a scope: account:NAME, lane:NAME or recipe:NAME,\n" +
			"or as much of the beginning of a known one as is unambiguous. Calls under way end. Nothing is set aside.",
		Example: example("siding holds hold lane:claude/claude-haiku-4-5 --reason 'the prompt is being looked at'"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("say why with --reason; it is shown to whoever meets the hold")
			}
			store, _, err := a.openWriting(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			return storeError(a.hold(cmd.Context(), store, args[0], reason))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown to whoever meets the hold")
	return cmd
}

func (a *app) hold(ctx context.Context, store siding.Gatekeeper, name, reason string) error {
	known, err := store.Gates(ctx)
	if err != nil {
		return err
	}
	g, err := matchGate(known, name)
	if err != nil {
		return err
	}
	var key siding.GateKey
	if g != nil {
		key = g.Key
	} else {
		var ok bool
		if key, ok = siding.ParseGateKey(name); !ok {
			return usagef("%q is no scope; name one as account:NAME, lane:NAME or recipe:NAME; known are: %s",
				siding.Scrub(name, 256), dash(gateNames(known)))
		}
		a.notef("nothing has been heard of %s yet; known are: %s", siding.Scrub(name, 256), dash(gateNames(known)))
	}
	if err := store.HoldGate(ctx, key, reason, a.operatorName()); err != nil {
		return err
	}
	if !a.json {
		a.notef("%s is held until \"siding holds resume %s\"", siding.Scrub(key.String(), 256), shellQuote(siding.Scrub(key.String(), 256)))
		return nil
	}
	now, err := store.Gates(ctx)
	if err != nil {
		return err
	}
	for _, g := range now {
		if g.Key == key {
			return writeJSON(a.out, newHoldLine(g))
		}
	}
	return nil
}
