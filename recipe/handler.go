package recipe

import (
	"context"
	"net/http"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
	"github.com/siding-dev/siding/command"
	"github.com/siding-dev/siding/webhook"
)

// Handler is what a recipe does with a message, and what it can say without doing it.
type Handler interface {
	work
	// GateKeys names what is at fault together with these messages, for a worker to watch: the account where there is one,
	// the lane, and the recipe (its queue and digest).
	GateKeys() siding.GateKeys
}

// work is what each handler's package gives.
type work interface {
	siding.Handler
	// Digest gives the recipe digest.
	Digest() string
	// Lane names what fails together with it, for instance claude/claude-haiku-4-5@1f2e3d4c.
	Lane() string
	// Rejudge looks for a journaled answer that passes today's acceptance, without a call; ok is false when there is none.
	// calls are the message's, as [siding.Journal] lists them. The error is the journal's.
	Rejudge(ctx context.Context, m siding.Message, calls []siding.Call) (j siding.Judgement, result []byte, ok bool, err error)
	// Estimate says what a message will cost, likely and at worst. priced is false when no price is known.
	Estimate(m siding.Message) (likely, worst siding.Money, priced bool)
	// Check says what would be found wrong with a message before anything is asked, sent or run for it; nil: nothing.
	Check(m siding.Message) *siding.Failure
}

var (
	_ work = (*claude.Handler)(nil)
	_ work = (*webhook.Handler)(nil)
	_ work = (*command.Handler)(nil)
)

// gated is a handler with the names of its gates.
type gated struct {
	work
	gates siding.GateKeys
}

func (g gated) GateKeys() siding.GateKeys { return g.gates }

// Env is what a handler stands on, and what is no matter of the recipe.
type Env struct {
	Journal     siding.Journal                   // nil: a handler of claude tells its digest and its estimates, and asks nothing
	StoreID     string                           // of the store ([siding.StoreInfo]); empty: an account has no name
	HTTPClient  *http.Client                     // for claude; nil: one of its own
	BaseURL     string                           // empty: the environment's ANTHROPIC_BASE_URL, and else the public service
	APIKey      string                           // empty: the environment's ANTHROPIC_API_KEY
	Clock       func() time.Time                 // nil: time.Now
	Prices      claude.Prices                    // nil: the list that comes with the program
	EventHeader string                           // a request header that carries the event ID, for a simulator's meter; empty: none
	LookupEnv   func(name string) (string, bool) // variables for webhook and command; nil: os.LookupEnv
}

// Handler makes the handler that the recipe describes. An error is about the environment: a missing key, a bad address,
// or a file that has changed since the recipe was read.
func (r *Recipe) Handler(env Env) (Handler, error) {
	h := gated{}
	var err error
	switch { // each by its own variable: a nil pointer in an interface is not nil
	case r.claude != nil:
		c := *r.claude
		c.Journal, c.StoreID, c.HTTPClient, c.BaseURL, c.APIKey = env.Journal, env.StoreID, env.HTTPClient, env.BaseURL, env.APIKey
		c.Clock, c.Prices, c.EventHeader = env.Clock, env.Prices, env.EventHeader
		var asks *claude.Handler
		if asks, err = claude.New(c); err == nil {
			h.work, h.gates = asks, asks.Gates()
		}
	case r.webhook != nil:
		c := *r.webhook
		c.Journal, c.Clock, c.LookupEnv = env.Journal, env.Clock, env.LookupEnv
		var sends *webhook.Handler
		if sends, err = webhook.New(c); err == nil {
			h.work = sends
		}
	default:
		c := *r.command
		c.LookupEnv = env.LookupEnv
		var runs *command.Handler
		if runs, err = command.New(c); err == nil {
			h.work = runs
		}
	}
	if err != nil {
		return nil, err
	}
	h.gates.Lane = siding.GateKey{Scope: siding.ScopeLane, Name: h.Lane()}
	h.gates.Recipe = siding.GateKey{Scope: siding.ScopeRecipe, Name: r.Queue + "@" + h.Digest()}
	return h, nil
}

// AsksClaude tells whether the recipe asks Claude, so that there is something to simulate, and money to spend.
func (r *Recipe) AsksClaude() bool { return r.claude != nil }
