package siding

// State is where a message is; it is in exactly one. The values are stored, so the list is append-only.
type State string

// The states of a message.
const (
	StateReady     State = "ready"     // may be leased from its AvailableAt on
	StateLeased    State = "leased"    // claimed by a worker until its lease runs out
	StateDone      State = "done"      // settled with success; its result is stored
	StateDead      State = "dead"      // a dead letter: set aside in the quarantine
	StateDiscarded State = "discarded" // given up by an operator, with a reason; stays so
)

// States lists every state, in the order in which they were added.
func States() []State {
	return []State{StateReady, StateLeased, StateDone, StateDead, StateDiscarded}
}

// Outcome is what a delivery came to. The values are stored, so the list is append-only.
type Outcome string

// The outcomes of a delivery. See [Route] for what each does.
const (
	OutcomeDone        Outcome = "done"        // success: what was asked for has come
	OutcomeTransient   Outcome = "transient"   // may pass by itself; costs an attempt
	OutcomeGray        Outcome = "gray"        // perhaps the message's fault, perhaps chance; a small limit of its own
	OutcomePermanent   Outcome = "permanent"   // this message will never pass as it is
	OutcomeHeld        Outcome = "held"        // not the message's fault: account, lane or recipe; costs no attempt
	OutcomeInterrupted Outcome = "interrupted" // the delivery did not end by itself; costs no attempt
	OutcomeForwarded   Outcome = "forwarded"   // waits for the work of another queue; costs no attempt. See [Forward]
)

// Outcomes lists every outcome, in the order in which they were added.
func Outcomes() []Outcome {
	return []Outcome{OutcomeDone, OutcomeTransient, OutcomeGray, OutcomePermanent, OutcomeHeld, OutcomeInterrupted, OutcomeForwarded}
}

// Reason says why a message was set aside. The values are stored, so the list is append-only.
type Reason string

// The reasons for which a message becomes a dead letter.
const (
	ReasonPoison                 Reason = "poison"                  // a permanent failure
	ReasonAttemptsExhausted      Reason = "attempts-exhausted"      // failed max attempts times
	ReasonGrayExhausted          Reason = "gray-exhausted"          // gray failures beyond their own limit
	ReasonWaitsExhausted         Reason = "waits-exhausted"         // held again and again while its lane served others
	ReasonInterruptionsExhausted Reason = "interruptions-exhausted" // lost its lease again and again
	ReasonCrash                  Reason = "crash"                   // convicted of killing its process
	ReasonUnknownCall            Reason = "unknown-call"            // a call of unknown fate, and the policy says not to resend
	ReasonExpired                Reason = "expired"                 // its ExpiresAt passed before it was done
	ReasonManual                 Reason = "manual"                  // set aside by an operator
)

// Reasons lists every reason, in the order in which they were added.
func Reasons() []Reason {
	return []Reason{
		ReasonPoison, ReasonAttemptsExhausted, ReasonGrayExhausted, ReasonWaitsExhausted,
		ReasonInterruptionsExhausted, ReasonCrash, ReasonUnknownCall, ReasonExpired, ReasonManual,
	}
}

// Scope says how far a fault reaches that is not the message's.
type Scope string

// The scopes of a hold.
const (
	ScopeAccount Scope = "account" // a credential: credit, spend limit, key, permission
	ScopeLane    Scope = "lane"    // a model, a host, a command: throttling, outage
	ScopeRecipe  Scope = "recipe"  // one queue and recipe digest: a configuration fault, a systemic failure, the budget
)
