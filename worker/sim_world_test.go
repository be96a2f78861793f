package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
	"github.com/siding-dev/siding/claudesim"
	"github.com/siding-dev/siding/memory"
)

const simQueue = "q"

// The natures of messages: what they are is in their IDs, which nobody but the model reads, and in their texts, which
// the service reads.
const (
	natureFine    = "fine"    // answered well, when the service works
	natureRefused = "refused" // refused each time
	natureOff     = "off"     // its answer never fits the schema
	natureLong    = "long"    // its answer needs more tokens than the recipe gives at first
	natureFlaky   = "flaky"   // fails twice with a server error
	natureCut     = "cut"     // the connection is cut after the work, once
	natureStall   = "stall"   // no answer comes, once
	natureBroken  = "broken"  // not JSON
	natureBytes   = "bytes"   // not UTF-8
	natureLacking = "lacking" // without the field that the prompt needs
	naturePanic   = "panic"   // the handler panics over it
	natureKiller  = "killer"  // kills the process that handles it
)

var natures = []string{
	natureFine, natureFine, natureFine, natureFine, natureRefused, natureOff, natureLong, natureFlaky, natureCut, natureStall,
	natureBroken, natureBytes, natureLacking, naturePanic, natureKiller,
}

func kind(id string) string {
	name, _, _ := strings.Cut(id, "-")
	return name
}

func body(nature, id string) []byte {
	switch nature {
	case natureBroken:
		return []byte(`{"title": "` + id + `", "note": "unfinished`)
	case natureBytes:
		return []byte("{\"title\": \"" + id + " \xff\xfe\"}")
	case natureLacking:
		return []byte(`{"name": "` + id + `"}`)
	}
	return []byte(`{"title": "record ` + id + `"}`)
}

// Conditions are what stays the same in one history.
type conditions struct {
	recipe      claude.Config
	policy      siding.Policy
	gates       siding.GateKeys
	concurrency int
	lease       time.Duration
	faults      float64       // how often a write fails
	kills       float64       // how often it is the last of its process
	slow        time.Duration // the longest a write takes
	made        int
}

// begin makes the world of a history, and plans what will disturb it.
func (h *history) begin() {
	r := h.rng
	w := &h.world
	w.policy = siding.DefaultPolicy()
	w.policy.MaxRetries = r.IntN(4)
	w.policy.GrayRetries = r.IntN(3)
	if r.IntN(3) == 0 {
		w.policy.Gray = []siding.Cause{siding.CauseRefused}
	}
	w.concurrency = 1 + r.IntN(5)
	w.lease = time.Duration(2+r.IntN(60)) * time.Second
	w.faults, w.kills = []float64{0, 0, 0.02, 0.1}[r.IntN(4)], []float64{0, 0.002, 0.02}[r.IntN(3)]
	h.limit = min(h.limit, r.IntN(60))
	w.slow = []time.Duration{time.Millisecond, 50 * time.Millisecond, 3 * time.Second}[r.IntN(3)]
	w.recipe = claude.Config{
		Model: "claude-haiku-4-5", MaxTokens: 64, Prompt: "Tag {{.title}}", Timeout: time.Duration(5+r.IntN(60)) * time.Second,
		EventHeader: "x-event-id",
		Output:      claude.Output{Schema: []byte(`{"type":"object","properties":{"tag":{"type":"string"}},"required":["tag"],"additionalProperties":false}`)},
	}
	if r.IntN(8) == 0 {
		w.recipe.OnUnknown = siding.UnknownQuarantine
	}
	if r.IntN(8) == 0 {
		w.recipe.Budget = siding.Money(1+r.IntN(40)) * 100_000_000
	}
	h.db = memory.Open(memory.Options{Simulated: true, Clock: func() time.Time { return time.Now().Add(h.skew) }, Hook: h.hook})
	h.ledger = newLedger(h)
	service, err := claudesim.New(h.profile(), claudesim.Options{Clock: time.Now, KeepCalls: 1000, Sleep: func(ctx context.Context, d time.Duration) error {
		return waiterOf(ctx).pause(ctx, func() time.Duration { return d })
	}})
	if err != nil {
		h.breaks("making the service: %v", err)
		return
	}
	h.service = service
	h.enqueue(3 + r.IntN(14))
	for range 1 + r.IntN(2) {
		h.startProcess(false)
	}
	for range r.IntN(16) {
		h.after(h.dice(10*time.Minute), h.meddle)
	}
	h.after(time.Duration(r.IntN(600))*time.Second, h.settleDown)
}

// profile plans the faults of the service.
func (h *history) profile() *claudesim.Profile {
	r := h.rng
	share := func(most float64) *float64 { s := r.Float64() * r.Float64() * most; return &s }
	rule := func(text string, do claudesim.Do) claudesim.Rule {
		return claudesim.Rule{When: claudesim.When{Text: "record " + text}, Do: do}
	}
	once := func(n int64, x claudesim.Rule) claudesim.Rule {
		x.When.Attempts = &claudesim.Span{From: 1, To: n}
		return x
	}
	p := &claudesim.Profile{
		Seed:    r.Uint64(),
		Latency: claudesim.Latency{Fixed: time.Duration(r.IntN(2000)) * time.Millisecond, Jitter: time.Duration(r.IntN(3000)) * time.Millisecond},
		Faults: []claudesim.Rule{
			rule(natureRefused, claudesim.Do{Fault: "stop", Reason: "refusal"}),
			rule(natureOff, claudesim.Do{Fault: "off-schema"}),
			rule(natureLong, claudesim.Do{Fault: "long", Tokens: int64(60 + r.IntN(300))}),
			once(2, rule(natureFlaky, claudesim.Do{Fault: "error", ID: "500"})),
			once(1, rule(natureCut, claudesim.Do{Fault: "cut", At: []string{"before", "inside", "after"}[r.IntN(3)]})),
			once(1, rule(natureStall, claudesim.Do{Fault: "stall"})),
		},
	}
	if r.IntN(3) == 0 {
		p.Abandoned = "unbilled"
	}
	if r.IntN(3) == 0 {
		p.Faults = append(p.Faults, claudesim.Rule{Name: "rough", When: claudesim.When{Share: share(0.5)}, Do: claudesim.Do{Fault: "error", ID: "500"}})
	}
	if r.IntN(3) == 0 {
		p.Faults = append(p.Faults, claudesim.Rule{Name: "cuts", When: claudesim.When{Share: share(0.4)}, Do: claudesim.Do{Fault: "cut", At: "after"}})
	}
	if r.IntN(3) == 0 {
		from := time.Duration(r.IntN(60)) * time.Second
		p.Faults = slices.Insert(p.Faults, 0, claudesim.Rule{
			Name: "outage", When: claudesim.When{From: from, Until: from + time.Duration(1+r.IntN(900))*time.Second},
			Do: claudesim.Do{Fault: "error", ID: []string{"529", "503"}[r.IntN(2)]},
		})
	}
	if r.IntN(4) == 0 {
		p.Limits.Requests = &claudesim.Rate{Amount: int64(10 + r.IntN(100)), Per: time.Minute, Burst: 10}
	}
	return p
}

// enqueue puts records in, some of them again.
func (h *history) enqueue(n int) {
	var list []siding.NewMessage
	for range n {
		nature := natures[h.rng.IntN(len(natures))]
		h.world.made++
		id := fmt.Sprintf("%s-%d", nature, h.world.made)
		list = append(list, siding.NewMessage{ID: id, Body: body(nature, id)})
		if h.rng.IntN(6) == 0 {
			list = append(list, siding.NewMessage{ID: id, Body: body(nature, id)}) // delivered twice by its producer
		}
	}
	for try := 0; ; try++ { // as a producer does
		err := h.write(nil, "Enqueue", func() error {
			_, err := h.db.Enqueue(context.Background(), simQueue, siding.EnqueueOptions{}, list...)
			return err
		})
		if err == nil || try > 50 {
			return
		}
	}
}

// meddle is one thing that an operator does, or that befalls the machine.
func (h *history) meddle() {
	if h.calm || h.over {
		return
	}
	living := h.living()
	switch h.rng.IntN(11) {
	case 0:
		if len(living) > 0 && h.disturb(1, "kill") {
			living[h.rng.IntN(len(living))].kill("by the operator")
		}
	case 1:
		if len(living) > 0 && h.disturb(1, "stop") {
			living[h.rng.IntN(len(living))].stop(h.rng.IntN(2) == 0)
		}
	case 2:
		if h.disturb(1, "clock") {
			h.skew += time.Duration(h.rng.IntN(600)-300) * time.Second
			h.log("the wall clock jumps to %v", h.skew)
		}
	case 3:
		h.operate("redrive", siding.StateDead, func(id string) { _, _ = h.db.Redrive(context.Background(), simQueue, id) })
	case 4:
		h.operate("discard", "", func(id string) { _, _ = h.db.Discard(context.Background(), simQueue, "not wanted", id) })
	case 5:
		if h.disturb(1, "resume") {
			h.resumeAll(h.rng.IntN(3) == 0)
		}
	case 6:
		if h.disturb(1, "more") {
			h.enqueue(1 + h.rng.IntN(4))
		}
	case 7:
		if h.disturb(1, "restart") {
			h.log("the machine restarts")
			for _, p := range living {
				p.killed = true
				p.end(nil)
			}
			h.db.Restart()
			_ = h.write(nil, "open", func() error { h.db = h.db.Another(); return nil })
			h.after(h.dice(time.Minute), func() { h.startProcess(h.calm) })
		}
	case 8:
		h.mendByHand()
	case 9:
		if h.disturb(1, "campaign") {
			h.campaign()
		}
	case 10:
		if h.disturb(1, "account") {
			h.account(true)
			h.after(h.dice(time.Hour), func() { h.account(false) })
		}
	}
}

// operate does something to one message in a state, or in any.
func (h *history) operate(what string, state siding.State, do func(id string)) {
	var ids []string
	for l, err := range h.db.List(context.Background(), siding.Selection{}) {
		if err == nil && (state == "" || l.State == state) {
			ids = append(ids, l.ID)
		}
	}
	if len(ids) == 0 || !h.disturb(1, what) {
		return
	}
	id := ids[h.rng.IntN(len(ids))]
	h.log("the operator: %s %s", what, id)
	_ = h.write(nil, what, func() error { do(id); return nil })
}

// account lets the credit run out, or fills it up again.
func (h *history) account(down bool) {
	if h.over {
		return
	}
	p := h.service.Profile()
	p.Extends = ""
	p.Faults = slices.DeleteFunc(p.Faults, func(r claudesim.Rule) bool { return r.Name == "credit" })
	if down {
		p.Faults = slices.Insert(p.Faults, 0, claudesim.Rule{Name: "credit", Do: claudesim.Do{
			Fault: "error", ID: "credit",
		}})
	}
	if err := h.service.SetProfile(&p); err != nil {
		h.breaks("changing the service: %v", err)
	}
	h.log("credit gone: %v", down)
}

func (h *history) resumeAll(asPoison bool) {
	gates, err := h.db.Gates(context.Background())
	if err != nil {
		return
	}
	for _, g := range gates {
		if g.Hold != nil {
			h.log("the operator: resume %s (as poison: %v)", g.Key.Scope, asPoison)
			_ = h.write(nil, "Resume", func() error { return h.db.Resume(context.Background(), g.Key, asPoison) })
		}
	}
}

func (h *history) resumeEvery(d time.Duration) {
	h.resumeAll(false)
	h.after(d, func() { h.resumeEvery(d) })
}

// ended: a process has ended by itself. Somebody starts another, until everything is done.
func (h *history) ended(p *simProc, err error) {
	if p.drain && err == nil && h.campaigns == 0 {
		h.over = true
		return
	}
	if h.calm && len(h.living()) > 0 {
		return
	}
	wait := h.dice(time.Minute) + time.Second
	if asHeldError(err) {
		wait += time.Duration(1+h.rng.IntN(60)) * time.Minute
		if h.calm {
			h.after(wait/2, func() { h.resumeAll(false) })
		}
	}
	h.after(wait, func() {
		if !h.calm || len(h.living()) == 0 {
			h.startProcess(h.calm)
		}
	})
}

// settleDown ends all disturbances: from here on, everything has to come to its end.
func (h *history) settleDown() {
	h.log("from now on nothing disturbs")
	h.calm = true
	h.account(false)
	p := h.service.Profile()
	p.Extends = ""
	p.Faults = slices.DeleteFunc(p.Faults, func(r claudesim.Rule) bool { return r.Name == "rough" || r.Name == "cuts" || r.Name == "outage" })
	if err := h.service.SetProfile(&p); err != nil {
		h.breaks("changing the service: %v", err)
		return
	}
	h.world.recipe.Budget = 0
	for _, p := range h.living() {
		p.stop(false)
	}
	// Five different messages that fail with no success between them are an outage, also where they are all at fault
	// themselves: an operator has to say so.
	h.after(time.Hour, func() { h.resumeEvery(10 * time.Minute) })
	h.after(time.Minute, func() {
		if len(h.living()) == 0 && !h.over {
			h.startProcess(true)
		}
	})
}
