package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/quarantine"
)

// A simProc is a process with one worker.
type simProc struct {
	h      *history
	name   string
	store  *memory.Store
	worker *Worker
	core   *core
	began  time.Duration
	timer  *event
	calls  map[int64]*simCall
	driver *quarantine.Driver
	drain  bool // it ends when nothing is left
	dead   bool // killed, or ended
	killed bool
	dying  bool // the write under way is its last
}

type simCall struct {
	cancel context.CancelCauseFunc
	*waiter
}

var errSim = errors.New("the disk is on fire")

// startProcess opens the store and begins to work. drain: it ends when nothing is left.
func (h *history) startProcess(drain bool) {
	p := &simProc{h: h, name: fmt.Sprintf("p%d", len(h.procs)+1), calls: map[int64]*simCall{}, began: h.now(), drain: drain}
	h.procs = append(h.procs, p)
	h.write(nil, "open", func() error {
		p.store = h.db.Another()
		return nil
	})
	info, err := p.store.Info(context.Background())
	if err != nil {
		h.breaks("opening the store: %v", err)
		return
	}
	c := h.world.recipe
	c.Journal, c.StoreID, c.APIKey, c.BaseURL, c.Clock = simJournal{p.store, p}, info.ID, "sk-sim", "http://service.sim", time.Now
	c.HTTPClient = &http.Client{Transport: simTransport{h}}
	handler, err := claude.New(c)
	if err != nil {
		h.breaks("making the handler: %v", err)
		return
	}
	gates := handler.Gates()
	gates.Lane = siding.GateKey{Scope: siding.ScopeLane, Name: handler.Lane()}
	gates.Recipe = siding.GateKey{Scope: siding.ScopeRecipe, Name: simQueue + "@" + handler.Digest()}
	h.world.gates = gates
	cfg := Config{
		Queue: simQueue, Handler: simHandler{p, handler}, Policy: h.world.policy, Concurrency: h.world.concurrency, Lease: h.world.lease,
		Drain: drain, Poll: 20 * time.Second, Name: p.name, Digest: handler.Digest(), Gates: gates, Seed: h.rng.Uint64() | 1,
		Wait: func(hold siding.Hold) time.Duration {
			if hold.SelfEnding() {
				return 48 * time.Hour
			}
			return 0
		},
	}
	if p.worker, err = New(p.store, cfg); err != nil {
		h.breaks("making the worker: %v", err)
		return
	}
	p.core = newCore(p.worker.cfg, p.worker.cfg.Seed)
	h.log("%s begins (drain %v)", p.name, drain)
	p.step()
}

func (p *simProc) step(all ...news) {
	if p.dead || p.h.over {
		return
	}
	for _, cmd := range p.core.step(p.h.now()-p.began, all...) {
		p.execute(cmd)
	}
}

func (p *simProc) execute(cmd command) {
	h := p.h
	switch cmd := cmd.(type) {
	case cmdNudge:
		p.ask("Nudge", func() (news, error) {
			err := p.store.Nudge(context.Background(), cmd.keys)
			return newsNudged{err}, err
		}, func(err error) news { return newsNudged{err} })
	case cmdLease:
		p.ask("Lease", func() (news, error) {
			leased, err := p.store.Lease(context.Background(), cmd.request)
			return newsLeased{leased, err}, err
		}, func(err error) news { return newsLeased{err: err} })
	case cmdStart:
		p.startCall(cmd)
	case cmdCancel:
		if call := p.calls[cmd.call]; call != nil {
			call.cancel(cmd.cause)
		}
	case cmdExtend:
		p.ask("Extend", func() (news, error) {
			errs, err := p.store.Extend(context.Background(), cmd.by, cmd.tokens...)
			return newsExtended{errs, err}, err
		}, func(err error) news { return newsExtended{err: err} })
	case cmdSettle:
		p.ask("Settle", func() (news, error) {
			settled, err := p.store.Settle(context.Background(), cmd.settlements...)
			return newsSettled{settled, err}, err
		}, func(err error) news { return newsSettled{err: err} })
	case cmdReap:
		p.ask("Reap", func() (news, error) {
			n, err := p.store.Reap(context.Background())
			return newsReaped{n, err}, err
		}, func(err error) news { return newsReaped{err: err} })
	case cmdTimer:
		if p.timer != nil {
			p.timer.do = nil
		}
		p.timer = nil
		if cmd.at < simLongest {
			p.timer = h.after(cmd.at-(h.now()-p.began), func() { p.step(newsTime{}) })
		}
	case cmdNotify:
		if s, ok := cmd.event.(Settled); ok {
			text := "done"
			if s.Failure != nil {
				text = fmt.Sprintf("%s %s: %s", s.Decision.Outcome, s.Failure.Cause, brief(s.Failure))
			}
			h.log("%s settled %s #%d → %s (%s)", p.name, s.Delivery.ID, s.Delivery.Number, s.Decision.State, text)
		}
	case cmdFinish:
		h.log("%s ends: %s", p.name, brief(cmd.err))
		p.end(cmd.err)
	}
}

// ask calls the store after a while, and gives the worker its answer after another. An answer may get lost.
func (p *simProc) ask(op string, call func() (news, error), failed func(error) news) {
	h := p.h
	h.after(h.latency(), func() {
		if p.dead {
			return
		}
		var n news
		err := h.write(p, op, func() (err error) {
			n, err = call()
			return err
		})
		if err != nil {
			n = failed(err)
		}
		if p.dead {
			return
		}
		h.after(h.latency(), func() { p.step(n) })
	})
}

// startCall runs the handler in a goroutine that the loop lets go on step by step.
func (p *simProc) startCall(cmd cmdStart) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p.h.seq++
	w := &waiter{h: p.h, order: p.h.seq, woken: make(chan wake), asks: make(chan rest)}
	p.calls[cmd.call] = &simCall{cancel, w}
	p.h.waiters[w] = true
	go func() {
		defer func() {
			p.h.wakeLoop()
			w.asks <- rest{over: true}
		}()
		p.worker.call(withWaiter(ctx, w), cmd.call, cmd.deliveries, func(n news) {
			w.result = func() {
				delete(p.calls, cmd.call)
				cancel(nil)
				p.step(n)
			}
		})
	}()
	w.listen()
}

// brief gives the beginning of an error, without what differs from one process to the next: names made of the store's
// random ID, and stacks.
func brief(err error) string {
	if err == nil {
		return "nothing is left"
	}
	if held, ok := errors.AsType[*HeldError](err); ok {
		var all []string
		for _, g := range held.Holds {
			all = append(all, fmt.Sprintf("%s (%s)", g.Key.Scope, g.Hold.Kind))
		}
		return "held: " + strings.Join(all, ", ")
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(len(text), 100)]
}

type waiterKey struct{}

func withWaiter(ctx context.Context, w *waiter) context.Context {
	return context.WithValue(ctx, waiterKey{}, w)
}

func waiterOf(ctx context.Context) *waiter {
	w, _ := ctx.Value(waiterKey{}).(*waiter)
	return w
}

// kill ends a process as kill -9 does, at this very moment. Its handlers go no further than their next step.
func (p *simProc) kill(why string) {
	if p.dead {
		return
	}
	p.h.log("%s is killed: %s", p.name, why)
	p.h.ledger.dies(p)
	p.store.Kill()
	p.killed = true
	p.end(nil)
	p.h.after(p.h.dice(20*time.Second), func() {
		if !p.h.calm || len(p.h.living()) == 0 {
			p.h.startProcess(p.h.calm)
		}
	})
}

func (p *simProc) end(err error) {
	h := p.h
	p.dead = true
	if p.timer != nil {
		p.timer.do = nil
	}
	if !p.killed {
		_ = p.store.Close()
		h.ended(p, err)
	}
	for _, call := range ordered(p.calls) {
		call.cancel(errors.New("its process has died"))
	}
}

// stop asks for a graceful end.
func (p *simProc) stop(now bool) {
	if now {
		p.step(newsStopNow{})
	} else {
		p.step(newsStop{})
	}
}

func (h *history) living() []*simProc {
	return slices.DeleteFunc(slices.Clone(h.procs), func(p *simProc) bool { return p.dead })
}

// A simHandler is the real handler, with messages that kill the process which handles them.
type simHandler struct {
	p *simProc
	siding.Handler
}

func (s simHandler) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	w := waiterOf(ctx)
	if kind(d.ID) == natureKiller {
		_ = w.pause(ctx, func() time.Duration { return s.p.h.dice(2 * time.Second) })
		s.p.gone()
		s.p.h.after(0, func() { s.p.kill("by " + d.ID) })
		_ = w.pause(context.WithoutCancel(ctx), forGood)
		runtime.Goexit()
	}
	if kind(d.ID) == naturePanic {
		panic("no such thing: " + d.ID)
	}
	r, err := s.Handler.Handle(ctx, d)
	s.p.gone()
	return r, err
}

func forGood() time.Duration { return simLongest }

// gone ends the goroutine of a handler whose process has died.
func (p *simProc) gone() {
	if p.dead {
		runtime.Goexit()
	}
}

// A simJournal is the journal as the handler sees it: each call takes a while, and may be the process's last.
type simJournal struct {
	siding.Journal
	p *simProc
}

func journaled[T any](ctx context.Context, j simJournal, op string, call func() (T, error)) (out T, err error) {
	w := waiterOf(ctx)
	_ = w.pause(context.WithoutCancel(ctx), j.p.h.latency)
	j.p.gone()
	err = j.p.h.write(j.p, op, func() (err error) {
		out, err = call()
		return err
	})
	j.p.gone()
	_ = w.pause(context.WithoutCancel(ctx), j.p.h.latency)
	j.p.gone()
	return out, err
}

func (j simJournal) StartCall(ctx context.Context, r siding.CallRequest) (siding.CallStart, error) {
	return journaled(ctx, j, "StartCall", func() (siding.CallStart, error) { return j.Journal.StartCall(context.WithoutCancel(ctx), r) })
}

func (j simJournal) EndCall(ctx context.Context, e siding.CallEnd) error {
	_, err := journaled(ctx, j, "EndCall", func() (struct{}, error) {
		return struct{}{}, j.Journal.EndCall(context.WithoutCancel(ctx), e)
	})
	return err
}

func (j simJournal) Calls(ctx context.Context, queue, id string) ([]siding.Call, error) {
	return journaled(ctx, j, "Calls", func() ([]siding.Call, error) { return j.Journal.Calls(context.WithoutCancel(ctx), queue, id) })
}

// A simTransport is the network to the service.
type simTransport struct{ h *history }

func (t simTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	w := waiterOf(req.Context())
	if err := w.pause(req.Context(), func() time.Duration { return t.h.dice(20 * time.Millisecond) }); err != nil {
		return nil, err
	}
	return t.h.service.Transport().RoundTrip(req)
}
