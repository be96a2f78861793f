package siding

import (
	"slices"
	"time"
)

// Decision is where a delivery's message goes, and its counters from then on. A store writes it in one guarded change.
type Decision struct {
	Outcome Outcome // the outcome as it counted: a permanent failure that the policy calls gray is gray
	State   State   // ready, done or dead
	// AvailableAt is when a message that goes back may be leased; always after now.
	AvailableAt time.Time
	// Reason is why a dead message was set aside.
	Reason Reason
	// Attempt, Gray, Waits and Interruptions are the message's counters after this delivery.
	Attempt, Gray, Waits, Interruptions int
	// Suspect says that the message was in flight when its process died; SoloCrashes, how often it was so alone.
	Suspect     bool
	SoloCrashes int
	// Alone says that the next delivery is the last trial of a message whose waits are used up, alone on a rested lane.
	Alone bool
	// WaitsFor is the queue whose result the message waits for from now on; see [Forward].
	WaitsFor string
}

// Route decides where a message goes after a delivery. f is the failure, nil when the delivery is done; rnd is a random
// number in [0, 1) for the jitter. It is pure: same arguments, same decision.
//
//   - done: done.
//   - transient: attempt +1; ready after a delay, dead (attempts-exhausted) when attempt reaches the maximum.
//   - gray: attempt +1, gray +1; the same with a limit of its own (gray-exhausted).
//   - permanent: attempt +1; dead (poison) at once. A cause that the policy lists as gray is gray instead.
//   - held: uncounted, but for waits +1 when the lane serves others; ready, dead (waits-exhausted) when they are used up.
//   - interrupted: shutdown and host-restart uncounted; worker-crash uncounted, as a suspect, and dead (crash) when the
//     process has died [MaxSoloCrashes] times around it alone; anything else is a lost lease: interruptions +1; ready,
//     dead (interruptions-exhausted) when they reach the maximum.
//   - forwarded: uncounted; ready, but waiting for the result of another queue. One that such a result has come into
//     before is permanent instead.
//
// A suspect is cleared by any other end than an interruption. A last trial that is interrupted, or held while the lane
// serves nobody, is still to come.
//
// An outcome that is none of these counts as transient.
func Route(m Message, f *Failure, p Policy, now time.Time, rnd float64) Decision {
	d := Decision{
		Attempt: m.Attempt, Gray: m.Gray, Waits: m.Waits, Interruptions: m.Interruptions, State: StateReady,
	}
	if f == nil {
		d.Outcome, d.State = OutcomeDone, StateDone
		return d
	}
	d.Outcome = effective(m, f, p)
	switch d.Outcome {
	case OutcomePermanent:
		d.Attempt++
		d.die(ReasonPoison)
		if f.Reason != "" {
			d.Reason = f.Reason
		}
	case OutcomeGray:
		d.Attempt++
		d.Gray++
		d.AvailableAt = now.Add(p.Backoff.Delay(d.Attempt, f.RetryAfter, rnd))
		if d.Gray > max(p.GrayRetries, 0) || d.Attempt >= p.MaxAttempts() {
			d.die(ReasonGrayExhausted)
		}
	case OutcomeHeld:
		d.AvailableAt = now.Add(p.Backoff.Delay(0, f.RetryAfter, rnd))
		d.Alone = m.Alone
		if f.WaitCounts {
			d.Waits++
			d.Alone = d.Waits == p.MaxWaits
			if d.Waits > p.MaxWaits {
				d.die(ReasonWaitsExhausted)
			}
		}
	case OutcomeInterrupted:
		d.interrupt(m, f, p, now, rnd)
	case OutcomeForwarded:
		d.AvailableAt, d.WaitsFor = Never, f.Queue
	default:
		d.Attempt++
		d.AvailableAt = now.Add(p.Backoff.Delay(d.Attempt, f.RetryAfter, rnd))
		if d.Attempt >= p.MaxAttempts() {
			d.die(ReasonAttemptsExhausted)
		}
	}
	return d
}

// effective gives the outcome as it counts under the policy.
func effective(m Message, f *Failure, p Policy) Outcome {
	switch f.Outcome {
	case OutcomePermanent:
		if f.Reason == "" && slices.Contains(p.Gray, f.Cause) {
			return OutcomeGray
		}
		return OutcomePermanent
	case OutcomeGray, OutcomeHeld, OutcomeInterrupted:
		return f.Outcome
	case OutcomeForwarded:
		if f.Queue == "" || f.Queue == m.Queue || m.Returned > 0 { // it would go round for ever
			return OutcomePermanent
		}
		return f.Outcome
	}
	return OutcomeTransient
}

// MaxSoloCrashes is how often a process dies around a message that is in flight alone, before the message is convicted.
const MaxSoloCrashes = 3

func (d *Decision) interrupt(m Message, f *Failure, p Policy, now time.Time, rnd float64) {
	d.Suspect, d.SoloCrashes, d.Alone = m.Suspect, m.SoloCrashes, m.Alone
	switch f.Cause {
	case CauseShutdown, CauseHostRestart:
		d.AvailableAt = now.Add(minDelay)
	case CauseWorkerCrash:
		d.Suspect = true
		d.AvailableAt = now.Add(minDelay)
		if f.Solo {
			d.SoloCrashes++
		}
		if d.SoloCrashes >= MaxSoloCrashes {
			d.die(ReasonCrash)
		}
	default:
		d.Interruptions++
		// At least a second, whatever the policy: what was lost for want of speed must not come back faster.
		d.AvailableAt = now.Add(p.Backoff.Delay(0, time.Second, rnd))
		if d.Interruptions >= p.MaxInterruptions {
			d.die(ReasonInterruptionsExhausted)
		}
	}
}

func (d *Decision) die(r Reason) {
	d.State, d.Reason, d.AvailableAt, d.Alone = StateDead, r, time.Time{}, false
}

// Redrive gives the message as it returns from the quarantine: same event ID, body, headers and count of deliveries;
// attempt, gray, waits, interruptions and the last error reset. It does not look at the state: the store's guard does.
func Redrive(m Message, now time.Time) Message {
	m.State, m.AvailableAt = StateReady, now
	m.Attempt, m.Gray, m.Waits, m.Interruptions = 0, 0, 0, 0
	m.Suspect = m.Reason == ReasonCrash // it comes back as what it was convicted of
	m.SoloCrashes, m.Alone, m.HeldAt = 0, false, time.Time{}
	m.LastError, m.DeadAt, m.Reason, m.WaitsFor = nil, time.Time{}, "", ""
	m.Redrives++
	return m
}
