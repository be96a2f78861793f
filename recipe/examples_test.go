package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheRecipesOfTheExamplesAreSound(t *testing.T) {
	t.Parallel()
	r, err := Load("../examples/wallpapers/recipe.yaml")
	require.NoError(t, err)
	require.Equal(t, "tag-wallpapers", r.Queue)
	r, err = Load("../examples/readings/recipe.yaml")
	require.NoError(t, err)
	require.Equal(t, "readings", r.Queue)
	r, err = Load("../examples/summarise/tag.yaml")
	require.NoError(t, err)
	require.Equal(t, "summaries", r.Side.Queue)
}

// The recipe on the manual's page is sound, but for the files that it names.
func TestTheRecipeOfTheManualIsSound(t *testing.T) {
	t.Parallel()
	_, err := Parse("recipe.yaml", []byte(manualRecipe(t)), folder(t))
	require.NoError(t, err)
}
