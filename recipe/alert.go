package recipe

import (
	"errors"
	"math"
	"os"
	"strings"
	"time"

	"github.com/siding-dev/siding/alert"
	"github.com/siding-dev/siding/command"
	"github.com/siding-dev/siding/webhook"
)

// alertGroup is the group alert as it was read.
type alertGroup struct {
	rules alert.Rules
	// Each nil where there is none.
	command *command.Config
	webhook *webhook.Config
}

// alert reads the group alert.
func (d *document) alert(dir string) alertGroup {
	a := alertGroup{rules: alert.Rules{
		Dead:         d.integer("alert.dead", 1, math.MaxInt64, 0),
		NewGroup:     d.boolean("alert.new_group"),
		Hold:         d.boolean("alert.hold"),
		ReviewPrompt: d.boolean("alert.review_prompt"),
	}}
	argv, private := d.list("alert.command"), d.boolean("alert.allow_private")
	if d.has("alert.command") {
		a.command = &command.Config{Argv: argv, Dir: dir, Timeout: alert.SendTimeout, Grace: time.Second, MaxOutput: maxReply, Variables: alert.Variables}
		_, err := command.New(*a.command)
		d.alertFaults("alert.command", err)
	}
	if d.has("alert.webhook") {
		a.webhook = &webhook.Config{URL: d.text("alert.webhook", ""), Timeout: alert.SendTimeout, MaxResponse: maxReply, AllowPrivate: private}
		check := *a.webhook
		check.LookupEnv = anyVariable
		_, err := webhook.New(check)
		d.alertFaults("alert.webhook", err)
	}
	switch {
	case !d.has("alert"):
	case d.missing("alert.command") && d.missing("alert.webhook"):
		d.failKey("alert", "alert says nobody to tell; add command: [program, argument] or webhook: https://…, or take it out")
	case private && d.missing("alert.webhook"):
		d.failKey("alert.allow_private", "alert.allow_private means nothing without alert.webhook; take it out")
	}
	if d.has("alert") && !a.rules.Any() && d.missing("alert.dead") && d.missing("alert.hold") && d.missing("alert.new_group") && d.missing("alert.review_prompt") {
		d.failKey("alert", "alert says nothing to tell of; add dead: 10, new_group: true, hold: true or review_prompt: true, or take it out")
	}
	return a
}

// maxReply bounds what is kept of a sink's reply, in bytes; it only shows in errors.
const maxReply = 64 << 10

// alertFaults puts the errors of a sink's handler at its key.
func (d *document) alertFaults(path string, err error) {
	for _, each := range parts(err) {
		_, text, _ := strings.Cut(each.Error(), ": ")
		d.failKey(path, "%s: %s", path, text)
	}
}

// AlertRules gives when somebody is to be told; without any rule, nobody is.
func (r *Recipe) AlertRules() alert.Rules { return r.alert.rules }

// desktop are variables that a program needs to show something to the user of this machine.
var desktop = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}

// AlertSinks makes what tells them. An error is about the environment, for instance a variable that it lacks.
func (r *Recipe) AlertSinks(env Env) ([]alert.Sink, error) {
	var sinks []alert.Sink
	var errs []error
	if r.alert.command != nil {
		c := *r.alert.command
		c.LookupEnv = env.LookupEnv
		look := env.LookupEnv
		if look == nil {
			look = os.LookupEnv
		}
		for _, name := range desktop {
			if _, ok := look(name); ok {
				c.Env = append(c.Env, name)
			}
		}
		h, err := command.New(c)
		errs = append(errs, alertFault("alert.command", err))
		sinks = append(sinks, alert.Sink{Name: alert.SinkCommand, Handler: h})
	}
	if r.alert.webhook != nil {
		c := *r.alert.webhook
		c.LookupEnv, c.Clock = env.LookupEnv, env.Clock
		h, err := webhook.New(c)
		errs = append(errs, alertFault("alert.webhook", err))
		sinks = append(sinks, alert.Sink{Name: alert.SinkWebhook, Handler: h})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return sinks, nil
}

func alertFault(path string, err error) error {
	if err == nil {
		return nil
	}
	_, text, _ := strings.Cut(err.Error(), ": ")
	return errors.New(path + ": " + text)
}
