package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// Evaluate compares how a queue stands with what has been told of it, and gives the notices that are due. A condition is
// told when it begins and when it ends, each once; what comes back within [Pause] is told when that is over, if it
// still holds. Conditions of rules that are not asked for stay as they are.
func Evaluate(s State, r Rules, f Figures, now time.Time) (State, []Notice) {
	e := evaluation{State: s.clone(), f: f, now: now}
	if r.Dead > 0 {
		e.dead(r.Dead)
	}
	if r.ReviewPrompt {
		e.reviewPrompt()
	}
	if r.Hold {
		e.holds()
	}
	if r.NewGroup {
		e.groups()
	}
	e.Conditions = slices.DeleteFunc(e.Conditions, func(c Condition) bool { return !c.Firing && !now.Before(c.FiredAt.Add(Pause)) })
	return e.State, e.notices
}

type evaluation struct {
	State
	f       Figures
	now     time.Time
	notices []Notice
}

// of gives the conditions of a rule that are known.
func (e *evaluation) of(r Rule) []Condition {
	return slices.DeleteFunc(slices.Clone(e.Conditions), func(c Condition) bool { return c.Rule != r })
}

// judge takes in whether a condition holds now, and tells what n says where that is new. c.Since is since when.
func (e *evaluation) judge(c Condition, holds bool, n Notice) {
	i := slices.IndexFunc(e.Conditions, func(known Condition) bool { return known.Key == c.Key })
	switch {
	case i >= 0:
		known := e.Conditions[i]
		switch {
		case known.Firing && !holds:
			e.Conditions[i].Firing = false
			e.tell(n, c.Key, StateResolved, known.Since)
		case !known.Firing && holds && (e.f.Final || !e.now.Before(known.FiredAt.Add(Pause))):
			c.Firing, c.FiredAt = true, e.now
			e.Conditions[i] = c
			e.tell(n, c.Key, StateFiring, c.Since)
		}
	case holds:
		c.Firing, c.FiredAt = true, e.now
		e.Conditions = append(e.Conditions, c)
		e.tell(n, c.Key, StateFiring, c.Since)
	}
}

// tell completes a notice whose text says what holds, or held.
func (e *evaluation) tell(n Notice, key, state string, since time.Time) {
	e.Made++
	n.Type, n.V, n.Queue, n.key = "alert", 1, oneLine(e.f.Queue, maxText), key
	n.ID = fmt.Sprintf("%s-%d-%d", n.Queue, e.Made, e.now.UnixMicro())
	n.State, n.At, n.Since, n.Simulated, n.Dead = state, e.now, since, e.f.Simulated, e.f.Dead
	n.Text = n.heading() + n.Text
	e.notices = append(e.notices, n)
}

func (e *evaluation) dead(limit int64) {
	limits := []int64{limit}
	for _, c := range e.of(RuleDead) { // one that a recipe of before had
		limits = append(limits, c.Limit)
	}
	slices.Sort(limits)
	for _, l := range slices.Compact(limits) {
		holds := e.f.Dead >= l
		if l != limit && !slices.ContainsFunc(e.Conditions, func(c Condition) bool { return c.Firing && c.Rule == RuleDead && c.Limit == l }) {
			continue
		}
		letters := "letters"
		if e.f.Dead == 1 {
			letters = "letter"
		}
		text := fmt.Sprintf("%d dead %s; the limit is %d", e.f.Dead, letters, l)
		if !holds {
			text = fmt.Sprintf("%d dead %s, fewer than %d", e.f.Dead, letters, l)
		}
		e.judge(Condition{Key: fmt.Sprintf("%s %d", RuleDead, l), Rule: RuleDead, Limit: l, Since: e.now}, holds,
			Notice{Rule: RuleDead, Limit: l, Text: text})
	}
}

func (e *evaluation) reviewPrompt() {
	mismatches, review := siding.ReviewPrompt(e.f.Causes, e.f.Ended)
	firing := slices.ContainsFunc(e.of(RuleReviewPrompt), func(c Condition) bool { return c.Firing })
	if review && !firing && !e.f.Final && e.f.Ended < leastEnded {
		return
	}
	text := fmt.Sprintf("%d of %d answers do not fit the output schema, which is more than 1 %%: look at the prompt", mismatches, e.f.Ended)
	if !review {
		text = fmt.Sprintf("%d of %d answers do not fit the output schema, which is not more than 1 %%", mismatches, e.f.Ended)
	}
	e.judge(Condition{Key: string(RuleReviewPrompt), Rule: RuleReviewPrompt, Since: e.now}, review,
		Notice{Rule: RuleReviewPrompt, Mismatches: mismatches, Ended: e.f.Ended, Text: text})
}

func (e *evaluation) holds() {
	held := map[string]siding.Hold{} // by gate
	for _, g := range e.f.Gates {
		if g.Hold != nil {
			held[gateName(g.Key)] = *g.Hold
		}
	}
	var watched []string
	for _, key := range e.f.Watched.All() {
		watched = append(watched, gateName(key))
	}
	known := map[string]bool{}
	for _, c := range e.of(RuleHold) {
		gate := strings.TrimPrefix(c.Key, holdKey)
		known[gate] = true
		if h, holds := held[gate]; !holds || slices.Contains(watched, gate) { // its end also where only another recipe's work goes through
			e.hold(gate, h, holds)
		}
	}
	for _, gate := range watched {
		if h, holds := held[gate]; holds && !known[gate] {
			e.hold(gate, h, true)
		}
	}
}

const holdKey = string(RuleHold) + " "

func gateName(key siding.GateKey) string { return oneLine(key.String(), maxText) }

func (e *evaluation) hold(gate string, h siding.Hold, holds bool) {
	key, _ := siding.ParseGateKey(gate)
	n := Notice{Rule: RuleHold, Hold: &HoldNotice{Scope: key.Scope, Name: key.Name}, Text: gate + " is not held any more"}
	if holds {
		kind := siding.HoldKind(oneLine(string(h.Kind), 64))
		n.Hold.Kind, n.Hold.Cause, n.Hold.Text, n.Hold.Until = kind, siding.Cause(oneLine(string(h.Cause), 64)), oneLine(h.Text, maxText), h.Until
		n.Text = fmt.Sprintf("%s is held (%s): %s", gate, kind, n.Hold.Text)
	}
	e.judge(Condition{Key: holdKey + gate, Rule: RuleHold, Since: h.Since}, holds, n)
}

// groups tells of the groups in state new that have dead letters and have not been told of, all in one notice.
func (e *evaluation) groups() {
	told := &e.Groups
	if told.Version != siding.FingerprintVersion {
		told.condense()
		told.Version = siding.FingerprintVersion
	}
	still := map[string]int64{}
	var fresh []siding.Group
	for _, g := range e.f.New {
		switch {
		case g.State != siding.GroupNew:
		case told.has(g):
			if at, ok := told.New[toldKey(g)]; ok {
				still[toldKey(g)] = at
			}
		case g.Dead > 0:
			fresh = append(fresh, g)
		}
	}
	told.New = still // what somebody has looked at is told again when it comes back
	if len(fresh) == 0 || !e.f.Final && e.now.Before(told.At.Add(GroupPause)) {
		return
	}
	told.At = e.now
	n := Notice{Rule: RuleNewGroup, GroupCount: len(fresh)}
	since := time.Time{}
	for _, g := range fresh {
		told.add(g)
		if at := time.UnixMicro(appeared(g)).UTC(); since.IsZero() || at.Before(since) {
			since = at
		}
		if len(n.Groups) < MaxGroups {
			n.Groups = append(n.Groups, GroupNotice{
				Fingerprint: toldKey(g), Cause: siding.Cause(oneLine(string(g.Cause), 64)), Dead: g.Dead, Regression: !g.RegressedAt.IsZero(),
				Sample: oneLine(g.SampleText, maxText), SampleID: oneLine(g.SampleID, maxText),
			})
		}
	}
	n.Text = groupsText(n)
	e.tell(n, string(RuleNewGroup), StateFiring, since)
}

// groupsText says which groups a notice is about, as far as it names them.
func groupsText(n Notice) string {
	const shown = 3
	var parts []string
	for _, g := range n.Groups[:min(shown, len(n.Groups))] {
		what := ""
		if g.Regression {
			what = "back after it was resolved (regression): "
		}
		parts = append(parts, fmt.Sprintf("%s%s: %s (%d)", what, g.Cause, oneLine(g.Sample, 100), g.Dead))
	}
	if more := n.GroupCount - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	kinds := "a new kind of failure"
	if n.GroupCount > 1 {
		kinds = fmt.Sprintf("%d new kinds of failure", n.GroupCount)
	}
	return kinds + ": " + strings.Join(parts, "; ")
}
