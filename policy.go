package siding

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Policy says how often a message is tried, and how long it rests between. The zero value is not a policy; start from
// [DefaultPolicy].
type Policy struct {
	// MaxRetries is how many failed deliveries may be followed by another: max attempts is MaxRetries + 1. 0 is legal: one
	// delivery. Default 3, as Cloudflare Queues has it.
	MaxRetries int
	// GrayRetries is how many gray failures may be followed by another delivery. Default 1.
	GrayRetries int
	// Gray lists causes that count as gray although they are permanent by default, for instance schema-mismatch.
	Gray []Cause
	// Backoff gives the delays between tries.
	Backoff Backoff
	// MaxWaits is how often a message may be held while its lane serves others, before it is set aside. Default 20.
	MaxWaits int
	// MaxInterruptions is how often its lease may be lost, before it is set aside. Default 10.
	MaxInterruptions int
	// OnUnknown says what happens to a message one of whose calls has an unknown fate. Default resend.
	OnUnknown OnUnknown
}

// OnUnknown is the policy for calls that may have been billed although no answer came.
type OnUnknown string

// The policies for calls of unknown fate.
const (
	UnknownResend     OnUnknown = "resend"     // send the request again; it may be paid twice
	UnknownQuarantine OnUnknown = "quarantine" // set the message aside (reason unknown-call); it may be paid for nothing
)

// DefaultPolicy gives 3 retries, one of them for a gray failure, after 2, 4 and 8 seconds.
func DefaultPolicy() Policy {
	return Policy{
		MaxRetries: 3, GrayRetries: 1, Backoff: DefaultBackoff(), MaxWaits: 20, MaxInterruptions: 10,
		OnUnknown: UnknownResend,
	}
}

// MaxAttempts is how many failed deliveries set a message aside.
func (p Policy) MaxAttempts() int { return max(p.MaxRetries, 0) + 1 }

// Validate says what is wrong with the policy, all at once, or nil.
func (p Policy) Validate() error {
	var errs []error
	count := func(name string, n, most int) {
		if n < 0 || n > most {
			errs = append(errs, fmt.Errorf("%s is %d; it must be 0 to %d", name, n, most))
		}
	}
	count("max_retries", p.MaxRetries, 1_000_000)
	count("gray_retries", p.GrayRetries, 1_000_000)
	count("max_waits", p.MaxWaits, 1_000_000)
	count("max_interruptions", p.MaxInterruptions, 1_000_000)
	for _, c := range p.Gray {
		if !slices.Contains(Causes(), c) {
			errs = append(errs, fmt.Errorf("gray lists %q, which is not a cause", Scrub(string(c), 64)))
		}
	}
	if p.OnUnknown != UnknownResend && p.OnUnknown != UnknownQuarantine {
		errs = append(errs, fmt.Errorf("on_unknown is %q; it must be resend or quarantine", Scrub(string(p.OnUnknown), 64)))
	}
	b := p.Backoff
	span := func(name string, d time.Duration) {
		if d <= 0 || d > maxDelay {
			errs = append(errs, fmt.Errorf("%s is %v; it must be more than 0 and at most %v", name, d, maxDelay))
		}
	}
	span("base", b.Base)
	span("cap", b.Cap)
	if !(b.Factor >= 1) || math.IsInf(b.Factor, 0) {
		errs = append(errs, fmt.Errorf("factor is %v; it must be a number of at least 1", b.Factor))
	}
	if !(b.Jitter >= 0 && b.Jitter <= 10) {
		errs = append(errs, fmt.Errorf("jitter is %v; it must be 0 to 10, as a share of the delay", b.Jitter))
	}
	return errors.Join(errs...)
}
