package worker

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

var everything = siding.GateKeys{
	Account: siding.GateKey{Scope: siding.ScopeAccount, Name: "a"},
	Lane:    siding.GateKey{Scope: siding.ScopeLane, Name: "l"},
	Recipe:  siding.GateKey{Scope: siding.ScopeRecipe, Name: "r"},
}

func waitNone(siding.Hold) time.Duration { return 0 }

var errOdd = errors.New("something odd")

// world carries out a core's commands in a made-up way, drawn by rapid, and checks every command on the way.
type world struct {
	t     *rapid.T
	core  *core
	now   time.Duration
	cfg   Config
	holds bool // some failures end the run

	timer    time.Duration
	nudge    bool
	nudged   bool
	lease    *cmdLease
	extend   *cmdExtend
	settle   *cmdSettle
	reap     bool
	finished bool
	err      error

	running  map[int64]cmdStart
	order    []int64                   // of running
	open     map[siding.LeaseToken]int // leased and not settled: how often it was handed over
	closed   map[siding.LeaseToken]bool
	alone    map[siding.LeaseToken]bool
	tokens   int64
	extended map[siding.LeaseToken]time.Duration // when last
	faults   map[string]time.Duration            // of an operation, when last
	begun    int                                 // handed over
	ended    int                                 // settled
}

// newWorld gives a world; ends says whether faults may end the run.
func newWorld(t *rapid.T, ends bool) *world {
	cfg, err := Config{
		Queue: "q", Name: "w", Handler: siding.HandlerFunc(nil),
		Concurrency: rapid.IntRange(1, 9).Draw(t, "concurrency"),
		Drain:       rapid.Bool().Draw(t, "drain"),
		Lease:       rapid.SampledFrom([]time.Duration{time.Second, 7 * time.Second, time.Minute}).Draw(t, "lease"),
		Gates:       rapid.SampledFrom([]siding.GateKeys{{}, everything}).Draw(t, "gates"),
		Wait:        rapid.SampledFrom([]func(siding.Hold) time.Duration{nil, waitNone}).Draw(t, "wait"),
		GiveUp:      rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Second}).Draw(t, "giveup"),
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if !ends {
		cfg.GiveUp, cfg.Wait = 0, nil
	}
	cfg.BatchSize = rapid.SampledFrom([]int{1, 1, 4}).Draw(t, "batch")
	return &world{
		t: t, cfg: cfg, holds: ends, core: newCore(cfg, 1), timer: forever,
		running: map[int64]cmdStart{}, open: map[siding.LeaseToken]int{}, closed: map[siding.LeaseToken]bool{},
		alone:    map[siding.LeaseToken]bool{},
		extended: map[siding.LeaseToken]time.Duration{}, faults: map[string]time.Duration{},
	}
}

func (w *world) step(all ...news) {
	out := w.core.step(w.now, all...)
	if w.finished && len(out) > 0 {
		w.t.Fatalf("commands after the finish: %v", out)
	}
	for i, cmd := range out {
		w.check(cmd, i == len(out)-1)
	}
	if w.finished {
		return
	}
	// Never stuck: something is under way, or a time is armed.
	if w.timer == forever && !w.nudge && w.lease == nil && w.settle == nil && w.extend == nil && len(w.running) == 0 {
		w.t.Fatalf("nothing is under way and nothing is armed")
	}
	if w.timer <= w.now {
		w.t.Fatalf("at %v a timer is armed for %v: it would spin", w.now, w.timer)
	}
}

func (w *world) check(cmd command, last bool) {
	switch cmd := cmd.(type) {
	case cmdNudge:
		if w.nudge || w.nudged || cmd.keys != w.cfg.Gates {
			w.t.Fatal("nudges twice, or something else")
		}
		w.notAfterFault("nudge")
		w.nudge = true
	case cmdLease:
		if !w.nudged && w.cfg.Gates != (siding.GateKeys{}) {
			w.t.Fatal("leases before the nudge")
		}
		if w.solo() {
			w.t.Fatal("leases beside one that is to be alone")
		}
		if w.lease != nil {
			w.t.Fatal("two requests at once")
		}
		if most := w.cfg.Concurrency*w.cfg.BatchSize - len(w.open); cmd.request.Max < 1 || cmd.request.Max > most {
			w.t.Fatalf("asks for %d with room for %d", cmd.request.Max, most)
		}
		if w.core.stop.asked {
			w.t.Fatal("leases while it stops")
		}
		w.notAfterFault("lease")
		w.lease = &cmd
	case cmdStart:
		if w.core.stop.asked {
			w.t.Fatal("starts while it stops")
		}
		if _, ok := w.running[cmd.call]; ok {
			w.t.Fatal("a call is started twice")
		}
		w.running[cmd.call] = cmd
		w.order = append(w.order, cmd.call)
		if len(w.running) > w.cfg.Concurrency || len(cmd.deliveries) > w.cfg.BatchSize || len(cmd.deliveries) == 0 {
			w.t.Fatalf("%d calls, the latest of %d messages", len(w.running), len(cmd.deliveries))
		}
		for _, d := range cmd.deliveries {
			n, ok := w.open[d.Token]
			if !ok || n > 1 || n == 1 && w.cfg.BatchSize == 1 {
				w.t.Fatalf("delivery %v is handed over after %d times", d.Token, n)
			}
			w.open[d.Token]++
			w.begun++
		}
	case cmdCancel:
		if cmd.cause == nil {
			w.t.Fatal("cancels without a cause")
		}
	case cmdExtend:
		if w.extend != nil || len(cmd.tokens) == 0 {
			w.t.Fatal("two extensions at once, or an empty one")
		}
		for _, token := range cmd.tokens {
			if at, ok := w.extended[token]; ok && at == w.now {
				w.t.Fatalf("the lease %v is extended twice at one time", token)
			}
			w.extended[token] = w.now
		}
		w.extend = &cmd
	case cmdSettle:
		if w.settle != nil || len(cmd.settlements) == 0 {
			w.t.Fatal("two settlements at once, or an empty one")
		}
		for _, s := range cmd.settlements {
			if _, ok := w.open[s.Token]; !ok {
				w.t.Fatalf("%v is settled although it is not open (settled before: %v)", s.Token, w.closed[s.Token])
			}
		}
		w.notAfterFault("settle")
		w.settle = &cmd
	case cmdReap:
		if w.reap {
			w.t.Fatal("two reaps at once")
		}
		w.reap = true
	case cmdTimer:
		w.timer = cmd.at
	case cmdNotify:
	case cmdFinish:
		if !last {
			w.t.Fatal("commands after the finish")
		}
		w.finished, w.err = true, cmd.err
	default:
		w.t.Fatalf("unknown command %T", cmd)
	}
}

// notAfterFault checks that an operation that has failed is not repeated without a rest.
func (w *world) notAfterFault(op string) {
	if at, ok := w.faults[op]; ok && at == w.now {
		w.t.Fatalf("%s is repeated at once after an error", op)
	}
}

func (w *world) storeError(label string) error {
	return rapid.SampledFrom([]error{nil, nil, nil, nil, nil, siding.ErrDiskFull, errOdd}).Draw(w.t, label)
}

func (w *world) solo() bool {
	for token := range w.open {
		if w.alone[token] {
			return true
		}
	}
	return false
}

func (w *world) answerNudge() {
	w.nudge = false
	err := w.storeError("nudge error")
	if err != nil {
		w.faults["nudge"] = w.now
	}
	w.nudged = err == nil
	w.step(newsNudged{err})
}

func (w *world) answerLease() {
	request := w.lease.request
	w.lease = nil
	if err := w.storeError("lease error"); err != nil {
		w.faults["lease"] = w.now
		w.step(newsLeased{err: err})
		return
	}
	now := time.Unix(1000, 0).Add(w.now)
	n := rapid.IntRange(0, request.Max).Draw(w.t, "given")
	blocked := len(w.cfg.Gates.All()) > 0 && rapid.IntRange(0, 2).Draw(w.t, "blocked") == 0
	if blocked {
		n = min(n, 1)
	}
	leased := siding.Leased{Now: now, InFlight: len(w.open) + n}
	if blocked {
		leased.Blocked = []siding.Gate{rapid.SampledFrom([]siding.Gate{
			{Key: everything.Lane, Throttle: siding.Throttle{Until: now.Add(time.Minute)}},
			{Key: everything.Account, Hold: &siding.Hold{Kind: siding.HoldFault, Cause: siding.CauseCredentials}},
			{Key: everything.Account, Hold: &siding.Hold{Kind: siding.HoldFault, Until: now.Add(time.Hour)}},
			{Key: everything.Lane, Hold: &siding.Hold{Kind: siding.HoldOutage, NextProbe: now.Add(time.Second)}},
			{Key: everything.Recipe, Hold: &siding.Hold{Kind: siding.HoldSystemic, NextProbe: now}, Probe: &siding.Probe{}},
		}).Draw(w.t, "gate")}
		if d := rapid.SampledFrom([]time.Duration{0, -1, 1, time.Second, 1<<62 - 1}).Draw(w.t, "retry at"); d != 0 {
			leased.RetryAt = now.Add(d)
		}
	}
	for range n {
		w.tokens++
		d := &siding.Delivery{Token: siding.LeaseToken{Message: w.tokens, Nonce: 1}}
		d.ID = fmt.Sprint("m", w.tokens)
		d.Solo = n == 1 && len(w.open) == 0 && rapid.IntRange(0, 4).Draw(w.t, "solo") == 0
		w.alone[d.Token] = d.Solo
		d.Attempt = rapid.IntRange(0, 2).Draw(w.t, "attempt")
		leased.Deliveries = append(leased.Deliveries, d)
		w.open[d.Token] = 0
	}
	if d := rapid.SampledFrom([]time.Duration{-1, 0, 1, time.Second, time.Hour}).Draw(w.t, "next"); d != 0 {
		leased.NextAt = now.Add(d)
	}
	w.step(newsLeased{leased: leased})
}

func (w *world) failure(label string) *siding.Failure {
	all := []*siding.Failure{
		nil, nil, nil, nil,
		{Outcome: siding.OutcomeTransient},
		{Outcome: siding.OutcomePermanent},
		{Outcome: siding.OutcomeGray},
		{Outcome: siding.OutcomeInterrupted, Cause: siding.CauseShutdown},
		{Outcome: siding.OutcomeHeld, Cause: siding.CauseRateLimited, Scope: siding.ScopeLane},
		{Outcome: siding.OutcomeHeld, Cause: siding.CauseOverloaded, RetryAfter: time.Minute},
		{Outcome: siding.OutcomeHeld, RetryAfter: 1<<63 - 1},
	}
	if w.holds {
		all = append(all, &siding.Failure{Outcome: siding.OutcomeHeld, Scope: siding.ScopeAccount})
	}
	return rapid.SampledFrom(all).Draw(w.t, label)
}

func (w *world) endCall() {
	i := rapid.IntRange(0, len(w.order)-1).Draw(w.t, "which")
	id := w.order[i]
	w.order = append(w.order[:i:i], w.order[i+1:]...)
	cmd := w.running[id]
	delete(w.running, id)
	end := newsEnded{call: id, items: make([]itemEnd, len(cmd.deliveries)), failure: w.failure("call")}
	if limits := rapid.IntRange(0, 3).Draw(w.t, "limits"); limits > 0 {
		l := siding.RateLimit{
			Limit:     rapid.SampledFrom([]int64{-1, 0, 1, 60, 3000, 1<<63 - 1}).Draw(w.t, "limit"),
			Remaining: rapid.SampledFrom([]int64{-5, 0, 1, 7, 1<<63 - 1}).Draw(w.t, "remaining"),
		}
		all := []siding.RateLimits{{Requests: l}, {InputTokens: l}, {Requests: l, OutputTokens: l}}
		end.items[0].result.Limits = &all[limits-1]
	}
	if w.cfg.BatchSize > 1 {
		for i := range end.items {
			if rapid.Bool().Draw(w.t, "settled itself") {
				end.items[i] = itemEnd{settled: true, failure: w.failure("item")}
			}
		}
	}
	w.step(end)
}

func (w *world) answerSettle() {
	cmd := w.settle
	w.settle = nil
	if err := w.storeError("settle error"); err != nil {
		w.faults["settle"] = w.now
		w.step(newsSettled{err: err})
		return
	}
	settled := make([]siding.Settled, len(cmd.settlements))
	for i, s := range cmd.settlements {
		err := rapid.SampledFrom([]error{nil, nil, nil, siding.ErrStaleLease, siding.ErrDiskFull, errOdd}).Draw(w.t, "item error")
		settled[i].Err = err
		settled[i].Decision.State = rapid.SampledFrom(siding.States()).Draw(w.t, "state")
		if err == nil || errors.Is(err, siding.ErrStaleLease) {
			delete(w.open, s.Token)
			w.closed[s.Token] = true
			w.ended++
		}
	}
	w.step(newsSettled{settled: settled})
	// What the store has refused too often is given up.
	for token := range w.open {
		if !w.knows(token) {
			delete(w.open, token)
		}
	}
}

func (w *world) knows(token siding.LeaseToken) bool {
	for _, j := range w.core.jobs {
		if j.token == token {
			return true
		}
	}
	return false
}

func (w *world) answerExtend() {
	cmd := w.extend
	w.extend = nil
	if err := w.storeError("extend error"); err != nil {
		w.step(newsExtended{err: err})
		return
	}
	errs := make([]error, len(cmd.tokens))
	for i := range errs {
		errs[i] = rapid.SampledFrom([]error{nil, nil, nil, siding.ErrStaleLease, errOdd}).Draw(w.t, "token error")
	}
	w.step(newsExtended{errs: errs})
}

func (w *world) answerReap() {
	w.reap = false
	w.step(newsReaped{n: rapid.IntRange(0, 1).Draw(w.t, "reaped"), err: w.storeError("reap error")})
}

// pass lets time go to the armed time, or to somewhere before.
func (w *world) pass() {
	if w.timer == forever {
		w.now += time.Second
		w.step(newsTime{})
		return
	}
	if rapid.Bool().Draw(w.t, "early") {
		w.now += (w.timer - w.now) / 2
		w.step(newsWake{})
		return
	}
	w.now, w.timer = w.timer, forever
	w.step(newsTime{})
}

// act does one thing that can happen now.
func (w *world) act() {
	acts := []func(){w.pass, w.pass}
	add := func(ok bool, f func()) {
		if ok {
			acts = append(acts, f, f, f)
		}
	}
	add(w.nudge, w.answerNudge)
	add(w.lease != nil, w.answerLease)
	add(w.settle != nil, w.answerSettle)
	add(w.extend != nil, w.answerExtend)
	add(w.reap, w.answerReap)
	add(len(w.running) > 0, w.endCall)
	rapid.SampledFrom(acts).Draw(w.t, "act")()
}
