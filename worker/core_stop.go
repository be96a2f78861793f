package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// How long StopNow waits for cancelled handlers, and for everything.
const (
	hastyPatience = 500 * time.Millisecond
	hastyEnd      = time.Second
)

// stopping is the core's state about the end of the run.
type stopping struct {
	asked     bool  // nothing is leased or handed over any more
	err       error // why, for Run
	held      bool
	closed    bool // the store is gone: nothing can be written
	cancelled bool // the handlers' contexts

	graceUntil time.Duration // then handlers are cancelled
	abandonAt  time.Duration // then handlers that ignore it are left behind
	settleBy   time.Duration // then the run ends, whatever is left
	unsettled  int           // outcomes that were given up
}

// beginStop ends the leasing, and gives back what was not handed over.
func (c *core) beginStop(err error) {
	s := &c.stop
	if s.err == nil {
		s.err = err
	}
	if s.asked {
		return
	}
	s.asked = true
	c.tell(Stopping{err})
	for _, k := range ordered(c.calls) {
		for _, j := range k.rest {
			c.giveBack(j)
		}
		k.rest = nil
	}
}

// stopGracefully lets handlers finish within the grace time.
func (c *core) stopGracefully(err error) {
	c.beginStop(err)
	c.stop.graceUntil = min(c.stop.graceUntil, after(c.now, c.cfg.Grace))
}

// stopNow cancels the handlers, writes what can be written within a second, and ends.
func (c *core) stopNow() {
	c.beginStop(nil)
	c.stop.abandonAt = min(c.stop.abandonAt, after(c.now, hastyPatience))
	c.stop.settleBy = min(c.stop.settleBy, after(c.now, hastyEnd))
	c.cancelAll()
}

// stopClosed ends the run because the store is gone. What handlers come to cannot be written any more.
func (c *core) stopClosed(err error) {
	c.stop.closed = true
	c.beginStop(err)
	c.cancelAll()
}

func (c *core) cancelAll() {
	if c.stop.cancelled {
		return
	}
	c.stop.cancelled = true
	c.stop.abandonAt = min(c.stop.abandonAt, after(c.now, c.cfg.SettleTimeout/2))
	for _, k := range ordered(c.calls) {
		c.cancel(k, siding.ErrShutdown)
	}
}

func (c *core) stopDue() time.Duration {
	s := &c.stop
	switch {
	case !s.asked:
		return forever
	case len(c.calls) == 0:
		return s.settleBy
	case s.cancelled:
		return min(s.abandonAt, s.settleBy)
	}
	return min(s.graceUntil, s.settleBy)
}

func (c *core) stopStep() {
	s := &c.stop
	if !s.asked {
		return
	}
	if c.now >= s.graceUntil {
		c.cancelAll()
	}
	if c.now >= s.abandonAt {
		for _, k := range ordered(c.calls) {
			c.abandon(k)
		}
	}
	if len(c.calls) == 0 && s.settleBy == forever {
		s.settleBy = after(c.now, c.cfg.SettleTimeout)
	}
}

// abandon leaves a handler behind that ignores its cancelled context. Its messages go back to the queue.
func (c *core) abandon(k *call) {
	for _, j := range k.jobs {
		c.tell(Abandoned{j.delivery})
		c.settleWith(j, siding.Result{}, interrupted(siding.ErrShutdown))
	}
	delete(c.calls, k.id)
}

// finishStep ends the run when nothing is left to do, or no time.
func (c *core) finishStep() bool {
	s := &c.stop
	done := c.drained || s.asked && len(c.jobs) == 0 && !c.lease.busy
	if !done && !(s.asked && c.now >= s.settleBy) {
		return false
	}
	err := s.err
	if err == nil && c.cfg.Drain && !c.drained {
		err = siding.ErrShutdown
	}
	if n := s.unsettled + len(c.jobs); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d outcomes could not be written; their messages will be delivered again", n))
	}
	c.finished = true
	c.do(cmdFinish{err})
	return true
}
