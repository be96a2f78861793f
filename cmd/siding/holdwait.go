package main

import (
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// waitFlag is --wait: how long to wait for a hold.
type waitFlag struct {
	given *bool // on the command line
	d     time.Duration
}

// datedWait is how long a hold is waited for that the service has named the end of.
const datedWait = 24 * time.Hour

func (w *waitFlag) register(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.d, "wait", 0, "how long to wait for a hold (default: for an outage and for throttling without end, 24h for a hold\n"+
		"whose end the service has named, 0s for any other)")
	w.given = &cmd.Flags().Lookup("wait").Changed
}

func (w *waitFlag) check() error {
	if w.d < 0 {
		return usagef("--wait is %v; it must not be negative", w.d)
	}
	return nil
}

// forHold says how long to wait for a hold.
func (w waitFlag) forHold(h siding.Hold) time.Duration {
	switch {
	case w.given != nil && *w.given:
		return w.d
	case h.Kind == siding.HoldOutage:
		return math.MaxInt64
	case !h.Until.IsZero():
		return datedWait
	}
	return 0
}
