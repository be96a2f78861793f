package sqlite

import (
	"sync"
	"time"
)

// clock is the store's time: the wall clock plus an offset. It never runs backwards and never stands still: when the
// wall clock does not lie after the last time given out, the offset is raised, so that from then on the store's time
// goes on at the wall clock's pace. The last time and the offset are stored by every write transaction, and read by the
// next, in whichever process.
type clock struct {
	wall func() time.Time

	mu           sync.Mutex
	last, offset int64 // microseconds
}

// learn takes over what the store says, where that is later.
func (c *clock) learn(last, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.offset = max(c.last, last), max(c.offset, offset)
}

// tick gives the next moment, in microseconds.
func (c *clock) tick() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall := c.wall().UnixMicro()
	now := wall + c.offset
	if now <= c.last {
		now = c.last + 1
		c.offset = now - wall
	}
	c.last = now
	return now
}

// jumpLeast is how far the wall clock must lie behind to count as set back: clocks of processes that have just written
// differ by less.
const jumpLeast = 10_000

// jumped tells whether the wall clock has been set back since it was last looked at.
func (c *clock) jumped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall().UnixMicro()+c.offset < c.last-jumpLeast
}

// peek gives the time without moving it: for looking, not for deciding.
func (c *clock) peek() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.last, c.wall().UnixMicro()+c.offset)
}

// state gives what is to be stored.
func (c *clock) state() (last, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.offset
}
