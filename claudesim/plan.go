package claudesim

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	pathMessages = "messages"
	pathCount    = "count_tokens"
	pathModels   = "models"
	pathOther    = "other"
	pathAny      = "any"

	sinceStart = "start"
	sinceFirst = "first_call"

	billedWord, unbilledWord = "billed", "unbilled"
	strictWord, lenientWord  = "strict", "lenient"
)

// A plan is a profile made ready: extended, checked and compiled, with the counters of its rules.
type plan struct {
	profile Profile
	read    readRules
	rules   []*compiledRule
	keys    map[string]bool
}

func mistake(path, format string, args ...any) *ProfileError {
	return &ProfileError{Path: path, Msg: fmt.Sprintf(format, args...)}
}

func newPlan(p *Profile) (*plan, error) {
	if p == nil {
		p = &Profile{}
	}
	full, err := extended(*p)
	if err != nil {
		return nil, err
	}
	if err := full.settings(); err != nil {
		return nil, err
	}
	pl := &plan{profile: full, keys: map[string]bool{}}
	pl.read = readRules{models: newCatalogue(full.Models), lenient: full.Schemas == lenientWord, image: cmp.Or(full.Limits.ImageBytes, defaultImageLimit)}
	for _, k := range full.Keys {
		pl.keys[k] = true
	}
	names := map[string]bool{}
	for i, r := range full.Faults {
		r.Name = cmp.Or(r.Name, fmt.Sprintf("fault-%d", i+1))
		at := fmt.Sprintf("faults[%d]", i)
		if names[r.Name] {
			return nil, mistake(at+".name", "another fault is called %q already", r.Name)
		}
		names[r.Name] = true
		c := &compiledRule{Rule: r}
		if err := c.compile(at); err != nil {
			return nil, err
		}
		pl.rules = append(pl.rules, c)
	}
	return pl, nil
}

// extended fills what a profile leaves open from the one that it extends.
func extended(p Profile) (Profile, error) {
	if p.Extends == "" {
		return p, nil
	}
	base, err := BuiltinProfile(p.Extends)
	if err != nil {
		return p, mistake("extends", "no built-in profile is called %q; there are %s", p.Extends, strings.Join(ProfileNames(), ", "))
	}
	p.Seed = cmp.Or(p.Seed, base.Seed)
	p.Abandoned, p.Schemas = cmp.Or(p.Abandoned, base.Abandoned), cmp.Or(p.Schemas, base.Schemas)
	p.Latency = cmp.Or(p.Latency, base.Latency)
	p.Limits = cmp.Or(p.Limits, base.Limits)
	p.Keys = slices.Concat(p.Keys, base.Keys)
	p.Models = slices.Concat(base.Models, p.Models)
	p.Faults = slices.Concat(p.Faults, base.Faults)
	return p, nil
}

func (p *Profile) settings() error {
	switch {
	case p.Version != 0 && p.Version != 1:
		return mistake("version", "version %d is not known; this simulator reads version 1", p.Version)
	case p.Abandoned != "" && p.Abandoned != billedWord && p.Abandoned != unbilledWord:
		return mistake("abandoned", "must be %s or %s", billedWord, unbilledWord)
	case p.Schemas != "" && p.Schemas != strictWord && p.Schemas != lenientWord:
		return mistake("schemas", "must be %s or %s", strictWord, lenientWord)
	case p.Latency.Fixed < 0 || p.Latency.Jitter < 0 || p.Latency.PerOutputToken < 0:
		return mistake("latency", "must not be negative")
	case p.Limits.Concurrency < 0 || p.Limits.ImageBytes < 0:
		return mistake("limits", "must not be negative")
	}
	for i, m := range p.Models {
		if m.ID == "" || m.MaxInputTokens < 1 || m.MaxTokens < 1 {
			return mistake(fmt.Sprintf("models[%d]", i), "needs id, max_input_tokens and max_tokens, the last two at least 1")
		}
	}
	return nil
}

func (r *compiledRule) compile(at string) error {
	w, d := r.When, r.Do
	if w.Pattern != "" {
		re, err := regexp.Compile(w.Pattern)
		if err != nil {
			return mistake(at+".when.pattern", "%v", err)
		}
		r.pattern = re
	}
	switch {
	case !slices.Contains([]string{"", pathMessages, pathCount, pathModels, pathAny}, w.Path):
		return mistake(at+".when.path", "must be messages, count_tokens, models or any")
	case w.Share != nil && !(*w.Share >= 0 && *w.Share <= 1):
		return mistake(at+".when.share", "must be between 0 and 1")
	case w.Every < 0 || w.Times < 0:
		return mistake(at+".when", "every and times must not be negative")
	case w.From < 0 || w.Until < 0 || w.Until > 0 && w.Until <= w.From:
		return mistake(at+".when.until", "the window must end after it begins")
	case !slices.Contains([]string{"", sinceStart, sinceFirst}, w.Since):
		return mistake(at+".when.since", "must be start or first_call")
	}
	known, ok := uses[d.Fault]
	if !ok {
		return mistake(at+".do.fault", "%q is no fault; there are %s", d.Fault, strings.Join(slices.Sorted(maps.Keys(uses)), ", "))
	}
	for _, name := range d.given() {
		if !slices.Contains(strings.Fields(known), name) {
			return mistake(at+".do."+name, "has no effect on %s", d.Fault)
		}
	}
	return d.check(at + ".do")
}

// check looks at the settings of one fault.
func (d Do) check(at string) error {
	switch d.Fault {
	case faultError, faultErrorBody, faultStreamError:
		if _, ok := samples[d.ID]; d.ID != "" && !ok {
			return mistake(at+".id", "no error is called %q; there are %s", d.ID, strings.Join(ErrorNames(), ", "))
		}
		if d.ID == "" && (d.Type == "" || d.Fault == faultError && d.Status == 0) {
			return mistake(at, "needs an id, or a status and a type")
		}
	case faultHTML:
		if d.Status == 0 {
			return mistake(at, "needs a status")
		}
	case faultCut:
		if !slices.Contains([]string{"before", "inside", "after"}, d.At) {
			return mistake(at+".at", "must be before, inside or after")
		}
	case faultStall:
		if !slices.Contains([]string{"", "cut", "answer"}, d.Then) {
			return mistake(at+".then", "must be cut or answer")
		}
	case faultStop:
		if d.Reason == "" {
			return mistake(at, "needs a reason")
		}
	case faultLong:
		if d.Tokens < 1 {
			return mistake(at, "needs tokens, at least 1")
		}
	}
	if d.Status != 0 && (d.Status < 200 || d.Status > 599) {
		return mistake(at+".status", "must be between 200 and 599")
	}
	if d.For < 0 || d.RetryAfter < 0 || d.Regain < 0 || d.AfterEvents < 0 {
		return mistake(at, "must not be negative")
	}
	return nil
}

// dice throws a number in [0, 1) that depends on nothing but its arguments.
func dice(seed uint64, what, hash string, ordinal int64) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", seed, what, hash, ordinal))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// latency is how long an answer takes; of a refusal a tenth of the fixed part.
func (p *plan) latency(q *request, ordinal, output int64, refused bool) time.Duration {
	l := p.profile.Latency
	if refused {
		return l.Fixed / 10
	}
	return l.Fixed + time.Duration(dice(p.profile.Seed, "latency", q.hash, ordinal)*float64(l.Jitter)) + time.Duration(output)*l.PerOutputToken
}
