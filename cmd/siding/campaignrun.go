package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// campaigns drives the campaigns of a queue on while it is worked on. Its methods may be called by several goroutines.
type campaigns struct {
	*app
	store siding.Store
	path  string
	queue string

	mu    sync.Mutex
	d     *quarantine.Driver
	told  map[siding.CampaignID]string // what was said of each last
	fault string
	moved bool // something was sent back since left was asked last
	// without are campaigns whose pending members are none of the input's: they become fewer, and never others.
	without map[siding.CampaignID]bool
}

func (a *app) campaignsOf(store siding.Store, path, queue string) *campaigns {
	return &campaigns{
		app: a, store: store, path: path, queue: queue, d: a.driver(store), told: map[siding.CampaignID]string{},
		without: map[siding.CampaignID]bool{},
	}
}

// sweepEvery is how often campaigns are driven on while their queue is worked on.
const sweepEvery = 500 * time.Millisecond

// during drives campaigns on for as long as work takes.
func (c *campaigns) during(ctx context.Context, work func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.sweep(ctx) // also so that the end of each is told
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(sweepEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				c.sweep(ctx)
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	err := work()
	close(done)
	wg.Wait()
	return err
}

// close lets others drive the campaigns on at once.
func (c *campaigns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.d.Close(context.Background())
}

// sweep steps every campaign of the queue, until each has sent what it may send now, and says what has become of them. A
// campaign that cannot be driven on is told once, and keeps nothing else back.
func (c *campaigns) sweep(ctx context.Context) []quarantine.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		steps, err := c.d.Sweep(ctx, c.queue)
		if err != nil && ctx.Err() == nil && err.Error() != c.fault {
			c.fault = err.Error()
			c.notef("a campaign could not be driven on: %v", err)
		}
		if err == nil {
			c.tellOver(ctx, steps)
		}
		again := false
		for _, s := range steps {
			c.tell(s.Campaign)
			c.moved = c.moved || s.Moved > 0
			again = again || s.Moved > 0 && s.State == siding.CampaignRunning && !s.Waits && s.Wait == 0
		}
		if !again || ctx.Err() != nil {
			return steps
		}
	}
}

// tellOver looks at the campaigns that are not driven on any more.
func (c *campaigns) tellOver(ctx context.Context, steps []quarantine.Step) {
	for id, state := range c.told {
		same := func(s quarantine.Step) bool { return s.ID == id }
		if !quarantine.Active(siding.CampaignState(state)) || slices.ContainsFunc(steps, same) {
			continue
		}
		if one, err := c.store.Campaign(ctx, id); err == nil {
			c.tell(one)
		}
	}
}

// tell says when a campaign has ended, or has stopped by itself.
func (c *campaigns) tell(one siding.Campaign) {
	if text := string(one.State); c.told[one.ID] != text {
		c.told[one.ID] = text
		if !quarantine.Active(one.State) {
			_ = c.endOf(one, c.path)
		}
	}
}

// left tells whether campaigns will send back more of what a run is about: then it goes on. It waits for a campaign's rate,
// but not for what becomes of messages that are none of its input's. The worker has done with the input when it is called.
func (c *campaigns) left(ctx context.Context, input siding.InputID) (bool, error) {
	before, err := c.store.InputStats(ctx, input, "")
	if err != nil {
		return false, err
	}
	for {
		wait := time.Duration(0)
		for _, s := range c.sweep(ctx) {
			if s.State == siding.CampaignSelecting && wait == 0 {
				wait = sweepEvery // another process selects its messages, or was killed while it did: whose they are comes out
			}
			if s.State != siding.CampaignRunning || s.Pending == 0 || s.Waits {
				continue
			}
			mine, err := c.sends(ctx, s.ID, input)
			if err != nil {
				return false, err
			}
			if mine && (wait == 0 || s.Wait < wait) {
				wait = max(s.Wait, 10*time.Millisecond) // where another process drives it
			}
		}
		now, err := c.store.InputStats(ctx, input, "")
		moved := c.hasMoved()
		switch {
		case err != nil:
			return false, err
		case moved && now.Pending+now.Held > 0, now.Pending+now.Held > before.Pending+before.Held:
			return true, nil
		case wait > 0:
			if err := rest(ctx, min(wait, time.Second)); err != nil {
				return false, err
			}
		case !moved:
			return false, nil
		}
	}
}

// hasMoved tells whether something was sent back since it was asked last.
func (c *campaigns) hasMoved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := c.moved
	c.moved = false
	return moved
}

// rest waits for a time.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errInterrupted
	}
}

// sends tells whether a campaign has a pending member that is one of the input's too.
func (c *campaigns) sends(ctx context.Context, id siding.CampaignID, input siding.InputID) (bool, error) {
	if c.without[id] {
		return false, nil
	}
	const batch = 500
	ids := make([]string, 0, batch)
	mine := func() (bool, error) {
		if len(ids) == 0 {
			return false, nil
		}
		for _, err := range c.store.List(ctx, siding.Selection{
			Queue: c.queue, IDs: ids, States: []siding.State{siding.StateDead}, Input: input, Limit: 1,
		}) {
			return err == nil, err
		}
		ids = ids[:0]
		return false, nil
	}
	for m, err := range c.store.CampaignMembers(ctx, id, siding.MemberPending) {
		switch {
		case err != nil && m.ID == "":
			return false, err
		case err != nil || m.Queue != c.queue:
			continue
		}
		if ids = append(ids, m.ID); len(ids) == batch {
			if yes, err := mine(); yes || err != nil {
				return yes, err
			}
		}
	}
	yes, err := mine()
	c.without[id] = !yes && err == nil
	return yes, err
}
