package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// showFlags say which message is meant and how its body is shown.
type showFlags struct {
	queue, recipe string
	hex, full     bool
}

func (a *app) showCommand() *cobra.Command {
	return a.messageCommand(&cobra.Command{
		Use:   "show ID",
		Short: "Show one message in any state: its body, result, deliveries, calls and earlier bodies",
		Long: "Show tells all that is known of one message: where it came from, its state, body and result, and in the order of\n" +
			"time its deliveries, the calls made for it with what they cost, and what was changed by hand. For a dead letter it\n" +
			"ends with what \"siding dlq diagnose\" finds.\n" +
			"Bytes of the body that are not UTF-8 and control characters are shown as \\xNN.",
		Example: example("siding show img-0412", "siding show img-0412 --queue tag-jobs --hex"),
	}, nil)
}

// messageCommand makes cmd one that shows a message in one of the given states (none: any).
func (a *app) messageCommand(cmd *cobra.Command, states []siding.State) *cobra.Command {
	var f showFlags
	cmd.Args = cobra.ExactArgs(1)
	cmd.Flags().StringVar(&f.queue, "queue", "", "the message's queue; needed where several queues have the ID")
	cmd.Flags().BoolVar(&f.hex, "hex", false, "show the body as a hex dump")
	cmd.Flags().BoolVar(&f.full, "full", false, "show the whole body, however long")
	recipeFlag(cmd, &f.recipe)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, path, err := a.openReading(cmd.Context())
		if err != nil {
			return err
		}
		defer closing(store)
		rec, err := findRecord(cmd.Context(), store, f.queue, args[0], states)
		if err != nil {
			return storeError(err)
		}
		if a.json {
			return writeJSON(a.out, newMessageLine(rec))
		}
		return storeError(a.showRecord(cmd.Context(), a.newDesk(store, f.recipe), rec, path, f))
	}
	return cmd
}

// findRecord gives the message with this ID, in the queue where one is named, and otherwise in the only queue that has it.
func findRecord(ctx context.Context, store siding.Operator, queue, id string, states []siding.State) (*siding.Record, error) {
	queue, err := findQueue(ctx, store, queue, id, states)
	if err != nil {
		return nil, err
	}
	return store.Get(ctx, queue, id)
}

// findQueue gives the queue that has a message with this ID in one of the states (none: any).
func findQueue(ctx context.Context, store siding.Operator, queue, id string, states []siding.State) (string, error) {
	var queues []string
	for l, err := range store.List(ctx, siding.Selection{Queue: queue, IDs: []string{id}, States: states}) {
		if err != nil {
			return "", err
		}
		queues = append(queues, l.Queue)
	}
	switch len(queues) {
	case 1:
		return queues[0], nil
	case 0:
		where := "in any queue"
		if queue != "" {
			where = fmt.Sprintf("in queue %q", queue)
		}
		what, more := "message", ""
		if len(states) == 1 {
			what = string(states[0]) + " message"
			more = "; \"siding show ID\" looks in every state"
		}
		return "", fmt.Errorf("no %s with the ID %q %s%s: %w", what, id, where, more, siding.ErrNotFound)
	}
	return "", usagef("several queues have a message %q; name one with --queue: %s", id, strings.Join(queues, ", "))
}
