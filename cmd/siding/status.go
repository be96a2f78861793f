package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// queueLine counts the messages of a queue, with --json.
type queueLine struct {
	Type          string      `json:"type"` // queue
	V             int         `json:"v"`
	Queue         string      `json:"queue"`
	Ready         int64       `json:"ready"`
	Leased        int64       `json:"leased"`
	Done          int64       `json:"done"`
	Dead          int64       `json:"dead"`
	Discarded     int64       `json:"discarded"`
	Delayed       int64       `json:"delayed"`           // of ready: not before a later time
	Retrying      int64       `json:"retrying"`          // of ready: have failed before
	Waiting       []waitLine  `json:"waiting,omitempty"` // of ready: for the results of other queues
	OldestReady   stamp       `json:"oldest_ready"`
	StaleSettles  int64       `json:"stale_settles"`
	Calls         int64       `json:"calls"`
	UnknownCalls  int64       `json:"unknown_calls"`
	CostUSD       usd         `json:"cost_usd"`
	UnknownMaxUSD usd         `json:"unknown_max_usd"`
	UnpricedCalls int64       `json:"unpriced_calls"`
	Causes        []causeLine `json:"causes"`
}

// waitLine counts the messages that wait for another queue.
type waitLine struct {
	Queue string `json:"queue"`
	Count int64  `json:"count"`
}

func waitLines(all []siding.WaitCount) []waitLine {
	out := make([]waitLine, len(all))
	for i, w := range all {
		out[i] = waitLine{w.Queue, w.Count}
	}
	return out
}

func (a *app) statusCommand() *cobra.Command {
	var queue string
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Count the messages of each queue, the calls made for them and what they cost; show what is held",
		Example: example("siding status", "siding status --queue tag-jobs --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, path, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			stats, err := store.Stats(cmd.Context(), queue)
			if err != nil {
				return storeError(err)
			}
			gates, err := gatesInTheWay(cmd.Context(), store)
			if err != nil {
				return storeError(err)
			}
			if a.json {
				for _, s := range stats {
					if err := writeJSON(a.out, newQueueLine(s)); err != nil {
						return err
					}
				}
				return a.holdLines(gates)
			}
			info, err := store.Info(cmd.Context())
			if err != nil {
				return storeError(err)
			}
			if len(stats) == 0 && queue != "" {
				_, err := fmt.Fprintf(a.out, "store %s\nno queue %s yet\n", siding.Scrub(path, 512), oneLine(queue, 200))
				return err
			}
			return a.showStatus(path, info, stats, gates)
		},
	}
	cmd.Flags().StringVar(&queue, "queue", "", "only this queue")
	return cmd
}

func newQueueLine(s siding.QueueStats) queueLine {
	return queueLine{
		Type: "queue", V: 1, Queue: s.Queue, Ready: s.Ready, Leased: s.Leased, Done: s.Done, Dead: s.Dead,
		Discarded: s.Discarded, Delayed: s.Delayed, Retrying: s.Retrying, Waiting: waitLines(s.Waiting), OldestReady: stamp(s.OldestReady),
		StaleSettles: s.StaleSettles, Calls: s.Calls, UnknownCalls: s.UnknownCalls, CostUSD: usd(s.Cost),
		UnknownMaxUSD: usd(s.UnknownMax), UnpricedCalls: s.UnpricedCalls, Causes: causeLines(s.Causes),
	}
}

func (a *app) showStatus(path string, info siding.StoreInfo, stats []siding.QueueStats, gates []siding.Gate) error {
	kind := ""
	if info.Simulated {
		kind = " (simulated)"
	}
	_, _ = fmt.Fprintf(a.out, "store %s%s\n", oneLine(path, 512), kind)
	if len(stats) == 0 {
		_, err := fmt.Fprintln(a.out, "no queues yet")
		return errors.Join(err, a.statusHolds(gates))
	}
	t := newTable(a.out, "QUEUE", "READY", "LEASED", "DONE", "SET ASIDE", "DISCARDED", "CALLS", "COST", "MAYBE")
	for _, s := range stats {
		maybe := "-"
		if s.UnknownCalls > 0 {
			maybe = fmt.Sprintf("%d calls, at most %s", s.UnknownCalls, dollars(s.UnknownMax))
		}
		cost := dollars(s.Cost)
		if s.UnpricedCalls > 0 {
			cost += fmt.Sprintf(" + %d unpriced", s.UnpricedCalls)
		}
		t.row(s.Queue, s.Ready, s.Leased, s.Done, s.Dead, s.Discarded, s.Calls, cost, maybe)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, s := range stats {
		for _, w := range s.Waiting {
			_, _ = fmt.Fprintf(a.out, "\nof queue %s, %s for the results of queue %s\n", oneLine(s.Queue, 200), waitText(w.Count), oneLine(w.Queue, 200))
		}
	}
	for _, s := range stats {
		if s.Dead > 0 {
			_, _ = fmt.Fprintf(a.out, "\nset aside in %s\n", oneLine(s.Queue, 200))
			a.causeTable(a.out, s.Causes, path, s.Queue, false)
		}
	}
	return a.statusHolds(gates)
}

// statusHolds shows what is held or rests, where anything is.
func (a *app) statusHolds(gates []siding.Gate) error {
	if len(gates) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(a.out, "\nheld or at rest")
	return a.holdTable(gates)
}
