package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/alert"
	"github.com/siding-dev/siding/quarantine"
)

// watch starts what accompanies the work on a queue: alerts, where the recipe has any, and retention, where it is set. The
// function that it gives back ends them; alerts look once more and send what is to be sent, for a while.
func (a *app) watch(ctx context.Context, j *job) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	janitor := quarantine.Janitor{Store: j.store, Queue: j.recipe.Queue, Say: func(text string) { a.notef("%s", text) }}
	all.Go(func() { janitor.Run(ctx) })
	if len(j.sinks) > 0 && j.recipe.AlertRules().Any() {
		w := alert.Watcher{
			Store: j.store, Queue: j.recipe.Queue, Rules: j.recipe.AlertRules(), Sinks: j.sinks, Gates: j.handler.GateKeys(),
			Simulated: j.sim != nil, Say: func(text string) { a.notef("%s", text) },
		}
		all.Go(func() { w.Run(ctx) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// alertTestLine is what became of a test notice at one sink, with --json.
type alertTestLine struct {
	Type  string `json:"type"` // alert_test
	V     int    `json:"v"`
	Sink  string `json:"sink"` // command or webhook
	OK    bool   `json:"ok"`
	Error string `json:"error"` // empty when it was received
}

func (a *app) alertCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alert",
		Short: "Try the alerts of a recipe",
		Long: "The key alert of a recipe says when somebody is told that its queue needs a look, and how. \"siding run\" and\n" +
			"\"siding work\" send the notices; this tries whether they arrive.",
		Example: example("siding alert test recipe.yaml"),
	}
	group(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "test RECIPE",
		Short: "Send a test notice to where a recipe's alerts go",
		Long: "Test sends one notice, whose rule is test, to the command and the webhook of the recipe's alerts. It needs no store\n" +
			"and changes none. Each is tried once; a failure of one gives code 1.",
		Example: example("siding alert test recipe.yaml"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.alertTest(cmd.Context(), args[0])
		},
	})
	return cmd
}

func (a *app) alertTest(ctx context.Context, path string) error {
	r, err := loadRecipe(path)
	if err != nil {
		return err
	}
	sinks, err := r.AlertSinks(a.handlerEnv(nil, nil, ""))
	if err != nil {
		return usagef("recipe %s: %w", siding.Scrub(r.Name, 512), err)
	}
	if len(sinks) == 0 {
		return usagef("recipe %s has no alerts: add the group alert, for instance alert: {dead: 10, command: [notify-send, siding]}", siding.Scrub(r.Name, 512))
	}
	n := alert.Test(r.Queue, time.Now().UTC())
	var failed error
	for _, s := range sinks {
		err := s.Send(ctx, n, 0)
		if ctx.Err() != nil {
			return interrupted(ctx, ctx.Err())
		}
		failed = errors.Join(failed, err)
		line := alertTestLine{Type: "alert_test", V: 1, Sink: s.Name, OK: err == nil}
		switch {
		case err != nil:
			line.Error = err.Error()
		case !a.json:
			a.notef("%s: received", s.Name)
		}
		if a.json {
			if err := writeJSON(a.out, line); err != nil {
				return err
			}
		}
	}
	return failed
}
