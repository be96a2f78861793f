package quarantine

import (
	"context"
	"errors"

	"github.com/siding-dev/siding"
)

// selectAll makes all that a campaign selects members, and starts it. It begins at the beginning whenever it is called:
// who is a member already stays one.
func (d *Driver) selectAll(ctx context.Context, c siding.Campaign) (int64, error) {
	if c.Plan.Where != "" {
		if d.Where == nil {
			return 0, nil
		}
		if err := d.judgeAll(ctx, c); err != nil {
			return 0, err
		}
	} else {
		for e := (siding.Enlistment{More: true}); e.More; {
			if _, err := d.hold(ctx, c.ID); err != nil {
				return 0, err
			}
			var err error
			if e, err = d.Store.Enlist(ctx, c.ID, e.Next, selectBatch); err != nil {
				return 0, err
			}
			d.elsewhere(e.Busy, e.Other)
		}
	}
	if err := d.Store.StartCampaign(ctx, c.ID); err != nil {
		return 0, err
	}
	c, err := d.Store.Campaign(ctx, c.ID)
	return c.Selected, err
}

func (d *Driver) elsewhere(n int64, other siding.CampaignID) {
	if n > 0 && d.Elsewhere != nil {
		d.Elsewhere(n, other)
	}
}

// judgeAll walks over what a campaign selects, and makes those members of which its expression is true.
func (d *Driver) judgeAll(ctx context.Context, c siding.Campaign) error {
	judge, err := d.Where(c.Plan.Where)
	if err != nil {
		return err
	}
	sel := c.Plan.Selection
	sel.Bodies = true
	var queue string
	var ids []string
	enlist := func() error {
		if len(ids) == 0 {
			return nil
		}
		if _, err := d.hold(ctx, c.ID); err != nil {
			return err
		}
		errs, err := d.Store.EnlistEach(ctx, c.ID, queue, ids...)
		ids = ids[:0]
		var busy int64
		for _, e := range errs { // who cannot become one for another reason has changed meanwhile
			if errors.Is(e, siding.ErrConflict) {
				busy++
			}
		}
		d.elsewhere(busy, 0)
		return err
	}
	for l, err := range d.Store.List(ctx, sel) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		yes := false
		if err == nil {
			yes, err = judge(ctx, l)
		}
		switch {
		case errors.Is(err, ErrEndless), ctx.Err() != nil, errors.Is(err, siding.ErrClosed):
			return err
		case err != nil:
			if d.Unjudged != nil {
				d.Unjudged(l, err)
			}
			continue
		case !yes:
			continue
		}
		if l.Queue != queue || len(ids) >= judgeBatch {
			if err := enlist(); err != nil {
				return err
			}
		}
		queue, ids = l.Queue, append(ids, l.ID)
	}
	return enlist()
}
