package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// violationLine is a broken rule, with --json.
type violationLine struct {
	Type  string `json:"type"` // violation
	V     int    `json:"v"`
	Rule  string `json:"rule"`
	Queue string `json:"queue"`
	ID    string `json:"id"`
	Text  string `json:"text"`
}

// checkedLine is the last line of doctor, with --json.
type checkedLine struct {
	Type       string `json:"type"` // checked
	V          int    `json:"v"`
	Violations int64  `json:"violations"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look through a store for anything that breaks a rule",
		Long: "Doctor reads the whole store and checks every rule that a store must keep. It changes nothing. The exit code is 3\n" +
			"when a rule is broken.",
		Example: example("siding doctor", "siding doctor --store jobs.db --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, path, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			var n int64
			for v, err := range store.Check(cmd.Context()) {
				if err != nil {
					return storeError(endOfWalk(cmd.Context(), err))
				}
				if n++; a.json {
					err = writeJSON(a.out, violationLine{"violation", 1, v.Rule, v.Queue, v.ID, v.Text})
				} else {
					_, err = fmt.Fprintf(a.out, "%s: %s\n", oneLine(v.Rule, 64), oneLine(violationPlace(v.Queue, v.ID)+v.Text, 1024))
				}
				if err != nil {
					return err
				}
			}
			if a.json {
				if err := writeJSON(a.out, checkedLine{"checked", 1, n}); err != nil {
					return err
				}
			} else if n == 0 {
				_, _ = fmt.Fprintf(a.out, "%s: every rule holds\n", oneLine(path, 512))
			}
			if n > 0 {
				a.hintf("%s; keep a copy of the store and report this: no run of siding should leave such a row", counted(n, "violation"))
				return said(errRuleBroken)
			}
			return nil
		},
	}
}

func violationPlace(queue, id string) string {
	switch {
	case queue == "":
		return ""
	case id == "":
		return fmt.Sprintf("queue %q: ", queue)
	}
	return fmt.Sprintf("message %q in queue %q: ", id, queue)
}
