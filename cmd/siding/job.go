package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/alert"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/intake"
	"github.com/siding-dev/siding/recipe"
)

// job is a recipe with all that is needed to work on it.
type job struct {
	recipe      *recipe.Recipe
	handler     recipe.Handler
	store       siding.Store
	path        string // of the store
	digest      string
	concurrency int
	sim         *claudesim.Server // nil: real work
	sinks       []alert.Sink      // who is told when the queue needs a look
	sides       []*job            // of the queues that too large records go to, by the recipes that this one leads to
}

// openJob reads a recipe and opens what it stands on. What is wrong with the recipe or the environment is found before a
// store is made. Close the job in the end.
func (a *app) openJob(ctx context.Context, recipePath, simulate string, concurrency int) (*job, error) {
	r, err := loadRecipe(recipePath)
	if err != nil {
		return nil, err
	}
	j := &job{recipe: r, concurrency: cmp.Or(concurrency, r.Concurrency), digest: r.Digest()}
	if err := j.open(ctx, a, filepath.Dir(recipePath), simulate); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

func (j *job) open(ctx context.Context, a *app, dir, simulate string) (err error) {
	if simulate != "" && !j.recipe.AsksClaude() {
		return notSimulated(j.recipe)
	}
	if j.sim, err = a.startSimulator(simulate); err != nil {
		return err
	}
	if _, err := j.recipe.Handler(a.handlerEnv(j.sim, noJournal{}, "")); err != nil {
		return explainEnv(j.recipe, err)
	}
	if j.sinks, err = j.recipe.AlertSinks(a.handlerEnv(nil, nil, "")); err != nil {
		return usagef("recipe %s: %w", siding.Scrub(j.recipe.Name, 512), err)
	}
	if err := j.checkSides(a); err != nil {
		return err
	}
	if j.store, j.path, err = a.openCreating(ctx, dir, j.sim != nil); err != nil {
		return err
	}
	info, err := j.store.Info(ctx)
	if err != nil {
		return storeError(err)
	}
	if j.handler, err = j.recipe.Handler(a.handlerEnv(j.sim, j.store, info.ID)); err != nil {
		return explainEnv(j.recipe, err)
	}
	return j.openSides(a, info.ID)
}

// noJournal stands for a journal while it is found out whether a handler can be made; nothing is asked of it.
type noJournal struct{ siding.Journal }

func (a *app) handlerEnv(sim *claudesim.Server, journal siding.Journal, storeID string) recipe.Env {
	env := recipe.Env{Journal: journal, StoreID: storeID, LookupEnv: func(name string) (string, bool) {
		value, ok := a.env[name]
		return value, ok
	}}
	if sim == nil {
		env.APIKey, env.BaseURL = a.env["ANTHROPIC_API_KEY"], a.env["ANTHROPIC_BASE_URL"]
		return env
	}
	env.APIKey, env.BaseURL, env.EventHeader = simKey, sim.URL(), claudesim.EventHeader
	if keys := sim.Profile().Keys; len(keys) > 0 {
		env.APIKey = keys[0]
	}
	return env
}

func explainEnv(r *recipe.Recipe, err error) error {
	hint := ""
	if r.AsksClaude() {
		hint = " (--simulate tries a recipe without an account)"
	}
	return usagef("recipe %s: %w%s", siding.Scrub(r.Name, 512), err, hint)
}

func loadRecipe(path string) (*recipe.Recipe, error) {
	r, err := recipe.Load(path)
	return r, asUsage(err)
}

func (j *job) close() {
	if j.store != nil {
		closing(j.store)
	}
	if j.sim != nil {
		closing(j.sim)
	}
}

// recipeIntake says how to read records for a recipe. format is a flag; empty: by extension.
func (a *app) recipeIntake(r *recipe.Recipe, format string) (o intake.Options, err error) {
	o = intake.Options{ID: r.IDPointer, Stdin: a.in}
	if format != "" {
		if o.Format, err = intake.ParseFormat(format); err != nil {
			return o, usagef("--format: %w", err)
		}
	}
	return o, nil
}
