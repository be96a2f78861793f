package recipe

import (
	"math"
	"time"

	"github.com/siding-dev/siding/command"
	"github.com/siding-dev/siding/webhook"
)

// handler reads the one group that says what is done with a record.
func (d *document) handler(r *Recipe, dir string) {
	var groups []string
	for _, g := range []string{"claude", "webhook", "command"} {
		if !d.missing(g) {
			groups = append(groups, g)
		}
	}
	switch {
	case len(groups) == 0:
		d.failAt(0, 0, "nothing says what to do with a record; add one of the groups claude, webhook and command")
		return
	case len(groups) > 1:
		for _, g := range groups[1:] {
			if n := d.keys[g]; n != nil {
				d.fail(n, "%s and %s exclude each other: a recipe does one thing with a record; take one out", groups[0], g)
			}
		}
	}
	// Each that is there is read, so that all that is wrong shows at once.
	if d.has("claude") {
		d.claude(r, dir)
	}
	if d.has("webhook") {
		d.webhook(r, dir)
	}
	if d.has("command") {
		d.command(r, dir)
	}
	d.budget(groups[0])
	if groups[0] != "claude" && d.has("preflight") {
		d.failKey("preflight", "preflight is for claude only: %s asks no model; take it out", groups[0])
	}
}

// budget refuses one that would mean nothing.
func (d *document) budget(group string) {
	switch {
	case !d.has("budget"):
	case group != "claude":
		d.failKey("budget", "a budget would mean nothing: %s costs no money; take it out", group)
	case !d.has("budget.usd"):
		if d.missing("budget.usd") {
			d.failKey("budget", "budget says no amount; write budget: {usd: 5.00}, or take it out")
		}
	default:
		n := d.nodes["budget.usd"]
		if m, err := ParseMoney(n.GetToken().Value); err == nil && m == 0 {
			d.fail(n, "budget.usd is 0, so that nothing could be asked; it must be more than 0")
		}
	}
}

func (d *document) webhook(r *Recipe, dir string) {
	r.webhook = &webhook.Config{
		URL:               d.required("webhook.url", "give the address, for instance https://example.com/hook"),
		Method:            d.text("webhook.method", ""),
		Headers:           d.texts("webhook.headers"),
		IdempotencyHeader: d.text("webhook.idempotency_header", ""),
		Timeout:           d.duration("webhook.timeout", 30*time.Second),
		Done:              d.numbers("webhook.done"),
		Transient:         d.numbers("webhook.transient"),
		Permanent:         d.numbers("webhook.permanent"),
		Gray:              d.numbers("webhook.gray"),
		FollowRedirects:   d.boolean("webhook.follow_redirects"),
		AllowPrivate:      d.boolean("webhook.allow_private"),
		MaxResponse:       d.integer("webhook.max_response", 1, math.MaxInt64, 1<<20),
		JSON:              true,
		InputSchema:       d.schema("input.schema", dir),
		OnUnknown:         r.policy.OnUnknown,
	}
	check := *r.webhook
	check.LookupEnv = anyVariable
	if !d.has("webhook.url") {
		check.URL = "https://localhost" // that it is missing has been said
	}
	h, err := webhook.New(check)
	d.faults("webhook", err)
	if err == nil {
		r.digest = h.Digest()
	}
}

func (d *document) command(r *Recipe, dir string) {
	if d.missing("command.argv") {
		d.failKey("command.argv", "command.argv is missing; give the program and its arguments, for instance argv: [python3, tag.py]")
	}
	r.command = &command.Config{
		Argv:         d.list("command.argv"),
		Dir:          dir,
		Env:          d.list("command.env"),
		Timeout:      d.duration("command.timeout", 5*time.Minute),
		Grace:        d.duration("command.grace", 5*time.Second),
		Permanent:    d.numbers("command.permanent"),
		Gray:         d.numbers("command.gray"),
		MaxOutput:    d.integer("command.max_output", 1, math.MaxInt64, 1<<20),
		OutputSchema: d.schema("command.output.schema", dir),
		JSON:         true,
		InputSchema:  d.schema("input.schema", dir),
	}
	check := *r.command
	check.LookupEnv = anyVariable
	if !d.has("command.argv") {
		check.Argv = []string{"missing"}
	}
	h, err := command.New(check)
	d.faults("command", err)
	if err == nil {
		r.digest = h.Digest()
	}
}

// anyVariable stands for the environment while a recipe is read: what is missing there is no fault of the recipe, and is
// looked for when the handler is made.
func anyVariable(string) (string, bool) { return "variable", true }
