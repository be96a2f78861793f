package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

func (a *app) dlqCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Look at what was set aside",
		Long: "The quarantine holds the dead letters of all queues with their history. Nothing in it is ever dropped by itself.\n" +
			"\"siding redrive\" sends messages back.\n\n" +
			"On a terminal and without a command of its own, this is a page on which to work through it with the keys: groups of\n" +
			"failures, what is wrong with a letter, what repairs would change, and sending back.",
		Example: example("siding dlq list --cause invalid-utf8", "siding dlq show img-0412", "siding dlq export --out dead.jsonl"),
	}
	group(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.dlqOnTerminal(cmd) }
	cmd.AddCommand(a.dlqGroupsCommand(), a.dlqListCommand(), a.dlqShowCommand(), a.dlqDiagnoseCommand(), a.dlqEditCommand(), a.dlqExportCommand(), a.dlqDiscardCommand())
	return cmd
}

func (a *app) dlqShowCommand() *cobra.Command {
	return a.messageCommand(&cobra.Command{
		Use:     "show ID",
		Short:   "Show one dead letter: its body with the fault marked, error, deliveries and calls",
		Example: example("siding dlq show img-0412", "siding dlq show img-0412 --hex --full"),
	}, []siding.State{siding.StateDead})
}

func (a *app) dlqListCommand() *cobra.Command {
	var sf selectFlags
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List dead letters, oldest first",
		Long:    "List shows what was set aside, all of it or a selection.\n\n" + whereHelp,
		Example: example("siding dlq list", "siding dlq list --cause schema-mismatch --since 2h --json", "siding dlq list --where '.body.title | length > 100'"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit is %d; it must be 0 (no limit) or more", limit)
			}
			store, _, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			sel, err := a.resolve(cmd.Context(), store, &sf)
			if err != nil {
				return storeError(err)
			}
			return storeError(a.list(cmd, store, sel, limit))
		},
	}
	sf.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 0, "list at most this many; 0: all")
	return cmd
}

func (a *app) list(cmd *cobra.Command, store siding.Operator, sel *selection, limit int) error {
	if sel.where == nil {
		sel.Limit = limit
	}
	var t *table
	if !a.json {
		t = newListTable(a.out)
	}
	var n, unread int64
	for l, err := range sel.walk(cmd.Context(), store) {
		if err != nil {
			if isEndless(err) || cmd.Context().Err() != nil {
				return endOfWalk(cmd.Context(), err)
			}
			unread++
			a.notef("a message that cannot be read was left out: %v", err)
			continue
		}
		if n++; a.json {
			if err := writeJSON(a.out, newDeadLetterLine(l)); err != nil {
				return err
			}
		} else {
			listRow(t, l)
		}
		if limit > 0 && n >= int64(limit) {
			break
		}
	}
	if t != nil && n > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	a.reportFailed(sel)
	switch {
	case unread > 0:
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", counted(unread, "message"))
	case n == 0:
		a.hintf("nothing matches")
	}
	return nil
}

func newListTable(w io.Writer) *table {
	return newTable(w, "ID", "QUEUE", "CAUSE", "REASON", "ATTEMPT", "SET ASIDE", "FROM", "ERROR")
}

func listRow(t *table, l siding.Listed) {
	var cause siding.Cause
	var text string
	if e := l.LastError; e != nil {
		cause, text = e.Cause, e.Text
	}
	from := "-"
	if s := l.Source; s != nil {
		from = fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	t.row(l.ID, l.Queue, cause, l.Reason, l.Attempt, when(l.DeadAt), from, oneLine(text, 120))
}
