package claude

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestPromptsThatAreEmpty(t *testing.T) {
	t.Parallel()
	c := config(nil, nil)
	c.Prompt = "{{opt .title}}\n"
	h := newHandler(t, c)
	for _, body := range []string{`{}`, `{"title":""}`, `{"title":" \t\n\u3000"}`} {
		_, f := h.prepare([]byte(body))
		require.NotNil(t, f, body)
		require.Equal(t, siding.CauseEmptyInput, f.Cause)
		require.True(t, f.NoCall)
	}
}

func TestPromptsThatAreTooLong(t *testing.T) {
	t.Parallel()
	limited := config(nil, nil)
	limited.MaxInputTokens = 1000
	bare := config(nil, nil)
	unknown := config(nil, nil)
	unknown.Model = "claude-new-1"
	many := unknown
	many.Prompt = strings.Repeat("{{.title}}", 40)
	record := func(n int) []byte { return []byte(`{"title":"` + strings.Repeat("wide dunes ", n) + `"}`) }
	for name, c := range map[string]struct {
		config Config
		words  int
		fits   bool
	}{
		"well under the limit": {limited, 100, true}, "over the limit": {limited, 500, false},
		"under the model's window": {bare, 60_000, true}, "far over the model's window": {bare, 300_000, false},
		"near the window it is the service that decides": {bare, 80_000, true},
		"an unknown window refuses nothing":              {unknown, 300_000, true}, "more than a request can hold": {many, 20_000, false},
	} {
		h := newHandler(t, c.config)
		h.maxRequest = 8 << 20
		_, f := h.prepare(record(c.words))
		if c.fits {
			require.Nil(t, f, name)
			continue
		}
		require.NotNil(t, f, name)
		require.Equal(t, siding.CauseInputTooLarge, f.Cause, name)
		require.Equal(t, siding.OutcomePermanent, f.Outcome, name)
		require.True(t, f.NoCall, name)
	}
}

func TestARequestThatGrowsWhenItIsWrittenIsRefused(t *testing.T) {
	t.Parallel()
	j := newJournal()
	c := config(j, sim(t).Client())
	c.Model, c.Prompt = "claude-new-1", strings.Repeat("{{.title}}", 40)
	h := newHandler(t, c)
	h.maxRequest = 1 << 20
	_, f := deliver(t, h, j, delivery("a", `{"title":"`+strings.Repeat(`\u0001`, 5_000)+`"}`))
	require.NotNil(t, f)
	require.Equal(t, siding.CauseInputTooLarge, f.Cause, "six bytes for each character")
	require.Empty(t, j.all())
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	h := newHandler(t, variants()["schema"])
	likely, worst, priced := h.Estimate(siding.Message{Body: []byte(`{"title":"Dunes"}`)})
	require.True(t, priced)
	require.Positive(t, likely)
	require.Less(t, likely, worst)
	require.GreaterOrEqual(t, worst, PerMillion(5)*1024, "the whole answer")
	likely, worst, priced = h.Estimate(siding.Message{Body: []byte(`{"title":`)})
	require.True(t, priced)
	require.Zero(t, likely+worst, "what cannot be asked costs nothing")
	c := variants()["schema"]
	c.Model = "claude-mythos-5-2"
	likely, worst, priced = newHandler(t, c).Estimate(siding.Message{Body: []byte(`{"title":"Dunes"}`)})
	require.False(t, priced)
	require.Zero(t, likely+worst)
}

func TestTheBoundForMoneyCountsEveryByte(t *testing.T) {
	t.Parallel()
	h := newHandler(t, variants()["text"])
	text := strings.Repeat("x漢😀", 10_000)
	require.GreaterOrEqual(t, h.estimateOf(prompt{text: text}).most, int64(len(text)))
}

func TestEstimatesAreInOrder(t *testing.T) {
	t.Parallel()
	h := newHandler(t, variants()["schema"])
	rapid.Check(t, func(t *rapid.T) {
		e := h.estimateOf(prompt{text: rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("abc xyz019{}\n😀漢字éß")))).Draw(t, "text")})
		if e.most < int64(len(h.c.System)+len(h.output.raw)) {
			t.Fatalf("a token is at least one byte: %+v", e)
		}
		if e.least > e.likely || e.likely > e.high || e.high > e.most {
			t.Fatalf("%+v", e)
		}
	})
}
