package alert

import (
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// Pending is a notice that a sink has not been sent yet, as far as is known.
type Pending struct {
	Sink   string    `json:"sink"`
	Key    string    `json:"key"` // of the condition
	Notice Notice    `json:"notice"`
	Tries  int       `json:"tries,omitempty"` // that failed
	NextAt time.Time `json:"next_at,omitzero"`
	// Claim is by whom it is being sent, and Until is when somebody else may take it that this one has died.
	Claim string    `json:"claim,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

const (
	// claimFor is how long a sender has for one notice; a sink takes at most [SendTimeout] and a little.
	claimFor = 2 * SendTimeout
	// SendTimeout is how long a sink may take for one notice.
	SendTimeout = 30 * time.Second
	// keptFor is how long it is tried to send a notice.
	keptFor = 7 * 24 * time.Hour
	// maxPending bounds the notices that wait, for all sinks together.
	maxPending = 64
)

// backoff is between two tries of a notice.
var backoff = siding.Backoff{Base: time.Second, Factor: 2, Cap: 5 * time.Minute, Jitter: 0.3}

func (p Pending) claimed(now time.Time) bool { return p.Claim != "" && now.Before(p.Until) }

// Post puts a notice into the way of each sink. One of the same condition that is still waiting there gives way to it: a
// receiver that could not be told that something began hears of its end, since when it was.
func (s *State) Post(n Notice, sinks []string, now time.Time) {
	for _, sink := range sinks {
		p := Pending{Sink: sink, Key: n.key, Notice: n}
		s.Pending = slices.DeleteFunc(s.Pending, func(old Pending) bool {
			if old.Sink != sink || old.Key != p.Key || old.claimed(now) {
				return false
			}
			p.Tries, p.NextAt = old.Tries, old.NextAt
			p.Notice = p.Notice.after(old.Notice)
			return true
		})
		s.Pending = append(s.Pending, p)
	}
}

// after gives a notice in whose place another one, of the same condition, was not sent.
func (n Notice) after(old Notice) Notice {
	if n.Rule == RuleNewGroup {
		n.Groups = slices.Concat(old.Groups, n.Groups)
		n.Groups = n.Groups[:min(len(n.Groups), MaxGroups)]
		n.GroupCount += old.GroupCount
		n.Since = old.Since
		n.Text = n.heading() + groupsText(n)
	}
	return n
}

// Expire gives up what could not be sent for a week, and the oldest of too many, and gives their number.
func (s *State) Expire(now time.Time) int {
	before := len(s.Pending)
	s.Pending = slices.DeleteFunc(s.Pending, func(p Pending) bool { return !p.claimed(now) && now.Sub(p.Notice.At) > keptFor })
	if more := len(s.Pending) - maxPending; more > 0 {
		s.Pending = slices.Delete(s.Pending, 0, more)
	}
	for { // until it fits into a note
		switch value, err := s.encode(); {
		case err != nil || len(value) <= siding.MaxNote:
			return before - len(s.Pending)
		case len(s.Groups.New) > 0:
			s.Groups.condense()
		case len(s.Pending) > 0:
			s.Pending = slices.Delete(s.Pending, 0, 1)
		default:
			s.Conditions = nil
		}
	}
}

// Claim takes for each sink the first notice that may be sent now, in the name of by, and gives them. Until the claim runs
// out nobody else sends them. Those of one condition are sent one after the other.
func (s *State) Claim(sinks []string, by string, now time.Time) []Pending {
	var taken []Pending
	for _, sink := range sinks {
		before := map[string]bool{} // conditions of which an earlier notice is still on its way
		for i := range s.Pending {
			p := &s.Pending[i]
			if p.Sink != sink {
				continue
			}
			if !before[p.Key] && !p.claimed(now) && !now.Before(p.NextAt) {
				p.Claim, p.Until = by, now.Add(claimFor)
				taken = append(taken, *p)
				break
			}
			before[p.Key] = true
		}
	}
	return taken
}

// Next is when the next notice for these sinks may be sent that is nobody else's; zero: there is none.
func (s *State) Next(sinks []string, now time.Time) time.Time {
	var next time.Time
	for _, p := range s.Pending {
		if slices.Contains(sinks, p.Sink) && !p.claimed(now) && (next.IsZero() || p.NextAt.Before(next)) {
			if next = p.NextAt; next.Before(now) {
				next = now
			}
		}
	}
	return next
}

// Sent takes in that a claimed notice has been received.
func (s *State) Sent(taken Pending) {
	s.Pending = slices.DeleteFunc(s.Pending, taken.is)
}

// Failed takes in that it has not, for all that is known: it is tried again after a while, at least after floor. rnd is a
// random number in [0, 1).
func (s *State) Failed(taken Pending, floor time.Duration, rnd float64, now time.Time) {
	if i := slices.IndexFunc(s.Pending, taken.is); i >= 0 && s.Pending[i].Claim == taken.Claim {
		p := &s.Pending[i]
		p.Tries++
		p.Claim, p.Until, p.NextAt = "", time.Time{}, now.Add(backoff.Delay(p.Tries, min(floor, keptFor), rnd))
	}
}

// Release gives a claimed notice back that could not be sent for want of time.
func (s *State) Release(taken Pending) {
	if i := slices.IndexFunc(s.Pending, taken.is); i >= 0 && s.Pending[i].Claim == taken.Claim {
		s.Pending[i].Claim, s.Pending[i].Until = "", time.Time{}
	}
}

func (p Pending) is(other Pending) bool {
	return p.Sink == other.Sink && p.Notice.ID == other.Notice.ID
}
