package claudesim

import (
	"regexp"
	"strings"
	"time"
)

// A Rule is one planned fault: which calls it takes, and what happens to them.
type Rule struct {
	// Name stands in the log of calls, and seeds the rule's dice. Default: fault-1, fault-2… by place.
	Name string `yaml:"name"`
	When When   `yaml:"when"`
	Do   Do     `yaml:"do"`
}

// When says which calls a rule takes: those that meet every condition given. Without any it takes every call of
// /v1/messages.
type When struct {
	// Path is messages (the default), count_tokens, models, or any.
	Path string `yaml:"path"`
	// Text must occur in what the caller wrote: system prompt and messages, exactly, with case.
	Text string `yaml:"text"`
	// Pattern is an RE2 expression that must match in what the caller wrote.
	Pattern string `yaml:"pattern"`
	// Model is the request's model, exactly.
	Model string `yaml:"model"`
	// Key is the request's credential, exactly.
	Key string `yaml:"key"`
	// Header names headers and the values that they must have.
	Header map[string]string `yaml:"header"`
	// Stream restricts the rule to streamed calls, or to others.
	Stream *bool `yaml:"stream"`

	// Share takes this part of the calls, 0 to 1, by dice over the seed, the rule's name, the request's bytes and how
	// often these came before.
	Share *float64 `yaml:"share"`
	// Attempts counts the calls with the same bytes, from 1.
	Attempts *Span `yaml:"attempts"`

	// Calls counts the calls that meet the conditions from Path to Stream, from 1, in the order in which they arrive,
	// whichever rule takes them.
	Calls *Span `yaml:"calls"`
	// Every takes each nth of these calls: the nth, the 2nth… 0: all.
	Every int64 `yaml:"every"`
	// Times is how often the rule applies at most. 0: any number.
	Times int64 `yaml:"times"`

	// From and Until bound a window of time, Until excluded. Until 0: without end.
	From  time.Duration `yaml:"from"`
	Until time.Duration `yaml:"until"`
	// Since is what the window counts from: start (of the profile; the default), or first_call.
	Since string `yaml:"since"`
}

// A compiledRule is a rule with its counters, which the server's lock guards.
type compiledRule struct {
	Rule
	pattern *regexp.Regexp
	seen    int64 // calls that met the conditions on content, whichever rule took them
	fired   int64
}

// onlyWindow says that a rule depends on nothing but the time.
func (r *compiledRule) onlyWindow() bool {
	w := r.When
	return (w.Path == "" || w.Path == pathAny) && w.Text == "" && w.Pattern == "" && w.Model == "" && w.Key == "" && len(w.Header) == 0 &&
		w.Stream == nil && w.Share == nil && w.Attempts == nil && w.Calls == nil && w.Every == 0 && w.Times == 0
}

// A moment is when a call came, counted in the two ways that windows count.
type moment struct {
	sinceStart, sinceFirst time.Duration
}

func (r *compiledRule) inWindow(at moment) bool {
	t := at.sinceStart
	if r.When.Since == sinceFirst {
		t = at.sinceFirst
	}
	return t >= r.When.From && (r.When.Until == 0 || t < r.When.Until)
}

// applies decides whether a rule takes a call that meets its conditions on content and has been counted for it.
// ordinal is how often the request's bytes have come, this call included.
func (r *compiledRule) applies(q *request, ordinal int64, at moment, seed uint64) bool {
	w := r.When
	switch {
	case !w.Attempts.holds(ordinal), !w.Calls.holds(r.seen), w.Every > 0 && r.seen%w.Every != 0, !r.inWindow(at):
		return false
	case w.Share != nil && dice(seed, r.Name, q.hash, ordinal) >= *w.Share:
		return false
	}
	return w.Times == 0 || r.fired < w.Times
}

// pick finds the first rule that takes a call. Rules behind it still count the call: the tenth call is the tenth,
// whatever happened to the nine before.
func (p *plan) pick(q *request, ordinal int64, at moment) (found *compiledRule) {
	for _, r := range p.rules {
		if !r.meets(q) {
			continue
		}
		r.seen++
		if found == nil && r.applies(q, ordinal, at, p.profile.Seed) {
			r.fired++
			found = r
		}
	}
	return found
}

// meets checks the conditions on what the call is.
func (r *compiledRule) meets(q *request) bool {
	w := r.When
	switch {
	case w.Path == "" && q.path != pathMessages, w.Path != "" && w.Path != pathAny && w.Path != q.path:
		return false
	case w.Model != "" && w.Model != q.model, w.Key != "" && w.Key != q.key:
		return false
	case w.Stream != nil && *w.Stream != q.stream, r.Do.streamOnly() && !q.stream:
		return false
	case r.Do.Fault == faultStop && r.Do.Reason == stopPause && q.continues:
		return false // a paused answer that goes on is not paused again
	case w.Text != "" && !strings.Contains(q.words, w.Text), r.pattern != nil && !r.pattern.MatchString(q.words):
		return false
	}
	for name, value := range w.Header {
		if q.header.Get(name) != value {
			return false
		}
	}
	return true
}
