package alert

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// The sinks that a recipe can have. The names are stored.
const (
	SinkCommand = "command"
	SinkWebhook = "webhook"
)

// Sink is where notices go: a handler, to which each is a message whose body is the notice as JSON and whose event ID is
// the same when it is sent twice.
type Sink struct {
	Name    string
	Handler siding.Handler
}

// Send sends a notice once, in at most [SendTimeout]; tries is how often it failed before. What it leaves behind is not
// looked at. The error is scrubbed, and a [*siding.Failure].
func (s Sink) Send(ctx context.Context, n Notice, tries int) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, SendTimeout, errTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = siding.Transient(fmt.Errorf("%s: panic: %s", s.Name, siding.Scrub(fmt.Sprint(r), maxText)))
		}
	}()
	d, err := n.delivery(tries)
	if err != nil {
		return err
	}
	if _, err = s.Handler.Handle(ctx, d); err == nil {
		return nil
	}
	f := *siding.FailureOf(err)
	f.Err = fmt.Errorf("%s: %s", s.Name, siding.Scrub(err.Error(), siding.MaxErrorText))
	return &f
}

var errTimeout = errors.New("the sink took longer than its time")
