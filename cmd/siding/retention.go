package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// retentionLine is a queue's retention, with --json. An empty duration: kept for ever.
type retentionLine struct {
	Type  string `json:"type"` // retention
	V     int    `json:"v"`
	Queue string `json:"queue"`
	// Durations as Go writes them.
	Dead    string `json:"dead"`
	Done    string `json:"done"`
	History string `json:"history"`
}

func newRetentionLine(queue string, r quarantine.Retention) retentionLine {
	return retentionLine{"retention", 1, queue, durationText(r.Dead), durationText(r.Done), durationText(r.History)}
}

// droppedLine is what retention apply has dropped of a queue, with --json.
type droppedLine struct {
	Type    string `json:"type"` // dropped
	V       int    `json:"v"`
	Queue   string `json:"queue"`
	Dead    int64  `json:"dead"`
	Done    int64  `json:"done"`
	History int64  `json:"history"`
}

func (a *app) retentionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Show how long each queue keeps bodies",
		Long: "Bodies, results and history are kept for ever unless a queue is told otherwise. Retention drops bodies of a queue\n" +
			"that are older than it says: those of dead letters (dead), of done messages (done; their results stay), and earlier\n" +
			"bodies and answers in the history (history). Messages, their IDs, hashes, deliveries and costs stay. A dead letter\n" +
			"without a body cannot be sent back; it gets it again when the same record is enqueued.\n\n" +
			"What is due is dropped while \"siding run\" or \"siding work\" works on the queue, and by \"siding retention apply\".",
		Example: example("siding retention", "siding retention set tag-jobs dead 30d", "siding retention set tag-jobs dead off",
			"siding retention apply"),
		Args: cobra.NoArgs,
		RunE: a.retentionShow,
	}
	group(cmd)
	cmd.RunE = a.retentionShow
	cmd.AddCommand(
		&cobra.Command{
			Use: "show", Short: "Show how long each queue keeps bodies", Example: example("siding retention show --json"),
			Args: cobra.NoArgs, RunE: a.retentionShow,
		},
		&cobra.Command{
			Use:     "set QUEUE dead|done|history TIME|off",
			Short:   "Set how long a queue keeps bodies of one kind",
			Example: example("siding retention set tag-jobs dead 30d", "siding retention set tag-jobs history off"),
			Args:    cobra.ExactArgs(3),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.retentionSet(cmd.Context(), args[0], siding.DropWhat(args[1]), args[2])
			},
		},
		&cobra.Command{
			Use:     "apply [QUEUE]",
			Short:   "Drop now what retention does not keep any more",
			Example: example("siding retention apply", "siding retention apply tag-jobs --json"),
			Args:    cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.retentionApply(cmd.Context(), args)
			},
		},
	)
	return cmd
}

// queueNames gives the queues of a store, or those that are named, each of which must exist.
func queueNames(ctx context.Context, store siding.Operator, named ...string) ([]string, error) {
	stats, err := store.Stats(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, s := range stats {
		all = append(all, s.Queue)
	}
	if len(named) == 0 {
		return all, nil
	}
	for _, q := range named {
		if !slices.Contains(all, q) {
			return nil, usagef("the store has no queue %q; it has: %s", siding.Scrub(q, 128), dash(strings.Join(all, ", ")))
		}
	}
	return named, nil
}

func (a *app) retentionShow(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	store, _, err := a.openReading(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	queues, err := queueNames(ctx, store)
	if err != nil {
		return storeError(err)
	}
	t := newTable(a.out, "QUEUE", "DEAD LETTERS", "DONE", "HISTORY")
	var failed error
	for _, q := range queues {
		r, _, err := quarantine.ReadRetention(ctx, store, q)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if a.json {
			if err := writeJSON(a.out, newRetentionLine(q, r)); err != nil {
				return err
			}
			continue
		}
		t.row(q, keptText(r.Dead), keptText(r.Done), keptText(r.History))
	}
	if a.json {
		return storeError(failed)
	}
	if len(queues) == 0 {
		a.hintf("the store has no queue yet")
		return nil
	}
	return storeError(errors.Join(t.flush(), failed))
}

// retentionTries is how often a setting is written anew that somebody else has changed meanwhile.
const retentionTries = 5

func (a *app) retentionSet(ctx context.Context, queue string, what siding.DropWhat, text string) error {
	if !slices.Contains(siding.DropWhats(), what) {
		return usagef("%q is nothing that retention drops; it is one of %s", siding.Scrub(string(what), 64), strings.Join(texts(siding.DropWhats()), ", "))
	}
	var span time.Duration
	if text != "off" {
		var err error
		if span, err = parseSpan(text); err != nil || span == 0 {
			return usagef("%q is no time to keep bodies for; give a duration such as 30d or 12h, or off", siding.Scrub(text, 64))
		}
	}
	store, _, err := a.openWriting(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	if _, err := queueNames(ctx, store, queue); err != nil {
		return storeError(err)
	}
	for try := 1; ; try++ {
		r, version, err := quarantine.ReadRetention(ctx, store, queue)
		if err != nil && version == 0 {
			return storeError(err)
		} // one that cannot be read is replaced
		*r.Of(what) = span
		if err := r.Validate(); err != nil {
			return asUsage(err)
		}
		err = quarantine.WriteRetention(ctx, store, queue, r, version)
		switch {
		case errors.Is(err, siding.ErrConflict) && try < retentionTries:
			continue
		case err != nil:
			return storeError(err)
		case a.json:
			return writeJSON(a.out, newRetentionLine(queue, r))
		case span == 0:
			a.notef("queue %s keeps bodies (%s) for ever", queue, what)
		default:
			a.notef("queue %s keeps bodies (%s) for %s; what is older is dropped for good by the next run or work, or by \"siding retention apply\"",
				queue, what, keptText(span))
		}
		return nil
	}
}

func (a *app) retentionApply(ctx context.Context, named []string) error {
	store, _, err := a.openWriting(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	queues, err := queueNames(ctx, store, named...)
	if err != nil {
		return storeError(err)
	}
	now, err := store.Now(ctx)
	if err != nil {
		return storeError(err)
	}
	var failed error
	applied := 0
	for _, q := range queues {
		r, _, err := quarantine.ReadRetention(ctx, store, q)
		if err != nil || r.Off() {
			failed = errors.Join(failed, err)
			continue
		}
		applied++
		n, err := r.Apply(ctx, store, q, now)
		failed = errors.Join(failed, err)
		line := droppedLine{"dropped", 1, q, n[siding.DropDead], n[siding.DropDone], n[siding.DropHistory]}
		if a.json {
			if err := writeJSON(a.out, line); err != nil {
				return err
			}
			continue
		}
		a.notef("queue %s: bodies dropped: %d of dead letters, %d of done messages, %d in the history", q, line.Dead, line.Done, line.History)
	}
	if applied == 0 && failed == nil {
		a.hintf("no retention is set, so nothing was dropped; \"siding retention set\" sets one")
	}
	return storeError(failed)
}

// durationText writes a duration as Go does, and empty for none.
func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// keptText says for a person how long something is kept.
func keptText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "for ever"
	case d%day == 0:
		return plural(int(d/day), "day", "days")
	}
	return d.String()
}
