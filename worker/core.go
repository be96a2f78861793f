package worker

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

const (
	reapEvery  = 5 * time.Second
	faultDelay = 100 * time.Millisecond // first rest after an error of the store; doubles
	faultCap   = 5 * time.Second
)

// core decides what a worker does next. It has no clock, starts nothing and waits for nothing: step takes in what has
// happened and gives what is to be done. The same news at the same times give the same commands, from the same seed.
type core struct {
	cfg Config
	rng *rand.Rand
	now time.Duration // since the start
	out []command

	jobs    map[int64]*job  // by seq: all that is leased
	calls   map[int64]*call // by id: all that runs
	lastSeq int64
	lastID  int64
	retries int // how many jobs have failed before
	solo    int // how many are to be alone in the process

	lease  leasing
	settle settling
	extend extending
	gate   gating
	window window
	pace   pacing
	stop   stopping

	reaping  bool
	reapAt   time.Duration
	armed    time.Duration
	idle     bool // has been told
	drained  bool
	finished bool
}

func newCore(cfg Config, seed uint64) *core {
	return &core{
		cfg: cfg, rng: rand.New(rand.NewPCG(seed, 0x51d1)), armed: forever,
		jobs: map[int64]*job{}, calls: map[int64]*call{}, window: newWindow(cfg), gate: gating{nudged: !cfg.anyWatched()},
		stop: stopping{graceUntil: forever, abandonAt: forever, settleBy: forever},
	}
}

// step takes in the news of one moment and gives the commands to carry out, in order. at is the time since the start; it
// never runs backwards. After cmdFinish it gives nothing.
func (c *core) step(at time.Duration, all ...news) []command {
	if c.finished {
		return nil
	}
	c.out = nil
	c.now = max(c.now, at)
	if c.armed <= c.now {
		c.armed = forever
	}
	for _, n := range all {
		c.take(n)
	}
	c.stopStep()
	c.extendStep()
	c.settleStep()
	c.nudgeStep()
	c.leaseStep()
	c.reapStep()
	if c.finishStep() {
		return c.out
	}
	c.arm()
	return c.out
}

func (c *core) take(n news) {
	switch n := n.(type) {
	case newsTime:
	case newsNudged:
		c.onNudged(n)
	case newsLeased:
		c.onLeased(n)
	case newsEnded:
		c.onEnded(n)
	case newsExtended:
		c.onExtended(n)
	case newsSettled:
		c.onSettled(n)
	case newsReaped:
		c.onReaped(n)
	case newsWake:
		c.leaseSoon()
	case newsStop:
		c.stopGracefully(nil)
	case newsStopNow:
		c.stopNow()
	default:
		panic(fmt.Sprintf("worker: unknown news %T", n))
	}
}

func (c *core) do(cmd command) { c.out = append(c.out, cmd) }
func (c *core) tell(e Event)   { c.do(cmdNotify{e}) }

// arm asks to be woken at the earliest time at which something will be due.
func (c *core) arm() {
	next := min(c.nudgeDue(), c.leaseDue(), c.settleDue(), c.extendDue(), c.stopDue())
	if !c.reaping && !c.stop.asked {
		next = min(next, c.reapAt)
	}
	if next != c.armed {
		c.armed = next
		c.do(cmdTimer{next})
	}
}

func (c *core) reapStep() {
	if c.reaping || c.stop.asked || c.now < c.reapAt {
		return
	}
	c.reaping = true
	c.do(cmdReap{})
}

func (c *core) onReaped(n newsReaped) {
	c.reaping = false
	c.reapAt = after(c.now, reapEvery)
	switch {
	case n.err != nil:
		c.tell(StoreFault{Op: "reap", Err: n.err, Again: reapEvery})
	case n.n > 0:
		c.tell(Reaped{n.n})
		c.leaseSoon()
	}
}

// fault counts errors of the store in a row.
type fault struct {
	n     int
	since time.Duration
}

// failed notes an error of the store and gives the time of the next try. It ends the run where going on makes no sense.
func (c *core) failed(f *fault, op string, err error) time.Duration {
	if f.n == 0 {
		f.since = c.now
	}
	f.n++
	if hopeless(err) {
		c.tell(StoreFault{Op: op, Err: err})
		c.stopClosed(fmt.Errorf("%s: %w", op, err))
		return forever
	}
	b := siding.Backoff{Base: faultDelay, Factor: 2, Cap: faultCap, Jitter: 0.3}
	d := b.Delay(f.n-1, 0, c.rng.Float64())
	c.tell(StoreFault{Op: op, Err: err, Again: d})
	if lasted := c.now - f.since; c.cfg.GiveUp > 0 && lasted >= c.cfg.GiveUp {
		c.stopGracefully(fmt.Errorf("%s: the store has failed for %v: %w", op, lasted.Round(time.Second), err))
	}
	return after(c.now, d)
}

func (c *core) addJob(d *siding.Delivery, leasedAt time.Duration) *job {
	c.lastSeq++
	j := &job{
		seq: c.lastSeq, delivery: d, token: d.Token, retry: d.Attempt > 0,
		leasedUntil: after(leasedAt, c.cfg.Lease), extendAt: after(leasedAt, c.cfg.Lease/3),
	}
	c.jobs[j.seq] = j
	if j.retry {
		c.retries++
	}
	if d.Solo {
		c.solo++
	}
	c.extend.at = min(c.extend.at, j.extendAt)
	return j
}

// dropJob forgets a job whose settlement is over.
func (c *core) dropJob(j *job) {
	delete(c.jobs, j.seq)
	if j.retry {
		c.retries--
	}
	if j.delivery.Solo {
		c.solo--
	}
	if len(c.jobs) == 0 && c.cfg.Drain {
		c.leaseSoon() // it may have been the last
	}
}

func ordered[K cmp.Ordered, V any](m map[K]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}
