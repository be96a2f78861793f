package recipe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestFactsAreWhatARecipeKnowsOfItsRecords(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, "record.schema.json", `{"type":"object","required":["title"]}`)
	load := func(text string) *Recipe {
		r, err := Parse("recipe.yaml", []byte(text), dir)
		require.NoError(t, err)
		return r
	}
	record := func(body string) siding.Message { return siding.Message{Body: []byte(body)} }

	f, err := load(everything).FactsAlone()
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","required":["title"]}`, string(f.InputSchema))
	require.Contains(t, string(f.OutputSchema), "tags")
	require.Equal(t, "claude-haiku-4-5", f.Model)
	require.Equal(t, []int64{200_000, 150_000, 64_000, 1024}, []int64{f.ContextTokens, f.MaxInputTokens, f.MaxOutput, f.MaxTokens})
	likely, most := f.Tokens("a title of some words")
	require.Positive(t, likely)
	require.LessOrEqual(t, likely, most)
	require.Equal(t, []string{"/image_path"}, f.Images)
	require.Equal(t, filepath.Join(dir, "images"), f.ImageRoot)
	require.True(t, f.Settings)
	require.Nil(t, f.Check(record(`{"title":"Dunes"}`)))
	require.Equal(t, siding.CauseSchemaViolation, f.Check(record(`{}`)).Cause)
	require.Equal(t, siding.CauseInvalidMedia, f.Check(record(`{"title":"Dunes","image_path":"none.png"}`)).Cause)

	for name, text := range map[string]string{"webhook": sends, "command": runs} {
		f, err := load(text).FactsAlone()
		require.NoError(t, err, "no variable of the environment is needed")
		require.False(t, f.Settings, name)
		require.NotEmpty(t, f.InputSchema)
		require.Nil(t, f.Check(record(`{"title":"Dunes"}`)))
		require.Equal(t, siding.CauseSchemaViolation, f.Check(record(`{}`)).Cause)
		require.Equal(t, siding.CauseInvalidUTF8, f.Check(record("\xff")).Cause)
	}

	r := load(everything)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "images")))
	_, err = r.FactsAlone()
	require.ErrorContains(t, err, "images")
}
