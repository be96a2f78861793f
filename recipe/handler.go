package recipe

import (
	"context"
	"net/http"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
)

// Handler is what a recipe does with a message, and what it can say without doing it.
type Handler interface {
	siding.Handler
	// Digest gives the recipe digest.
	Digest() string
	// Lane names what fails together with it, for instance claude/claude-haiku-4-5.
	Lane() string
	// Rejudge looks for a journaled answer that passes today's acceptance, without a call; ok is false when there is none.
	// calls are the message's, as [siding.Journal] lists them. The error is the journal's.
	Rejudge(ctx context.Context, m siding.Message, calls []siding.Call) (j siding.Judgement, result []byte, ok bool, err error)
	// Estimate says what a message will cost, likely and at worst. priced is false when no price is known.
	Estimate(m siding.Message) (likely, worst siding.Money, priced bool)
}

var _ Handler = (*claude.Handler)(nil)

// Env is what a handler stands on, and what is no matter of the recipe.
type Env struct {
	Journal     siding.Journal   // nil: the handler tells its digest and its estimates, and asks nothing
	HTTPClient  *http.Client     // nil: one of its own
	BaseURL     string           // empty: the environment's ANTHROPIC_BASE_URL, and else the public service
	APIKey      string           // empty: the environment's ANTHROPIC_API_KEY
	Clock       func() time.Time // nil: time.Now
	Prices      claude.Prices    // nil: the list that comes with the program
	EventHeader string           // a request header that carries the event ID, for a simulator's meter; empty: none
}

// Handler makes the handler that the recipe describes. An error is about the environment: a missing key, a bad address,
// or a file that has changed since the recipe was read.
func (r *Recipe) Handler(env Env) (Handler, error) {
	c := r.claude
	c.Journal, c.HTTPClient, c.BaseURL, c.APIKey = env.Journal, env.HTTPClient, env.BaseURL, env.APIKey
	c.Clock, c.Prices, c.EventHeader = env.Clock, env.Prices, env.EventHeader
	h, err := claude.New(c)
	if err != nil {
		return nil, err // not a nil *claude.Handler in an interface
	}
	return h, nil
}
