package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// progress knows how far a run is: counts from the store now and then, and what the worker tells in between.
type progress struct {
	mu    sync.Mutex
	stats siding.InputStats // as last read
	done  int64             // settled done since then
	dead  int64             // set aside since then

	began   time.Time
	settled int64  // ended for good since the beginning
	held    string // what is held, and why
	rest    string
	restEnd time.Time
	fault   string
	sides   []*side // the work beside
}

func newProgress(s siding.InputStats) *progress { return &progress{stats: s, began: time.Now()} }

// observe takes in what the worker tells; see [worker.Config.Observe].
func (p *progress) observe(e worker.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case worker.Settled:
		p.fault = ""
		switch e.Decision.State {
		case siding.StateDone:
			p.done++
			p.settled++
		case siding.StateDead:
			p.dead++
			p.settled++
		}
	case worker.Throttled:
		p.held, p.restEnd = "", time.Now().Add(e.For)
		if p.rest = "throttled"; e.Failure != nil {
			p.rest = restText(e.Failure)
		}
	case worker.Resumed:
		p.rest, p.held = "", ""
	case worker.StoreFault:
		p.fault = oneLine(e.Err.Error(), 100)
	case worker.Held:
		p.held = shortHolds(e.Err.Holds)
	}
}

// restText says why calls rest: the cause, and the fault in words where it lies on this machine (a full disk, too many
// open files) and somebody here can mend it.
func restText(f *siding.Failure) string {
	text := string(f.Cause)
	if f.Status == 0 && f.Err != nil {
		text += ": " + f.Error()
	}
	return oneLine(text, 240)
}

// mark and refresh surround a reading of the counts: what the worker tells after the mark is added to them.
func (p *progress) mark() (done, dead int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done, p.dead
}

func (p *progress) refresh(s siding.InputStats, done, dead int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats = s
	p.done -= done
	p.dead -= dead
}

// now gives the counts: ended and all.
func (p *progress) counts() (ended, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended(), p.stats.Enqueued
}

func (p *progress) ended() int64 {
	return min(p.stats.Done+p.stats.Dead+p.stats.Discarded+p.done+p.dead, p.stats.Enqueued)
}

// text gives the line: done, set aside, waiting, rate, money and time left.
func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.stats.Enqueued - p.ended()
	s := fmt.Sprintf("%d done, %d set aside, %d waiting", p.stats.Done+p.done, p.stats.Dead+p.dead, left)
	s = strings.Join(append([]string{s}, p.sideTexts()...), ", ")
	per := float64(p.settled) / max(time.Since(p.began).Seconds(), 0.001)
	if p.settled > 0 {
		s += fmt.Sprintf(", %.1f/s", per)
	}
	s += ", " + dollars(p.stats.Cost)
	switch rest := time.Until(p.restEnd); {
	case p.fault != "":
		s += ", the store: " + p.fault
	case p.held != "":
		s += ", held: " + p.held
	case p.rest != "" && rest > time.Second:
		s += fmt.Sprintf(", resting %v (%s)", rest.Round(time.Second), p.rest)
	case p.rest != "":
		s += ", resting (" + p.rest + ")"
	case p.settled > 0 && left > 0:
		s += ", " + spanText(time.Duration(float64(left)/per*float64(time.Second))) + " left"
	}
	return s
}

func spanText(d time.Duration) string {
	switch {
	case d > 100*24*time.Hour:
		return "months"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%ds", max(1, int(d.Seconds())))
}
