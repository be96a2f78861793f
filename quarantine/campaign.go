package quarantine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// Judge tells whether a plan's expression is true of a message. An error is of this message alone, which is not
// selected then, unless the judge's maker says otherwise; see [Driver.Where].
type Judge func(ctx context.Context, l siding.Listed) (bool, error)

// Driver drives campaigns on: it lists their messages, and sends them back as each campaign's ramp and rate allow. All
// that is decided stands in the store, in the writes that carry it out: a driver may die at any moment, and any number may
// drive the same campaign. One process at a time does it nevertheless, by a note in the store, to spare work. A driver is
// for one goroutine at a time.
type Driver struct {
	Store siding.Store
	// Owner names this process among all.
	Owner string
	// Where makes the judge of an expression; nil: campaigns with an expression are not selected here. A judge's error that
	// wraps [ErrEndless] would come again for each message, and ends the selecting.
	Where func(expression string) (Judge, error)
	// Facts gives what is known of the records of a queue, by a plan's recipe where it names one; nil: nothing.
	Facts func(ctx context.Context, queue, recipe string) (Facts, error)
	// Unjudged is told of each message whose judge gave an error, Elsewhere how many that would be selected are members of
	// another campaign, and of one such campaign (0: it is not known which). Both may be nil.
	Unjudged  func(l siding.Listed, err error)
	Elsewhere func(n int64, other siding.CampaignID)

	leases map[siding.CampaignID]*driving
	work   map[siding.CampaignID]*mending
}

// ErrEndless is wrapped by an error that would come again for each message.
var ErrEndless = errors.New("it would come again for each message")

// Step is what one step of a campaign came to.
type Step struct {
	siding.Campaign
	// Moved is how many members were sent or passed over, or, while it selects, how many it has found.
	Moved int64
	// Wait is how long nothing can be sent for its rate; 0 while it runs: at once, or else (Waits) when something ends.
	Wait time.Duration
	// Waits says that only what becomes of messages that were sent changes anything.
	Waits bool
	// Busy says that another process is driving it.
	Busy bool
}

// Active tells whether a campaign goes on by being driven.
func Active(s siding.CampaignState) bool {
	return s == siding.CampaignSelecting || s == siding.CampaignRunning
}

// sendBatch is how many members are sent back as they are in one write, mendBatch how many are mended for one.
const (
	sendBatch   = 5000
	mendBatch   = 200
	selectBatch = 5000
	judgeBatch  = 500
)

// Step drives a campaign on by one step: it selects all of its messages and starts it, or sends some back.
func (d *Driver) Step(ctx context.Context, id siding.CampaignID) (Step, error) {
	c, err := d.Store.Campaign(ctx, id)
	if err != nil || !Active(c.State) {
		return Step{Campaign: c}, err
	}
	mine, err := d.hold(ctx, id)
	if err != nil || !mine {
		return Step{Campaign: c, Busy: err == nil}, err
	}
	s := Step{}
	switch {
	case c.State == siding.CampaignSelecting:
		s.Moved, err = d.selectAll(ctx, c)
	case len(c.Plan.Repairs) > 0:
		s.Moved, err = d.mend(ctx, c)
	default:
		s.Moved, err = d.Store.ReturnNext(ctx, id, sendBatch)
	}
	if err != nil && !errors.Is(err, siding.ErrWrongState) { // paused meanwhile, or started by another
		return s, fmt.Errorf("campaign %d: %w", id, err)
	}
	if s.Campaign, err = d.Store.Campaign(ctx, id); err != nil {
		return s, err
	}
	return s, d.outlook(ctx, &s)
}

// outlook says when there is more to do.
func (d *Driver) outlook(ctx context.Context, s *Step) error {
	if s.State != siding.CampaignRunning {
		return nil
	}
	now, err := d.Store.Now(ctx)
	if err != nil {
		return err
	}
	n, at := s.Allow(now)
	switch {
	case n > 0:
	case at.IsZero():
		s.Waits = true
	default:
		s.Wait = max(at.Sub(now), time.Millisecond)
	}
	return nil
}

// look is how often a campaign is looked at that waits for what it has sent.
const look = 250 * time.Millisecond

// Run drives a campaign until it is over, has stopped or is paused, or ctx ends, and gives it as it was last. seen is
// called after each step; it may be nil.
func (d *Driver) Run(ctx context.Context, id siding.CampaignID, seen func(Step)) (siding.Campaign, error) {
	defer d.Release(context.WithoutCancel(ctx), id)
	for {
		s, err := d.Step(ctx, id)
		if err != nil {
			return s.Campaign, err
		}
		if seen != nil {
			seen(s)
		}
		if !Active(s.State) {
			return s.Campaign, nil
		}
		if err := pause(ctx, s); err != nil {
			return s.Campaign, err
		}
	}
}

// pause waits until a campaign may have more to do.
func pause(ctx context.Context, s Step) error {
	var wait time.Duration
	switch {
	case s.Busy, s.Waits:
		wait = look
	case s.Wait > 0:
		wait = min(s.Wait, time.Second) // an operator may have paused it meanwhile
	default:
		return ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Concerns tells whether a campaign may send messages of a queue.
func Concerns(c siding.Campaign, queue string) bool {
	return c.Plan.Selection.Queue == "" || c.Plan.Selection.Queue == queue
}

// Sweep steps every active campaign that concerns a queue once. One that gives an error does not keep the others back;
// the errors are joined.
func (d *Driver) Sweep(ctx context.Context, queue string) ([]Step, error) {
	all, err := d.Store.Campaigns(ctx, siding.CampaignSelecting, siding.CampaignRunning)
	if err != nil {
		return nil, err
	}
	var steps []Step
	var errs []error
	for _, c := range all {
		if !Concerns(c, queue) {
			continue
		}
		s, err := d.Step(ctx, c.ID)
		if ctx.Err() != nil {
			return steps, ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		steps = append(steps, s)
	}
	return steps, errors.Join(errs...)
}
