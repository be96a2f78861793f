package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// simulateFlag adds --simulate[=PROFILE], and where its bill is written.
func (a *app) simulateFlag(cmd *cobra.Command, profile *string) {
	f := cmd.Flags()
	f.StringVar(profile, "simulate", "", "ask a simulated Claude instead, which costs nothing; =PROFILE is a built-in one ("+
		strings.Join(claudesim.ProfileNames(), ", ")+") or a YAML file")
	f.Lookup("simulate").NoOptDefVal = "clean"
	f.StringVar(&a.simMeter, "simulate-meter", "", "append each simulated call and its bill to this file, and go on with what is in it")
	_ = cmd.RegisterFlagCompletionFunc("simulate", cobra.FixedCompletions(claudesim.ProfileNames(), cobra.ShellCompDirectiveDefault))
}

// startSimulator starts a simulated Claude in this process, on the loopback interface. nil where none is asked for.
func (a *app) startSimulator(profile string) (*claudesim.Server, error) {
	if profile == "" {
		if a.simMeter != "" {
			return nil, usagef("--simulate-meter is for a simulated Claude; give --simulate too")
		}
		return nil, nil //nolint:nilnil // none is asked for
	}
	p, err := loadProfile("--simulate", profile)
	if err != nil {
		return nil, err
	}
	server, err := claudesim.Start(p, claudesim.Options{KeepCalls: -1, MeterFile: a.simMeter})
	if err != nil {
		return nil, usagef("--simulate: %w", err)
	}
	a.simBefore = server.Meter().Totals
	return server, nil
}

// compareBill says what the simulator billed for this run, and what the journal says of it.
func (a *app) compareBill(server *claudesim.Server, before, after siding.InputStats) {
	t := server.Meter().Totals
	cost, maybe := after.Cost-before.Cost, after.UnknownMax-before.UnknownMax
	text := "the simulator billed " + siding.Money(t.CostPico-a.simBefore.CostPico).String() + " for " +
		counted(t.Calls-a.simBefore.Calls, "call") +
		"; the journal says " + cost.String()
	if maybe != 0 {
		text += " and at most " + maybe.String() + " for calls of unknown fate"
	}
	a.hintf("%s", text)
}
