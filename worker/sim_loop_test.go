package worker

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/memory"
)

// A history is one run of the simulation. Exactly one goroutine runs at a time: the loop, or a handler that the loop has
// let go on until it waits again.
type history struct {
	seed   uint64
	rng    *rand.Rand
	start  time.Time
	skew   time.Duration // of the wall clock
	events queue
	seq    int64

	limit int // how many disturbances there may be
	acts  int // how many there were
	calm  bool

	campaigns int // that are not over

	db      *memory.Store // the operator's own handle, which never dies
	service *claudesim.Server
	procs   []*simProc
	busy    *simProc // whose write is under way

	world  conditions
	ledger ledger
	cover  simCover

	waiters   map[*waiter]bool // of handlers that have not returned
	mu        sync.Mutex
	cancelled []*waiter // handlers whose contexts have ended while they wait
	poke      chan struct{}

	lines  []string
	broken string
	over   bool
}

func newHistory(seed uint64, limit int) *history {
	return &history{
		seed: seed, limit: limit, rng: rand.New(rand.NewPCG(seed, 0x51e1)),
		cover: newCover(), waiters: map[*waiter]bool{},
	}
}

func (h *history) now() time.Duration { return time.Since(h.start) }

// log notes what happens; the lines are what a history is compared by.
func (h *history) log(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf("%12v  ", h.now())+fmt.Sprintf(format, args...))
}

func (h *history) hash() string {
	sum := sha256.Sum256([]byte(strings.Join(h.lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// breaks notes that a rule is broken, and ends the history.
func (h *history) breaks(format string, args ...any) {
	if h.broken == "" {
		h.broken = fmt.Sprintf(format, args...)
		h.log("BROKEN: %s", h.broken)
	}
	h.over = true
}

// disturb tells whether one more disturbance may happen, with a probability.
func (h *history) disturb(p float64, what string) bool {
	if h.rng.Float64() >= p || h.calm || h.acts >= h.limit {
		return false
	}
	h.acts++
	h.cover.count(what)
	return true
}

// dice gives a duration of up to most, mostly short.
func (h *history) dice(most time.Duration) time.Duration {
	f := h.rng.Float64()
	return time.Duration(f * f * f * float64(most))
}

// An event is something that happens at a time; those of one time in the order in which they were planned.
type event struct {
	at  time.Duration
	seq int64
	do  func()
}

type queue []*event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].seq, q[j].seq)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*event)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func (h *history) after(d time.Duration, do func()) *event {
	h.seq++
	e := &event{at: h.now() + max(d, 0), seq: h.seq, do: do}
	heap.Push(&h.events, e)
	return e
}

// The longest history, and the most events of one, so that a loop without end is found.
const (
	simLongest = 30 * 24 * time.Hour
	simEvents  = 100_000
)

// loop lets things happen until nothing is left to happen.
func (h *history) loop() {
	for n := 0; !h.over; n++ {
		if n > simEvents || h.now() > simLongest {
			h.breaks("it does not end: %d events in %v; %s", n, h.now(), h.left())
			return
		}
		synctest.Wait() // contexts that have ended by now have told so
		h.hear()
		if w := h.nextCancelled(); w != nil {
			w.resume(wokeCancelled)
			continue
		}
		if len(h.events) == 0 {
			h.breaks("nothing is left to happen, and it is not over; %s", h.left())
			return
		}
		e := h.events[0]
		if wait := e.at - h.now(); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-h.poke:
			}
			timer.Stop()
			continue
		}
		heap.Pop(&h.events)
		if e.do != nil {
			e.do()
		}
	}
}

func (h *history) left() string {
	var text []string
	for l, err := range h.db.List(context.Background(), siding.Selection{}) {
		if err == nil && l.State != siding.StateDone && l.State != siding.StateDead && l.State != siding.StateDiscarded {
			text = append(text, fmt.Sprintf("%s is %s at %v (attempt %d, waits %d)", l.ID, l.State, l.AvailableAt.Sub(h.start), l.Attempt, l.Waits))
		}
	}
	gates, _ := h.db.Gates(context.Background())
	for _, g := range gates {
		if !g.Open() {
			text = append(text, fmt.Sprintf("gate %s: hold %+v, probe %v", g.Key.Scope, g.Hold, g.Probe))
		}
	}
	return strings.Join(text, "; ")
}

// A waiter is a handler. It runs when the loop lets it, and rests in between until its time has come, its context ends
// or its process dies. One that waits for something of its own meanwhile (another handler, a timer) has strayed: it is
// heard of again when it next wants to rest.
type waiter struct {
	h      *history
	order  int64
	woken  chan wake
	asks   chan rest // to the loop
	wakes  *event    // planned
	rests  bool
	strays bool
	result func() // what the handler came to, for the loop
}

// A rest is what a handler asks of the loop.
type rest struct {
	ctx   context.Context // whose end wakes it; nil: nothing does
	until func() time.Duration
	over  bool // it has returned, and will not go on
}

type wake int

const (
	wokeTime wake = iota
	wokeCancelled
)

// resume lets a handler that rests go on, until it rests again, has returned, or waits for something else.
func (w *waiter) resume(why wake) {
	if !w.rests {
		return
	}
	w.rests = false
	if w.wakes != nil {
		w.wakes.do = nil
		w.wakes = nil
	}
	w.woken <- why
	w.listen()
}

// listen hears what the handler asks for, if it asks by now.
func (w *waiter) listen() {
	synctest.Wait()
	select {
	case r := <-w.asks:
		w.strays = false
		w.rest(r)
	default:
		w.strays = true
	}
}

func (w *waiter) rest(r rest) {
	if r.over {
		delete(w.h.waiters, w)
		if w.result != nil {
			w.result()
		}
		return
	}
	w.rests = true
	if d := r.until(); d < simLongest {
		w.wakes = w.h.after(d, func() { w.resume(wokeTime) })
	}
}

// pause is called by the handler: it rests for a time that the loop finds out, or for less when its context ends.
func (w *waiter) pause(ctx context.Context, d func() time.Duration) error {
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() {
			w.h.mu.Lock()
			w.h.cancelled = append(w.h.cancelled, w)
			w.h.mu.Unlock()
			w.h.wakeLoop()
		})
	}
	w.h.wakeLoop()
	w.asks <- rest{ctx: ctx, until: d}
	why := <-w.woken
	stop()
	if why == wokeCancelled {
		return context.Cause(ctx)
	}
	return nil
}

// wakeLoop makes the loop look, where it waits for time to pass.
func (h *history) wakeLoop() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// hear listens to the handlers that had strayed, in order.
func (h *history) hear() {
	for _, w := range h.inOrder() {
		if w.strays {
			w.listen()
		}
	}
}

func (h *history) inOrder() []*waiter {
	return slices.SortedFunc(maps.Keys(h.waiters), func(a, b *waiter) int { return cmp.Compare(a.order, b.order) })
}

// release ends the handlers that are left, so that nothing outlives the history.
func (h *history) release() {
	for _, p := range h.procs {
		p.dead, p.killed = true, true
	}
	for len(h.waiters) > 0 {
		for _, w := range h.inOrder() {
			w.resume(wokeCancelled)
		}
		if h.hear(); slices.ContainsFunc(h.inOrder(), func(w *waiter) bool { return w.strays }) {
			time.Sleep(time.Second)
		}
	}
	synctest.Wait()
}

func (h *history) nextCancelled() *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortFunc(h.cancelled, func(a, b *waiter) int { return cmp.Compare(a.order, b.order) })
	for len(h.cancelled) > 0 {
		w := h.cancelled[0]
		h.cancelled = h.cancelled[1:]
		if w.rests {
			return w
		}
	}
	return nil
}
