package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/siding-dev/siding"
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
	if j.sim, err = a.startSimulator(simulate); err != nil {
		return err
	}
	if _, err := j.recipe.Handler(a.handlerEnv(j.sim, noJournal{})); err != nil {
		return explainEnv(j.recipe.Name, err)
	}
	if j.store, j.path, err = a.openCreating(ctx, dir, j.sim != nil); err != nil {
		return err
	}
	if j.handler, err = j.recipe.Handler(a.handlerEnv(j.sim, j.store)); err != nil {
		return explainEnv(j.recipe.Name, err)
	}
	return nil
}

// noJournal stands for a journal while it is found out whether a handler can be made; nothing is asked of it.
type noJournal struct{ siding.Journal }

func (a *app) handlerEnv(sim *claudesim.Server, journal siding.Journal) recipe.Env {
	if sim == nil {
		return recipe.Env{Journal: journal, APIKey: a.env["ANTHROPIC_API_KEY"], BaseURL: a.env["ANTHROPIC_BASE_URL"]}
	}
	key := simKey
	if keys := sim.Profile().Keys; len(keys) > 0 {
		key = keys[0]
	}
	return recipe.Env{Journal: journal, APIKey: key, BaseURL: sim.URL(), EventHeader: claudesim.EventHeader}
}

func explainEnv(recipePath string, err error) error {
	return usagef("recipe %s: %w (--simulate tries a recipe without an account)", siding.Scrub(recipePath, 512), err)
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
