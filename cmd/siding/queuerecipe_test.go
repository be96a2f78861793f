package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/recipe"
)

const shellRecipe = "version: 1\nqueue: echo\ninput: {schema: in.schema.json}\ncommand: {argv: [cat], env: [NOT_THERE]}\n"

func TestAStoreRemembersTheRecipeOfEachQueue(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	require.NoError(t, os.WriteFile(p.file("in.schema.json"), []byte(`{"type":"object"}`), 0o600))
	recipeOf := func(text string) *recipe.Recipe {
		require.NoError(t, os.WriteFile(p.file("recipe.yaml"), []byte(text), 0o600))
		r, err := recipe.Load(p.file("recipe.yaml"))
		require.NoError(t, err)
		return r
	}
	store := memory.Open(memory.Options{})
	facts := func(queue, given string) (known bool, said string) {
		p.stderr.Reset()
		f, err := p.app.factsFor(t.Context(), store, queue, given)
		require.NoError(t, err)
		return f.InputSchema != nil && f.Check(siding.Message{Body: []byte(`[]`)}) != nil, p.stderr.String()
	}

	known, said := facts("echo", "")
	require.False(t, known)
	require.Contains(t, said, "not known; --recipe names it")

	r := recipeOf(shellRecipe)
	require.NoError(t, rememberRecipe(t.Context(), store, r))
	require.NoError(t, rememberRecipe(t.Context(), store, r))
	note, err := store.Note(t.Context(), "recipe/echo")
	require.NoError(t, err)
	require.EqualValues(t, 1, note.Version, "it is written when it has changed only")
	known, said = facts("echo", "")
	require.True(t, known, "no key and no variable is needed")
	require.Empty(t, said)
	known, _ = facts("another", "")
	require.False(t, known)

	recipeOf(strings.Replace(shellRecipe, "[cat]", "[cat, -v]", 1))
	known, said = facts("echo", "")
	require.True(t, known)
	require.Contains(t, said, "has changed")

	recipeOf(strings.Replace(shellRecipe, "queue: echo", "queue: other", 1))
	known, said = facts("echo", "")
	require.False(t, known)
	require.Contains(t, said, "it is for queue other now")
	known, _ = facts("other", p.file("recipe.yaml"))
	require.True(t, known, "a recipe that is given is taken")
	_, err = p.app.factsFor(t.Context(), store, "echo", p.file("recipe.yaml"))
	require.Equal(t, 2, exitCode(err), "one for another queue is a mistake")
	_, err = p.app.factsFor(t.Context(), store, "echo", p.file("none.yaml"))
	require.Equal(t, 2, exitCode(err))

	require.NoError(t, os.Remove(p.file("recipe.yaml")))
	known, said = facts("echo", "")
	require.False(t, known)
	require.Contains(t, said, "is gone")

	for _, value := range []string{"", "{", `{"path":"relative.yaml"}`, `{"path":7}`, "\xff"} { // somebody else's
		note, err := store.Note(t.Context(), "recipe/echo")
		require.NoError(t, err)
		_, err = store.SetNote(t.Context(), siding.Note{Key: note.Key, Value: []byte(value + " "), Version: note.Version})
		require.NoError(t, err)
		known, _ = facts("echo", "")
		require.False(t, known)
	}
}

func TestARunNotesItsRecipe(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	require.NoError(t, os.WriteFile(p.file("recipe.yaml"), []byte("version: 1\nqueue: echo\ncommand: {argv: [cat]}\n"), 0o600))
	require.NoError(t, os.WriteFile(p.file("in.jsonl"), []byte("{\"a\":1}\n{\"a\":\n"), 0o600))
	code, _ := p.run(t, "", "run", "@recipe.yaml", "@in.jsonl", "--out", p.file("out.jsonl"))
	require.Equal(t, 3, code, p.stderr.String())
	p.app.storeURL = p.file("siding.db")
	store, _, err := p.app.openReading(t.Context())
	require.NoError(t, err)
	defer store.Close()
	f, err := p.app.factsFor(t.Context(), store, "echo", "")
	require.NoError(t, err)
	require.NotNil(t, f.Check)
	require.Equal(t, siding.CauseInvalidJSON, f.Check(siding.Message{Body: []byte(`{"a":`)}).Cause)
}
