package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
	"github.com/siding-dev/siding/recipe"
)

// queueRecipe is what a store remembers of the recipe that a queue was last worked by.
type queueRecipe struct {
	Path   string `json:"path"` // absolute
	Digest string `json:"digest"`
}

// recipeNote is the key of the note with a queue's recipe.
func recipeNote(queue string) string { return "recipe/" + queue }

// remember notes in the store which recipe works the queue, so that other commands can look at its messages with what
// the recipe knows. The work goes on without it.
func (a *app) remember(ctx context.Context, j *job) {
	if err := rememberRecipe(ctx, j.store, j.recipe); err != nil {
		a.hintf("the store could not note where the recipe is: %v", err)
	}
}

// rememberRecipe writes the note where it has changed. Where two processes do it at once, either may have the last word.
func rememberRecipe(ctx context.Context, store siding.Quarantine, r *recipe.Recipe) error {
	path, err := filepath.Abs(r.Name)
	if err != nil {
		return err
	}
	value, err := json.Marshal(queueRecipe{path, r.Digest()})
	if err != nil {
		return err
	}
	note, err := store.Note(ctx, recipeNote(r.Queue))
	switch {
	case err == nil && bytes.Equal(note.Value, value):
		return nil
	case err != nil && !errors.Is(err, siding.ErrNotFound):
		return err
	}
	_, err = store.SetNote(ctx, siding.Note{Key: recipeNote(r.Queue), Value: value, Version: note.Version})
	if errors.Is(err, siding.ErrConflict) {
		return nil
	}
	return err
}

// factsFor gives what a queue's recipe knows of its records. given is the recipe that a flag names; empty: the one by
// which the queue was last worked, as the store remembers it. Where that is not to be had a hint says so, and the facts
// are those that hold for every body. It needs no key.
func (a *app) factsFor(ctx context.Context, store siding.Quarantine, queue, given string) (quarantine.Facts, error) {
	if given != "" {
		r, err := loadRecipe(given)
		if err != nil {
			return quarantine.Facts{}, err
		}
		if r.Queue != queue {
			return quarantine.Facts{}, usagef("recipe %s is for queue %s, and the messages are in queue %s; give that queue's recipe",
				siding.Scrub(given, 512), r.Queue, siding.Scrub(queue, 128))
		}
		f, err := r.FactsAlone()
		return f, asUsage(err)
	}
	known, err := rememberedRecipe(ctx, store, queue)
	switch {
	case err != nil:
		return quarantine.Facts{}, err
	case known.Path == "":
		a.hintf("which recipe queue %s is worked by is not known; --recipe names it, and more is looked at then", queue)
		return quarantine.Facts{}, nil
	}
	r, err := recipe.Load(known.Path)
	if err == nil && r.Queue != queue {
		err = fmt.Errorf("it is for queue %s now", r.Queue)
	}
	var f quarantine.Facts
	if err == nil {
		f, err = r.FactsAlone()
	}
	if err != nil {
		what := "cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			what = "is gone"
		}
		a.hintf("the recipe of queue %s, %s, %s, so that less is looked at; --recipe names it where it is now: %v", queue, known.Path, what, err)
		return quarantine.Facts{}, nil
	}
	if r.Digest() != known.Digest {
		a.hintf("the recipe of queue %s, %s, has changed since the queue was worked by it; it is taken as it is now", queue, known.Path)
	}
	return f, nil
}

// rememberedRecipe reads the note; an empty path: there is none, or none that can be read.
func rememberedRecipe(ctx context.Context, store siding.Quarantine, queue string) (q queueRecipe, err error) {
	note, err := store.Note(ctx, recipeNote(queue))
	if err != nil && !errors.Is(err, siding.ErrNotFound) && !errors.Is(err, siding.ErrInvalidID) {
		return q, err
	}
	if err != nil || json.Unmarshal(note.Value, &q) != nil || !filepath.IsAbs(cmp.Or(q.Path, "/")) {
		return queueRecipe{}, nil
	}
	return q, nil
}
