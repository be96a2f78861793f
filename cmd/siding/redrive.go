package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// redriveFlags are the flags of redrive.
type redriveFlags struct {
	selectFlags
	all, dryRun bool
	repairFlags
	campaign campaignFlags
}

func (a *app) redriveCommand() *cobra.Command {
	var f redriveFlags
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Send dead letters back to their queue, mended or as they are",
		Long: "Redrive returns a selection of what was set aside to its queue: same event ID, attempt 0, history kept. It never\n" +
			"takes everything by accident: without a selection it does nothing, and --all is explicit. The messages wait in\n" +
			"the queue until \"siding run\" or \"siding work\" works on them.\n\n" +
			"--repair mends each before, several one after the other; the body as it was stays in the history. What a repair does\n" +
			"not change, or makes invalid, is told and stays: the exit code is 3 then. With --dry-run it shows what would change,\n" +
			"and what it would cost.\n\n" + campaignHelp + "\n\n" + repairHelp + "\n\n" + whereHelp,
		Example: example("siding redrive --cause invalid-utf8 --repair strip-invalid-utf8 --dry-run",
			"siding redrive --cause invalid-utf8 --repair strip-invalid-utf8", "siding redrive --id img-0412",
			"siding redrive --all --canary 10 --min-success 0.95 --rate 10/s"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.redrive(cmd, f)
		},
	}
	f.selectFlags.register(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.all, "all", false, "everything that was set aside, in all queues")
	fl.BoolVar(&f.dryRun, "dry-run", false, "only show and count what would be sent back")
	f.repairFlags.register(cmd)
	f.campaign.register(cmd)
	return cmd
}

func (a *app) redrive(cmd *cobra.Command, f redriveFlags) error {
	mend, err := f.mender(cmd)
	if err == nil {
		err = f.campaign.read(cmd)
	}
	if err != nil {
		return err
	}
	op := operation{
		verb: "sent back", mend: mend, needsBody: true, next: "the next \"siding run\" or \"siding work\" of the queue works on what was sent back",
		do: func(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error) {
			return s.Redrive(ctx, queue, ids...)
		},
		whole: func(ctx context.Context, s siding.Store, sel siding.Selection, limit int) (int64, error) {
			return s.RedriveSelected(ctx, sel, limit)
		},
	}
	if mend != nil {
		op.do = mend.send
	}
	if f.campaign.asked {
		return a.campaign(cmd.Context(), &f, op)
	}
	return a.operate(cmd.Context(), &f.selectFlags, f.all, f.dryRun, op)
}

func (a *app) dlqDiscardCommand() *cobra.Command {
	var sf selectFlags
	var all, dryRun bool
	var note string
	cmd := &cobra.Command{
		Use:   "discard",
		Short: "Give dead letters up for good, with a note that is kept",
		Long: "Discard gives a selection of what was set aside up: it stays in the store with its history, and is never worked\n" +
			"again, also when the same record is enqueued anew.\n\n" + whereHelp,
		Example: example("siding dlq discard --cause refused --note 'not wanted any more'"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if note == "" {
				return usagef("say why with --note; it is kept with each message")
			}
			return a.operate(cmd.Context(), &sf, all, dryRun, operation{
				verb: "discarded",
				do: func(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error) {
					return s.Discard(ctx, queue, note, ids...)
				},
			})
		},
	}
	sf.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "everything that was set aside, in all queues")
	f.BoolVar(&dryRun, "dry-run", false, "only list and count what would be discarded")
	f.StringVar(&note, "note", "", "why; kept with each message")
	return cmd
}

// cancelCommand gives up one message in any state that is not final.
func (a *app) cancelCommand() *cobra.Command {
	var queue, note string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Give one message up before it is done",
		Long: "Cancel gives a message up that is ready, leased or dead; it is never worked again, also when the same record is\n" +
			"enqueued anew. Where a worker has it at this moment, its answer is journaled and paid for, and the message stays\n" +
			"discarded.",
		Example: example("siding cancel img-0412", "siding cancel evt-7 --queue reminders --note 'user has left'"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, _, err := a.openWriting(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			queue, err := findQueue(cmd.Context(), store, queue, args[0], nil)
			if err != nil {
				return storeError(err)
			}
			errs, err := store.Discard(cmd.Context(), queue, note, args[0])
			if err = errors.Join(append(errs, err)...); errors.Is(err, siding.ErrWrongState) {
				return fmt.Errorf("message %q in queue %q is done or given up already: %w", args[0], queue, err)
			}
			if err == nil && a.json {
				return writeJSON(a.out, map[string]any{"type": "cancelled", "v": 1, "queue": queue, "id": args[0]})
			}
			if err == nil {
				a.hintf("%s in queue %s is given up", args[0], queue)
			}
			return storeError(err)
		},
	}
	cmd.Flags().StringVar(&queue, "queue", "", "the message's queue; needed where several queues have the ID")
	cmd.Flags().StringVar(&note, "note", "cancelled by hand", "why; kept with the message")
	return cmd
}
