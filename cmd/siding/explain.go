package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

func (a *app) explainCommand() *cobra.Command {
	var codes []string
	for _, e := range explanations {
		if !slices.Contains(codes, e.code) {
			codes = append(codes, e.code)
		}
	}
	return &cobra.Command{
		Use:       "explain [CODE]",
		Short:     "Say what a cause, a reason, an outcome, a state or a kind of hold means, and what to do",
		Long:      "Explain says what a code means that messages, lists and summaries show, and what to do about it. Without a code\nit lists them all.",
		Example:   example("siding explain schema-mismatch", "siding explain attempts-exhausted"),
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: codes,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.explainAll()
			}
			known := false // a word may be a cause and a reason
			for _, e := range explanations {
				if e.code == strings.ToLower(args[0]) {
					known = true
					if err := a.explainOne(e); err != nil {
						return err
					}
				}
			}
			if known {
				return nil
			}
			return usagef("%q is no code that siding uses; \"siding explain\" lists them", siding.Scrub(args[0], 64))
		},
	}
}

// explanationLine is an explanation with --json.
type explanationLine struct {
	Type             string   `json:"type"` // explanation
	V                int      `json:"v"`
	Kind             string   `json:"kind"` // cause, reason, outcome, state or hold
	Code             string   `json:"code"`
	Meaning          string   `json:"meaning"`
	Advice           string   `json:"advice"`
	SuggestedRepairs []string `json:"suggested_repairs"`
}

func (a *app) explainOne(e explanation) error {
	repairs := []string{}
	if e.kind == kindCause {
		repairs = append(repairs, quarantine.SuggestFor(siding.Cause(e.code))...)
	}
	if a.json {
		return writeJSON(a.out, explanationLine{"explanation", 1, e.kind, e.code, e.meaning, e.advice, repairs})
	}
	_, err := fmt.Fprintf(a.out, "%s (%s)\n  %s\n", e.code, e.kind, e.meaning)
	if err == nil && e.advice != "" {
		_, err = fmt.Fprintf(a.out, "What to do\n  %s\n", e.advice)
	}
	return err
}

func (a *app) explainAll() error {
	if a.json {
		for _, e := range explanations {
			if err := a.explainOne(e); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(a.out, "KIND", "CODE", "MEANING")
	for _, e := range explanations {
		t.row(e.kind, e.code, e.meaning)
	}
	return t.flush()
}
