package recipe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// summarise is the recipe of the queue that too large records go to.
const summarise = `version: 1
queue: summaries
claude:
  model: claude-haiku-4-5
  max_tokens: 1024
  prompt: "Sum up: {{.title}}"
then: {queue: tag-jobs, field: /description}
`

// to gives a recipe of a queue, and where its too large records and its results go.
func to(queue, oversize, then string) string {
	return strings.Replace(small, "tag-jobs", queue, 1) + oversize + then
}

func TestTooLargeRecordsMayGoToAnotherQueue(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	r, err := Parse("r.yaml", []byte(small+"preflight: {oversize: {queue: summaries}}\n"), dir)
	require.NoError(t, err)
	require.Equal(t, "summaries", r.Oversize)
	require.Nil(t, r.Side, "it is worked by a command of its own")

	r, err = Parse("r.yaml", []byte(small+"preflight: {oversize: dead}\n"), dir)
	require.NoError(t, err)
	require.Empty(t, r.Oversize)

	// A chain is no ring: what is too large to be summed up is cut into chapters first.
	put(t, dir, "a.yaml", to("a", "preflight: {oversize: {queue: b, recipe: b.yaml}}\n", ""))
	put(t, dir, "b.yaml", to("b", "preflight: {oversize: {queue: c, recipe: sub/c.yaml}}\n", "then: {queue: a, field: /x}\n"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	put(t, dir, "sub/c.yaml", to("c", "", "then: {queue: b, field: /y}\n"))
	r, err = Load(filepath.Join(dir, "a.yaml"))
	require.NoError(t, err)
	require.Equal(t, "c", r.Side.Side.Queue)
	require.Equal(t, filepath.Join(dir, "sub", "c.yaml"), r.Side.Side.Name)

	// Any handler may give results back.
	for _, text := range []string{sends, runs} {
		r, err := Parse("r.yaml", []byte(text+"then: {queue: tag-jobs, field: /description}\n"), dir)
		require.NoError(t, err)
		require.Equal(t, "tag-jobs", r.Then.Queue)
	}
}

func TestARingAndAWayThatLeadsNowhereAreRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, "other-queue.yaml", to("chapters", "", "then: {queue: tag-jobs, field: /x}\n"))
	put(t, dir, "no-then.yaml", to("summaries", "", ""))
	put(t, dir, "other-then.yaml", to("summaries", "", "then: {queue: albums, field: /x}\n"))
	put(t, dir, "back.yaml", to("summaries", "preflight: {oversize: {queue: tag-jobs}}\n", "then: {queue: albums, field: /x}\n"))
	put(t, dir, "broken.yaml", summarise+"zebra: 1\n")
	// Longer rings: r.yaml → b → c → r.yaml's queue; and c back to the file of b.
	put(t, dir, "b.yaml", to("b", "preflight: {oversize: {queue: c, recipe: c.yaml}}\n", "then: {queue: tag-jobs, field: /x}\n"))
	put(t, dir, "c.yaml", to("c", "preflight: {oversize: {queue: tag-jobs}}\n", "then: {queue: b, field: /x}\n"))
	put(t, dir, "d.yaml", to("d", "preflight: {oversize: {queue: e, recipe: e.yaml}}\n", "then: {queue: tag-jobs, field: /x}\n"))
	put(t, dir, "e.yaml", to("e", "preflight: {oversize: {queue: f, recipe: ./d.yaml}}\n", "then: {queue: d, field: /x}\n"))
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct{ more, want string }{
		"its own queue":      {"preflight:\n  oversize: {queue: tag-jobs}\n", "r.yaml:8:21: preflight.oversize.queue is this recipe's own queue"},
		"then its own queue": {"then: {queue: tag-jobs, field: /x}\n", "r.yaml:7:15: then.queue is this recipe's own queue"},
		"where it came from": {"preflight: {oversize: {queue: a}}\nthen: {queue: a, field: /x}\n", "r.yaml:7:31: preflight.oversize.queue is the queue that the results go back to"},
		"no queue":           {"preflight: {oversize: {recipe: b.yaml}}\n", "r.yaml:7:13: preflight.oversize.queue is missing"},
		"a bad queue":        {"preflight: {oversize: {queue: 'a b'}}\n", `r.yaml:7:31: the queue's name is "a b"`},
		"another word":       {"preflight: {oversize: alive}\n", `r.yaml:7:23: preflight.oversize is "alive"; it must be dead`},
		"a list":             {"preflight: {oversize: [a]}\n", "r.yaml:7:23: preflight.oversize must be a text, and is a list"},
		"an unknown key":     {"preflight: {oversize: {quue: a}}\n", "r.yaml:7:24: there is no key quue in preflight.oversize; did you mean queue?"},
		"who counts":         {"preflight: {tokens: me}\n", `r.yaml:7:21: preflight.tokens is "me"; it must be estimate or service`},
		"then without queue": {"then: {field: /x}\n", "r.yaml:7:1: then.queue is missing"},
		"then without field": {"then: {queue: a}\n", "r.yaml:7:1: then.field is missing"},
		"then the record":    {"then: {queue: a, field: ''}\n", "r.yaml:7:25: then.field is empty"},
		"then no pointer":    {"then: {queue: a, field: x}\n", `r.yaml:7:25: then.field: a JSON Pointer begins with /; did you mean "/x"?`},
		"no such file":       {"preflight: {oversize: {queue: summaries, recipe: none.yaml}}\n", "r.yaml:7:50: preflight.oversize.recipe: " + at("none.yaml") + ": open: no such file"},
		"a folder":           {"preflight: {oversize: {queue: summaries, recipe: images}}\n", "it is a directory"},
		"a broken recipe":    {"preflight: {oversize: {queue: summaries, recipe: broken.yaml}}\n", at("broken.yaml") + ":8:1: there is no key zebra"},
		"of another queue":   {"preflight: {oversize: {queue: summaries, recipe: other-queue.yaml}}\n", "r.yaml:7:50: preflight.oversize.recipe: " + at("other-queue.yaml") + " is a recipe of the queue chapters, and too large records go to summaries"},
		"without then":       {"preflight: {oversize: {queue: summaries, recipe: no-then.yaml}}\n", "r.yaml:7:50: preflight.oversize.recipe: " + at("no-then.yaml") + " has no then"},
		"with another then":  {"preflight: {oversize: {queue: summaries, recipe: other-then.yaml}}\n", "r.yaml:7:50: preflight.oversize.recipe: the results of " + at("other-then.yaml") + " go to albums"},
		"back to its queue":  {"preflight: {oversize: {queue: summaries, recipe: back.yaml}}\n", at("back.yaml") + ":7:31: preflight.oversize.queue leads back to tag-jobs, whose too large records come here by way of r.yaml"},
		"back by another":    {"preflight: {oversize: {queue: b, recipe: b.yaml}}\n", at("c.yaml") + ":7:31: preflight.oversize.queue leads back to tag-jobs"},
		"back to a file":     {"preflight: {oversize: {queue: d, recipe: d.yaml}}\n", at("e.yaml") + ":7:42: preflight.oversize.recipe leads back to " + at("d.yaml")},
		"hostile":            {"preflight: {oversize: {queue: a, recipe: \"\\e[2J\"}}\n", `\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("r.yaml", []byte(small+c.more), dir)
			require.Error(t, err)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), "\x1b")
			var all Errors
			require.ErrorAs(t, err, &all)
			require.Len(t, all, 1, fmt.Sprint(err))
		})
	}
}
