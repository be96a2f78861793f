package alert

import (
	"time"

	"github.com/siding-dev/siding"
)

// Rule says what somebody wants to be told of. The values are stored and sent, so the list is append-only.
type Rule string

// The rules.
const (
	RuleDead         Rule = "dead"          // the number of dead letters has reached a limit
	RuleNewGroup     Rule = "new_group"     // failures of a kind that nobody has looked at yet, or that had been resolved
	RuleHold         Rule = "hold"          // the account, the lane or the recipe is held
	RuleReviewPrompt Rule = "review_prompt" // too many answers do not fit the output schema
	RuleTest         Rule = "test"          // nothing: somebody tries whether notices arrive
)

// Rules are those of one queue; the zero value has none.
type Rules struct {
	Dead         int64 // at so many dead letters; 0: never
	NewGroup     bool
	Hold         bool
	ReviewPrompt bool
}

// Any tells whether there is a rule at all.
func (r Rules) Any() bool { return r != Rules{} }

const (
	// Pause is how long, while work goes on, a condition that has fired does not fire again after it has ended: one that
	// comes and goes is told twice in this time at most, that it began and that it ended. The end of a run does not wait.
	Pause = 5 * time.Minute
	// GroupPause is how long after a notice of new groups, while work goes on, further ones are gathered for the next.
	GroupPause = time.Minute
	// leastEnded is how many messages must have ended while work goes on before a share of them means anything: of fewer,
	// a single one is more than 1 %.
	leastEnded = 100
)

// Figures are how a queue stands.
type Figures struct {
	Queue     string
	Dead      int64
	Ended     int64               // done, or set aside
	Causes    []siding.CauseCount // of the dead letters
	New       []siding.Group      // all groups in state new, also empty ones; only where NewGroup is asked for
	Gates     []siding.Gate       // all that there are
	Watched   siding.GateKeys     // those that this queue's work goes through
	Simulated bool
	Final     bool // the run has ended
}
