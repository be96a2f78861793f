package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// auditLine is an entry of the audit trail, with --json.
type auditLine struct {
	Type   string        `json:"type"` // audit
	V      int           `json:"v"`
	Number int64         `json:"number"` // rises with time
	At     stamp         `json:"at"`     // of the first write
	Last   stamp         `json:"last"`   // of the latest write
	By     string        `json:"by"`
	Action siding.Action `json:"action"`
	Queue  string        `json:"queue"` // empty: several, or none
	Count  int64         `json:"count"`
	Text   string        `json:"text"` // the command line
	Detail string        `json:"detail"`
	Act    string        `json:"act"` // the same for all entries of one command
}

func newAuditLine(e siding.AuditEntry) auditLine {
	return auditLine{
		Type: "audit", V: 1, Number: e.Number, At: stamp(e.At), Last: stamp(e.Last), By: e.Act.By, Action: e.Action,
		Queue: e.Queue, Count: e.Count, Text: e.Act.Text, Detail: e.Detail, Act: e.Act.ID,
	}
}

// auditFlags choose entries of the audit trail.
type auditFlags struct {
	queue, since, until string
	actions             []string
	limit               int
}

func (a *app) auditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what by hand, and when",
		Long: "Audit shows the trail that the store keeps of everything that was done by hand, the latest first: what was sent\n" +
			"back, repaired or given up, marked groups, campaigns, holds made and ended, settings, and bodies that retention\n" +
			"dropped. It is written by the same writes that do it. Who is at it is said by --as or SIDING_OPERATOR, and is else\n" +
			"the user and the machine.",
		Example: example("siding audit", "siding audit --action discard --since 7d --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.audit(cmd, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.queue, "queue", "", "only this queue")
	fl.StringSliceVar(&f.actions, "action", nil, "only this action (several: comma, or several times): "+strings.Join(texts(siding.Actions()), ", "))
	fl.StringVar(&f.since, "since", "", "at or after this: RFC 3339, or a duration ago such as 2h or 3d")
	fl.StringVar(&f.until, "until", "", "before this")
	fl.IntVar(&f.limit, "limit", 100, "show at most this many; 0: all")
	_ = cmd.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(texts(siding.Actions()), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) audit(cmd *cobra.Command, f auditFlags) error {
	if err := checkLimit(f.limit); err != nil {
		return err
	}
	o := siding.AuditOptions{Queue: f.queue, Limit: f.limit}
	for _, action := range f.actions {
		if !slices.Contains(siding.Actions(), siding.Action(action)) {
			return usagef("--action %q is no action; the actions are %s", siding.Scrub(action, 64), strings.Join(texts(siding.Actions()), ", "))
		}
		o.Actions = append(o.Actions, siding.Action(action))
	}
	ctx := cmd.Context()
	store, _, err := a.openReading(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	now, err := store.Now(ctx)
	if err != nil {
		return storeError(err)
	}
	if o.Since, err = parseMoment("--since", f.since, now); err != nil {
		return err
	}
	if o.Until, err = parseMoment("--until", f.until, now); err != nil {
		return err
	}
	return storeError(a.auditEach(cmd, store, o))
}

func (a *app) auditEach(cmd *cobra.Command, store siding.Quarantine, o siding.AuditOptions) error {
	t := newTable(a.out, "WHEN", "WHO", "ACTION", "COUNT", "QUEUE", "WHAT", "DETAIL")
	var n, unread int64
	for e, err := range store.Audit(cmd.Context(), o) {
		switch {
		case err != nil && cmd.Context().Err() != nil:
			return errInterrupted
		case err != nil:
			unread++
			a.notef("an entry that cannot be read was left out: %v", err)
			continue
		}
		if n++; a.json {
			if err := writeJSON(a.out, newAuditLine(e)); err != nil {
				return err
			}
			continue
		}
		t.row(when(e.At), dash(oneLine(e.Act.By, 40)), e.Action, e.Count, dash(e.Queue), oneLine(e.Act.Text, 160), oneLine(e.Detail, 160))
	}
	if n > 0 && !a.json {
		if err := t.flush(); err != nil {
			return err
		}
	}
	switch {
	case unread > 0:
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", plural(int(unread), "entry", "entries"))
	case n == 0:
		a.hintf("nothing was done by hand that matches")
	case o.Limit > 0 && n == int64(o.Limit):
		a.hintf("these are the latest %d; --limit 0 shows all", n)
	}
	return nil
}

// checkLimit says what is wrong with the flag --limit.
func checkLimit(n int) error {
	if n < 0 {
		return usagef("--limit is %d; it must be 0 (no limit) or more", n)
	}
	return nil
}
